"""Tables of all metrics in docs/metrics.md, printed by `python -m mqgateway.gateway.metrics.page`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mqgateway.gateway.front_ends import FRONT_ENDS
from mqgateway.gateway.metrics.broker_metrics import BROKER_METRICS, PROXY_METRICS
from mqgateway.gateway.metrics.controller_metrics import CONTROLLER_METRICS, OWN_CONTROLLER_METRICS
from mqgateway.gateway.metrics.exporter_metrics import EXPORTER_METRICS
from mqgateway.gateway.metrics.kafka_metrics import KAFKA_METRICS
from mqgateway.gateway.metrics.metric import Metric
from mqgateway.gateway.metrics.name_server_metrics import NAME_SERVER_METRICS
from mqgateway.gateway.metrics.own_metrics import (
    OPENING_METRICS,
    OWN_BROKER_METRICS,
    SERVER_METRICS,
    connection_metrics,
)
from mqgateway.gateway.metrics.quota_metrics import QUOTA_METRICS
from mqgateway.gateway.metrics.telemetry_metrics import TELEMETRY_METRICS
from mqgateway.gateway.metrics.tier_metrics import TIER_METRICS


def tables() -> str:
    """Return all tables."""
    parts: dict[str, Iterable[Metric[Any]]] = {
        "Apache RocketMQ's broker": BROKER_METRICS,
        "Apache RocketMQ's proxy": PROXY_METRICS,
        "mqgateway's broker": (
            *OWN_BROKER_METRICS,
            *connection_metrics(FRONT_ENDS),
            *TELEMETRY_METRICS,
            *QUOTA_METRICS,
            *TIER_METRICS,
            *OPENING_METRICS,
        ),
        "Apache RocketMQ's controller": CONTROLLER_METRICS,
        "mqgateway's controller": OWN_CONTROLLER_METRICS,
        "mqgateway's name server": NAME_SERVER_METRICS,
        "Every process of mqgateway": SERVER_METRICS,
        "rocketmq-exporter: `/metrics?set=exporter`": EXPORTER_METRICS,
        "kafka_exporter: `/metrics?set=kafka`": KAFKA_METRICS,
    }
    return "\n".join(f"## {title}\n\n{_table(metrics)}" for title, metrics in parts.items())


def _table(metrics: Iterable[Metric[Any]]) -> str:
    rows = ["| name | kind | labels | meaning |", "| --- | --- | --- | --- |"]
    for metric in metrics:
        labels = " ".join(f"`{label}`" for label in metric.labels)
        meaning = metric.meaning
        if metric.bounds:
            meaning += f" Bounds: {', '.join(map(str, metric.bounds))}."
        if metric.switch:
            meaning += f" Switch: `{metric.switch}`."
        rows.append(f"| `{metric.suffixed_name}` | {metric.kind} | {labels} | {meaning} |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    print(tables())
