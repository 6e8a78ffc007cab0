"""Metrics beyond the standard's, `mqgateway_*` and `process_*`: of any server, and of a broker."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import psutil

from mqgateway.engine.meters import SYNC_BOUNDS, SYNC_SIZE_BOUNDS, Histogram
from mqgateway.gateway.metrics.broker_metrics import counter, gauge, histogram, one
from mqgateway.gateway.metrics.broker_reading import BrokerReading
from mqgateway.gateway.metrics.metric import Kind, Metric, distributed
from mqgateway.gateway.runtime.version import installed_version

LOOP_LAG_BOUNDS = (1, 2, 5, 10, 25, 50, 100, 250, 500, 1000)
"""Milliseconds."""


class ServerReading:
    """What a scrape finds of the process, and of the scrape itself: `truncated` are metrics with too many
    series."""

    def __init__(self, loop_lag: Histogram, truncated: list[str]) -> None:
        self.loop_lag = loop_lag
        self.truncated = truncated
        self.process = psutil.Process()


def _process(
    name: str, kind: Kind, meaning: str, read: Callable[[psutil.Process], float], unit: str = ""
) -> Metric[ServerReading]:
    return Metric(
        name=name, kind=kind, meaning=meaning, unit=unit, read=lambda reading: [((), read(reading.process))]
    )


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


SERVER_METRICS: tuple[Metric[ServerReading], ...] = (
    Metric(
        name="mqgateway_build_info",
        kind=Kind.GAUGE,
        meaning="Always 1; the version is a label.",
        labels=("version",),
        read=lambda reading: [((installed_version(),), 1)],
    ),
    Metric(
        name="mqgateway_event_loop_lag",
        kind=Kind.HISTOGRAM,
        meaning="How much later than asked for the loop called, asked twice a second.",
        unit="milliseconds",
        bounds=LOOP_LAG_BOUNDS,
        read=lambda reading: distributed(reading.loop_lag),
    ),
    _process("process_cpu_seconds_total", Kind.COUNTER, "Processor time of all threads.", _cpu),
    _process(
        "process_resident_memory_bytes",
        Kind.GAUGE,
        "Memory in use.",
        lambda process: float(process.memory_info().rss),
        "bytes",
    ),
    _process(
        "process_start_time_seconds",
        Kind.GAUGE,
        "When the process began, since the epoch.",
        lambda process: float(process.create_time()),
        "seconds",
    ),
    _process("process_open_fds", Kind.GAUGE, "Open file descriptors.", lambda process: process.num_fds()),
    Metric(
        name="mqgateway_metrics_truncated",
        kind=Kind.GAUGE,
        meaning="Metrics with more series than metricsOtelCardinalityLimit in this scrape.",
        labels=("metric",),
        read=lambda reading: [((name,), 1) for name in reading.truncated],
    ),
)


class Opening(NamedTuple):
    """How far the store is opened: the part of the log that was read of what a start has to read, and how
    long it took, in seconds, once it is done."""

    read: float
    seconds: float | None


OPENING_METRICS: tuple[Metric[Opening], ...] = (
    Metric(
        name="mqgateway_store_recovered",
        kind=Kind.GAUGE,
        meaning="Part of the log that was read, of what the start has to read; 1 when it is done.",
        unit="ratio",
        read=lambda opening: [((), opening.read)],
    ),
    Metric(
        name="mqgateway_store_recovery",
        kind=Kind.GAUGE,
        meaning="How long the start took to open the store; no series before that is done.",
        unit="seconds",
        read=lambda opening: [] if opening.seconds is None else [((), opening.seconds)],
    ),
)
"""Of a broker, before it is up too."""


def _grpc_connections(reading: BrokerReading) -> list[tuple[tuple[str, ...], int]]:
    count = reading.meters.grpc_connections
    return [] if count is None else [((), count())]


OWN_BROKER_METRICS: tuple[Metric[BrokerReading], ...] = (
    gauge(
        "mqgateway_broker_role",
        "1 for the role that the broker has.",
        lambda reading: [((reading.role,), 1)],
        labels=("role",),
    ),
    gauge("mqgateway_broker_epoch", "The epoch of its role.", one(lambda reading: reading.epoch)),
    gauge(
        "mqgateway_store_writable",
        "1 while messages are taken.",
        one(lambda reading: int(reading.is_writable)),
    ),
    gauge(
        "mqgateway_store_log_bytes",
        "The log, from its first byte to its end.",
        one(lambda reading: reading.log_bytes),
        unit="bytes",
    ),
    histogram(
        "mqgateway_log_sync_latency",
        "Time that syncs of the log take.",
        lambda reading: distributed(reading.meters.sync_time),
        unit="milliseconds",
        bounds=SYNC_BOUNDS,
    ),
    histogram(
        "mqgateway_log_sync_size",
        "Bytes of the log that one sync makes durable: what came together.",
        lambda reading: distributed(reading.meters.sync_size),
        unit="bytes",
        bounds=SYNC_SIZE_BOUNDS,
    ),
    gauge(
        "mqgateway_store_disk_bytes",
        "The file system that the store lies on.",
        one(lambda reading: reading.capacity[0]),
        unit="bytes",
    ),
    gauge(
        "mqgateway_store_disk_free_bytes",
        "What is free of it.",
        one(lambda reading: reading.capacity[1]),
        unit="bytes",
    ),
    gauge(
        "mqgateway_ha_slave_behind_bytes",
        "Bytes of the log that a slave lacks.",
        lambda reading: [((address,), behind) for address, behind in reading.slaves()],
        unit="bytes",
        labels=("slave",),
    ),
    gauge(
        "mqgateway_held_requests",
        "Requests that wait for messages.",
        lambda reading: [((kind,), count) for kind, count in reading.held().items()],
        labels=("kind",),
    ),
    gauge(
        "mqgateway_grpc_connections",
        "Connections of gRPC, where it is served.",
        _grpc_connections,
    ),
    counter(
        "mqgateway_flow_control_total",
        "Requests refused because there was too much to do.",
        lambda reading: [((cause,), count) for cause, count in reading.flow_control().items()],
        labels=("cause",),
    ),
    counter(
        "mqgateway_discarded_messages_total",
        "Delayed messages, retries, half messages and pops discarded because their topic was deleted.",
        lambda reading: [((topic,), count) for topic, count in reading.discarded().items()],
        labels=("topic",),
    ),
    gauge(
        "mqgateway_inconsistent_groups",
        "Consumer groups whose members subscribe to different things.",
        one(lambda reading: reading.inconsistent_groups),
    ),
)
