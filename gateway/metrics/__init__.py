"""Metrics and health of name server, broker, controller and container, over HTTP.

- `metric`: the declaration of a metric: name, kind, unit, labels, meaning, source of its value
- `broker_metrics`, `store_metrics`, `exporter_metrics`, `own_metrics`, `controller_metrics`,
  `name_server_metrics`: the metrics, declared once each
- `broker_reading`, `lag`: values of one scrape, read from the tables of a broker
- `exposition`: a scrape as text, written incrementally
- `points`, `pushing`, `pusher`: metrics that are pushed, by OTLP or to the log
- `dashboards`: Grafana dashboards of the metrics
- `rpc`: requests, counted as they are answered
- `health`: readiness of a server, with the reasons
- `site`, `service`: access over HTTP

Existing tables and counts are read at each scrape. Only values that no other code counts are counted while
requests are served (`engine.meters`), and only if metrics are on.
"""
