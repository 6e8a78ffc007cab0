"""Metrics and health of name server, broker, controller and container, over HTTP.

- `metric`: what is known of a metric: name, kind, unit, labels, meaning, where its value comes from
- `broker_metrics`, `exporter_metrics`, `own_metrics`, `controller_metrics`, `name_server_metrics`: the
  metrics, declared once each
- `broker_reading`, `lag`: what one scrape finds in the tables of a broker
- `exposition`: a scrape as text, in steps
- `points`, `pushing`, `pusher`: the same for who is sent them, by OTLP or to the log
- `dashboards`: what Grafana shows of them
- `rpc`: requests, counted as they are answered
- `health`: whether a server can be used, and why not
- `site`, `service`: over HTTP

A table or count that exists is read when a scrape asks; only what nobody else counts is counted on the road
(`engine.meters`), while metrics are on.
"""
