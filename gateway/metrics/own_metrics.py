"""Own metrics, `mqgateway_*` and `process_*`, of any server and of a broker."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

import psutil

from mqgateway.engine.meters import SYNC_BOUNDS, SYNC_SIZE_BOUNDS, Histogram
from mqgateway.gateway.front_end import FrontEnd
from mqgateway.gateway.metrics.broker_reading import BrokerReading
from mqgateway.gateway.metrics.declarations import counter, gauge, histogram, one
from mqgateway.gateway.metrics.metric import Metric, MetricKind, distributed
from mqgateway.gateway.runtime.version import installed_version

LOOP_LAG_BOUNDS = (1, 2, 5, 10, 25, 50, 100, 250, 500, 1000)
"""Bounds in milliseconds."""


class ServerReading:
    """Values of the process and of the scrape itself: `truncated` are metrics with too many series."""

    def __init__(self, loop_lag: Histogram, truncated: list[str]) -> None:
        self.loop_lag = loop_lag
        self.truncated = truncated
        self.process = psutil.Process()


def _process(
    name: str, kind: MetricKind, meaning: str, read: Callable[[psutil.Process], float], unit: str = ""
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
        kind=MetricKind.GAUGE,
        meaning="Always 1. The label version is the version of mqgateway.",
        labels=("version",),
        read=lambda reading: [((installed_version(),), 1)],
    ),
    Metric(
        name="mqgateway_event_loop_lag",
        kind=MetricKind.HISTOGRAM,
        meaning="Delay of scheduled calls in the event loop, in milliseconds, sampled twice a second.",
        unit="milliseconds",
        bounds=LOOP_LAG_BOUNDS,
        read=lambda reading: distributed(reading.loop_lag),
    ),
    _process("process_cpu_seconds_total", MetricKind.COUNTER, "CPU time of all threads, in seconds.", _cpu),
    _process(
        "process_resident_memory_bytes",
        MetricKind.GAUGE,
        "Resident memory of the process, in bytes.",
        lambda process: float(process.memory_info().rss),
        "bytes",
    ),
    _process(
        "process_start_time_seconds",
        MetricKind.GAUGE,
        "Start time of the process, in seconds since the epoch.",
        lambda process: float(process.create_time()),
        "seconds",
    ),
    _process(
        "process_open_fds",
        MetricKind.GAUGE,
        "Number of open file descriptors.",
        lambda process: process.num_fds(),
    ),
    Metric(
        name="mqgateway_metrics_truncated",
        kind=MetricKind.GAUGE,
        meaning="1 for a metric with more series than metricsOtelCardinalityLimit in this scrape.",
        labels=("metric",),
        read=lambda reading: [((name,), 1) for name in reading.truncated],
    ),
)


class StoreOpening(NamedTuple):
    """Progress of opening the store: share of the log that was read, and at the end the seconds."""

    read: float
    seconds: float | None


OPENING_METRICS: tuple[Metric[StoreOpening], ...] = (
    Metric(
        name="mqgateway_store_recovered",
        kind=MetricKind.GAUGE,
        meaning="Share of the recovery that is done, 0 to 1.",
        unit="ratio",
        read=lambda opening: [((), opening.read)],
    ),
    Metric(
        name="mqgateway_store_recovery",
        kind=MetricKind.GAUGE,
        meaning="Duration of the recovery at start, in seconds. There is no series before it is done.",
        unit="seconds",
        read=lambda opening: [] if opening.seconds is None else [((), opening.seconds)],
    ),
)
"""Metrics of a broker that are served before it has started, too."""


OWN_BROKER_METRICS: tuple[Metric[BrokerReading], ...] = (
    gauge(
        "mqgateway_broker_role",
        "1 for the current role of the broker (label role).",
        lambda reading: [((reading.role,), 1)],
        labels=("role",),
    ),
    gauge("mqgateway_broker_epoch", "Epoch of the broker's role.", one(lambda reading: reading.epoch)),
    gauge(
        "mqgateway_store_writable",
        "1 while the store accepts messages.",
        one(lambda reading: int(reading.is_writable)),
    ),
    gauge(
        "mqgateway_store_log_bytes",
        "Size of the commit log, in bytes.",
        one(lambda reading: reading.log_bytes),
        unit="bytes",
    ),
    histogram(
        "mqgateway_log_sync_latency",
        "Duration of a sync of the commit log to disk, in milliseconds.",
        lambda reading: distributed(reading.meters.sync_time),
        unit="milliseconds",
        bounds=SYNC_BOUNDS,
    ),
    histogram(
        "mqgateway_log_sync_size",
        "Bytes of the commit log made durable by one sync.",
        lambda reading: distributed(reading.meters.sync_size),
        unit="bytes",
        bounds=SYNC_SIZE_BOUNDS,
    ),
    gauge(
        "mqgateway_store_disk_bytes",
        "Usable size of the store's file system, in bytes.",
        one(lambda reading: reading.usable[0]),
        unit="bytes",
    ),
    gauge(
        "mqgateway_store_disk_free_bytes",
        "Free bytes of the store's file system, without those reserved for root.",
        one(lambda reading: reading.usable[1]),
        unit="bytes",
    ),
    gauge(
        "mqgateway_ha_slave_behind_bytes",
        "Replication lag of a slave, in bytes of the commit log.",
        lambda reading: [((address,), behind) for address, behind in reading.slaves()],
        unit="bytes",
        labels=("slave",),
    ),
    gauge(
        "mqgateway_held_requests",
        "Requests in long polling, by kind.",
        lambda reading: [((kind,), count) for kind, count in reading.held().items()],
        labels=("kind",),
    ),
    counter(
        "mqgateway_flow_control_total",
        "Requests refused by flow control, by cause.",
        lambda reading: [((cause,), count) for cause, count in reading.flow_control().items()],
        labels=("cause",),
    ),
    counter(
        "mqgateway_discarded_messages_total",
        "Delayed messages, retries, half messages and pops discarded because their topic was deleted.",
        lambda reading: [((topic,), count) for topic, count in reading.discarded().items()],
        labels=("topic",),
    ),
    counter(
        "mqgateway_expired_messages_total",
        "Messages deleted because their topic keeps no older ones, or no more bytes.",
        one(lambda reading: reading.expired_messages),
    ),
    counter(
        "mqgateway_compactions_total",
        "Compactions of queues of topics that Kafka made.",
        one(lambda reading: reading.compactions),
    ),
    counter(
        "mqgateway_failed_compactions_total",
        "Compactions of such queues that failed, and are tried again.",
        one(lambda reading: reading.failed_compactions),
    ),
    gauge(
        "mqgateway_inconsistent_groups",
        "Consumer groups whose members have different subscriptions.",
        one(lambda reading: reading.inconsistent_groups),
    ),
)


def connection_metrics(front_ends: Iterable[FrontEnd]) -> tuple[Metric[BrokerReading], ...]:
    """Return the metrics of open connections, one for each front end that is for clients."""
    return tuple(
        gauge(
            f"mqgateway_{one.name}_connections",
            f"Open {one.title} connections, if {one.title} is served.",
            partial(_connections, name=one.name),
        )
        for one in front_ends
        if one.is_for_clients
    )


def _connections(reading: BrokerReading, name: str) -> list[tuple[tuple[str, ...], int]]:
    meter = reading.meters.front_ends.get(name)
    return [] if meter is None or meter.connections is None else [((), meter.connections())]
