"""`python -m mqgateway.gateway.metrics.dashboards FOLDER`: dashboards for Grafana, for both sets of names.

A panel is declared once, by its title, its unit and what it asks Prometheus; each metric it names is one that
is served, which tests check. `dashboards/` of the repository has what this writes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

WIDTH, HEIGHT = 8, 8
COLUMNS = 24
SOURCE = {"type": "prometheus", "uid": "${source}"}


class Panel(NamedTuple):
    """A graph: its unit as Grafana calls it, and queries with what their series are called."""

    title: str
    unit: str
    queries: tuple[tuple[str, str], ...]


class Board(NamedTuple):
    """A dashboard; `variables` are names of labels, and the metric whose series have them."""

    name: str
    title: str
    variables: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, tuple[Panel, ...]], ...]


_OF = 'cluster=~"$cluster",node_id=~"$node_id"'
_GROUP = f'{_OF},consumer_group=~"$consumer_group"'
_TOPIC = f'{_OF},topic=~"$topic"'

NATIVE = Board(
    "mqgateway-native",
    "RocketMQ",
    (
        ("cluster", "rocketmq_broker_permission"),
        ("node_id", "rocketmq_broker_permission"),
        ("topic", "rocketmq_messages_in_total"),
        ("consumer_group", "rocketmq_consumer_lag_messages"),
    ),
    (
        (
            "Brokers",
            (
                Panel(
                    "Take messages", "bool_yes_no", ((f"mqgateway_store_writable{{{_OF}}}", "{{node_id}}"),)
                ),
                Panel("Role", "none", ((f"mqgateway_broker_role{{{_OF}}}", "{{node_id}} {{role}}"),)),
                Panel(
                    "Disk used",
                    "percentunit",
                    (
                        (
                            f"1 - mqgateway_store_disk_free_bytes{{{_OF}}} "
                            f"/ mqgateway_store_disk_bytes{{{_OF}}}",
                            "{{node_id}}",
                        ),
                    ),
                ),
                Panel(
                    "Slaves behind", "bytes", ((f"mqgateway_ha_slave_behind_bytes{{{_OF}}}", "{{slave}}"),)
                ),
                Panel(
                    "Event loop is late, 99 %",
                    "ms",
                    (
                        (
                            "histogram_quantile(0.99, sum by (instance, le) "
                            "(rate(mqgateway_event_loop_lag_milliseconds_bucket[$__rate_interval])))",
                            "{{instance}}",
                        ),
                    ),
                ),
                Panel(
                    "Refused for too much work",
                    "reqps",
                    (
                        (
                            "sum by (node_id, cause) "
                            f"(rate(mqgateway_flow_control_total{{{_OF}}}[$__rate_interval]))",
                            "{{node_id}} {{cause}}",
                        ),
                    ),
                ),
            ),
        ),
        (
            "Messages",
            (
                Panel(
                    "In, by broker",
                    "ops",
                    (
                        (
                            f"sum by (node_id) (rate(rocketmq_messages_in_total{{{_OF}}}[$__rate_interval]))",
                            "{{node_id}}",
                        ),
                    ),
                ),
                Panel(
                    "Out, by broker",
                    "ops",
                    (
                        (
                            "sum by (node_id) "
                            f"(rate(rocketmq_messages_out_total{{{_OF}}}[$__rate_interval]))",
                            "{{node_id}}",
                        ),
                    ),
                ),
                Panel(
                    "Bytes in and out",
                    "Bps",
                    (
                        (f"sum(rate(rocketmq_throughput_in_total{{{_OF}}}[$__rate_interval]))", "in"),
                        (f"sum(rate(rocketmq_throughput_out_total{{{_OF}}}[$__rate_interval]))", "out"),
                    ),
                ),
                Panel(
                    "In, busiest topics",
                    "ops",
                    (
                        (
                            "topk(10, sum by (topic) "
                            f"(rate(rocketmq_messages_in_total{{{_TOPIC}}}[$__rate_interval])))",
                            "{{topic}}",
                        ),
                    ),
                ),
                Panel(
                    "Requests answered within, 99 %",
                    "ms",
                    (
                        (
                            "histogram_quantile(0.99, sum by (request_code, le) "
                            f'(rate(rocketmq_rpc_latency_milliseconds_bucket{{{_OF},is_long_polling="false"}}'
                            "[$__rate_interval])))",
                            "{{request_code}}",
                        ),
                    ),
                ),
                Panel(
                    "Open transactions",
                    "none",
                    ((f"sum by (topic) (rocketmq_half_messages{{{_TOPIC}}})", "{{topic}}"),),
                ),
            ),
        ),
        (
            "Consumers",
            (
                Panel(
                    "Not consumed",
                    "none",
                    (
                        (
                            "topk(10, sum by (consumer_group, topic) "
                            f"(rocketmq_consumer_lag_messages{{{_GROUP}}}))",
                            "{{consumer_group}} {{topic}}",
                        ),
                    ),
                ),
                Panel(
                    "Age of the oldest",
                    "ms",
                    (
                        (
                            "topk(10, max by (consumer_group, topic) "
                            f"(rocketmq_consumer_lag_latency_milliseconds{{{_GROUP}}}))",
                            "{{consumer_group}} {{topic}}",
                        ),
                    ),
                ),
                Panel(
                    "Members",
                    "none",
                    (
                        (
                            f"sum by (consumer_group) (rocketmq_consumer_connections{{{_GROUP}}})",
                            "{{consumer_group}}",
                        ),
                    ),
                ),
                Panel(
                    "Dead letters",
                    "none",
                    (
                        (
                            "sum by (consumer_group) "
                            f"(increase(rocketmq_send_to_dlq_messages_total{{{_GROUP}}}[$__rate_interval]))",
                            "{{consumer_group}}",
                        ),
                    ),
                ),
            ),
        ),
    ),
)

_EXPORTED = 'cluster=~"$cluster",broker=~"$broker"'
EXPORTED = Board(
    "mqgateway-exporter",
    "RocketMQ, names of rocketmq-exporter",
    (
        ("cluster", "rocketmq_broker_tps"),
        ("broker", "rocketmq_broker_tps"),
        ("group", "rocketmq_group_diff"),
    ),
    (
        (
            "Brokers",
            (
                Panel("Messages in", "ops", ((f"rocketmq_broker_tps{{{_EXPORTED}}}", "{{broker}}"),)),
                Panel("Messages out", "ops", ((f"rocketmq_broker_qps{{{_EXPORTED}}}", "{{broker}}"),)),
                Panel(
                    "Disk used",
                    "percentunit",
                    (
                        (
                            'rocketmq_brokeruntime_commitlog_disk_ratio{cluster=~"$cluster"}',
                            "{{brokerHost}}",
                        ),
                    ),
                ),
            ),
        ),
        (
            "Topics and groups",
            (
                Panel(
                    "Messages in, busiest topics",
                    "ops",
                    ((f"topk(10, sum by (topic) (rocketmq_producer_tps{{{_EXPORTED}}}))", "{{topic}}"),),
                ),
                Panel(
                    "Not consumed",
                    "none",
                    (
                        (
                            'topk(10, sum by (group, topic) (rocketmq_group_diff{group=~"$group"}))',
                            "{{group}} {{topic}}",
                        ),
                    ),
                ),
                Panel(
                    "Age of the oldest not consumed",
                    "ms",
                    (
                        (
                            "topk(10, max by (group, topic) "
                            f'(rocketmq_group_get_latency_by_storetime{{{_EXPORTED},group=~"$group"}}))',
                            "{{group}} {{topic}}",
                        ),
                    ),
                ),
            ),
        ),
    ),
)

BOARDS = (NATIVE, EXPORTED)


def as_json(board: Board) -> dict[str, Any]:
    """Return the dashboard as Grafana imports it."""
    panels: list[dict[str, Any]] = []
    top = 0
    for title, row in board.rows:
        panels.append(_row(len(panels) + 1, title, top))
        top += 1
        for place, panel in enumerate(row):
            left = place * WIDTH % COLUMNS
            panels.append(_panel(len(panels) + 1, panel, left, top + place * WIDTH // COLUMNS * HEIGHT))
        top += -(-len(row) * WIDTH // COLUMNS) * HEIGHT
    return {
        "uid": board.name,
        "title": board.title,
        "tags": ["rocketmq"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": [_source(), *(_variable(*pair) for pair in board.variables)]},
        "panels": panels,
    }


def _source() -> dict[str, Any]:
    return {"name": "source", "label": "Data source", "type": "datasource", "query": "prometheus"}


def _variable(label: str, metric: str) -> dict[str, Any]:
    return {
        "name": label,
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": f"label_values({metric}, {label})", "refId": label},
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }


def _row(number: int, title: str, top: int) -> dict[str, Any]:
    place = {"x": 0, "y": top, "w": COLUMNS, "h": 1}
    return {"id": number, "type": "row", "title": title, "collapsed": False, "gridPos": place, "panels": []}


def _panel(number: int, panel: Panel, left: int, top: int) -> dict[str, Any]:
    return {
        "id": number,
        "type": "timeseries",
        "title": panel.title,
        "datasource": SOURCE,
        "gridPos": {"x": left, "y": top, "w": WIDTH, "h": HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom", "showLegend": True}},
        "targets": [
            {"refId": chr(ord("A") + place), "datasource": SOURCE, "expr": query, "legendFormat": legend}
            for place, (query, legend) in enumerate(panel.queries)
        ],
    }


def main(arguments: Sequence[str]) -> None:
    """Write the dashboards to a folder."""
    for board in BOARDS:
        path = Path(arguments[0]) / f"{board.name}.json"
        path.write_text(json.dumps(as_json(board), indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
