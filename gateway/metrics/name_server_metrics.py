"""Metrics of a name server, which RocketMQ does not have."""

from __future__ import annotations

from mqgateway.engine.meters import LATENCY_BOUNDS, Meters
from mqgateway.gateway.metrics.metric import Metric, MetricKind, distributed
from mqgateway.gateway.namesrv.name_server import NameServer


class NameServerReading:
    """Values from the tables of a name server."""

    def __init__(self, name_server: NameServer, meters: Meters) -> None:
        self.meters = meters
        self.tables = name_server.tables
        self.is_ready = name_server.is_ready()

    def brokers(self) -> dict[str, int]:
        """Return the number of live brokers by cluster."""
        found = dict.fromkeys(self.tables.clusters, 0)
        for key in self.tables.live:
            found[key.cluster] = found.get(key.cluster, 0) + 1
        return found


NAME_SERVER_METRICS: tuple[Metric[NameServerReading], ...] = (
    Metric(
        name="mqgateway_namesrv_brokers",
        kind=MetricKind.GAUGE,
        meaning="Live brokers, masters and slaves.",
        labels=("broker_cluster",),
        read=lambda reading: [((cluster,), count) for cluster, count in reading.brokers().items()],
    ),
    Metric(
        name="mqgateway_namesrv_topics",
        kind=MetricKind.GAUGE,
        meaning="Topics with at least one queue.",
        read=lambda reading: [((), len(reading.tables.topic_queues))],
    ),
    Metric(
        name="mqgateway_namesrv_ready",
        kind=MetricKind.GAUGE,
        meaning="1 while the name server returns routes.",
        read=lambda reading: [((), int(reading.is_ready))],
    ),
    Metric(
        name="mqgateway_namesrv_request_latency",
        kind=MetricKind.HISTOGRAM,
        meaning="Time from reading a request to answering it, in milliseconds.",
        unit="milliseconds",
        labels=("request_code", "response_code", "is_long_polling", "result"),
        bounds=LATENCY_BOUNDS,
        read=lambda reading: distributed(reading.meters.rpc_latency),
    ),
)
