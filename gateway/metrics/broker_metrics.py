"""The metrics of the standard's broker, by its names. Standard: `BrokerMetricsConstant`,
`DefaultStoreMetricsConstant`, `PopMetricsConstant`, `RemotingMetricsConstant`.

Left out are those of RocksDB, which is not used here. Where a value could only be said of threads or buffers
that there are not, it is 0, so that dashboards have something to show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter

from mqgateway.engine.meters import (
    CREATION_BOUNDS,
    DELAY_BOUNDS,
    FINISH_BOUNDS,
    LATENCY_BOUNDS,
    SIZE_BOUNDS,
    Distribution,
    Incoming,
    Labels,
)
from mqgateway.gateway.broker.clients.table import GRPC, REMOTING
from mqgateway.gateway.metrics.broker_reading import BrokerReading
from mqgateway.gateway.metrics.lag import GroupLag
from mqgateway.gateway.metrics.metric import Kind, Metric, Sample, Samples, counted, distributed

PROCESSORS = (
    *("send", "async_put", "pull", "ack", "query_message", "client_manager"),
    *("heartbeat", "lite_pull", "transaction", "consumer_manager", "admin", "reply"),
)
SCAN_BOUNDS = (1, 10, 100, 1000, 2000, 3000)

STATS, REQUEST, CONNECTION = "enableStatsMetrics", "enableRequestMetrics", "enableConnectionMetrics"
LAG, TRANSACTION = "enableLagAndDlqMetrics", "enableTransactionMetrics"
REMOTING_METRICS = "enableRemotingMetrics"
STORE, POP = "enableMessageStoreMetrics", "enablePopMetrics"

IN = ("topic", "message_type", "is_system")
GROUP = ("consumer_group", "topic", "is_retry", "is_system")
DISK = ("storage_type", "storage_medium")
LOCAL = ("local", "disk")

Read = Callable[[BrokerReading], Samples]


def gauge(name: str, meaning: str, read: Read, **other: object) -> Metric[BrokerReading]:
    """A metric that shows a state."""
    return Metric(name=name, kind=Kind.GAUGE, meaning=meaning, read=read, **other)  # type: ignore[arg-type]


def counter(name: str, meaning: str, read: Read, **other: object) -> Metric[BrokerReading]:
    """A metric that only grows."""
    return Metric(name=name, kind=Kind.COUNTER, meaning=meaning, read=read, **other)  # type: ignore[arg-type]


def histogram(name: str, meaning: str, read: Read, **other: object) -> Metric[BrokerReading]:
    """A metric that tells values apart by size."""
    return Metric(name=name, kind=Kind.HISTOGRAM, meaning=meaning, read=read, **other)  # type: ignore[arg-type]


def one(read: Callable[[BrokerReading], float]) -> Read:
    """A single value without labels of its own."""
    return lambda reading: [((), read(reading))]


def on_disk(read: Callable[[BrokerReading], float | None]) -> Read:
    """A single value of the store; without a value there is no series."""

    def values(reading: BrokerReading) -> Iterator[Sample]:
        value = read(reading)
        if value is not None:
            yield LOCAL, value

    return values


def of_timers(read: Callable[[BrokerReading], float]) -> Read:
    """The same of timers, where there are any."""
    return on_disk(lambda reading: read(reading) if reading.has_timers else None)


def by_topic(read: Callable[[BrokerReading], dict[str, int]]) -> Read:
    """A value a topic."""
    return lambda reading: [((topic,), value) for topic, value in read(reading).items()]


def _with_system(reading: BrokerReading, labels: Labels) -> Labels:
    """Topic and whatever follows, and whether the topic is the system's."""
    return (*labels, reading.is_system(labels[0]))


def _of_group(reading: BrokerReading, labels: Labels) -> Labels:
    """Group, topic and whatever follows, and whether one of the two is the system's."""
    return (*labels, reading.is_system(labels[1], labels[0]))


def _local(_: BrokerReading, labels: Labels) -> Labels:
    return (*LOCAL, *labels)


def _latencies(reading: BrokerReading) -> Iterator[Sample]:
    """Of both protocols."""
    for known, value in distributed(reading.meters.rpc_latency):
        yield None if known is None else (REMOTING, *known), value
    for labels, distribution in list(reading.meters.grpc_latency.table.items()):
        yield (GRPC, *labels), distribution


def _proxy_up(reading: BrokerReading) -> Iterator[Sample]:
    if reading.meters.grpc_connections is not None:
        yield ("proxy", "local"), 1


def _incoming(value: Callable[[Incoming], float | Distribution]) -> Read:
    def values(reading: BrokerReading) -> Iterator[list[Sample]]:
        for labels, incoming in reading.incoming():
            yield list(zip(labels, map(value, incoming), strict=True))

    return values


def _lag(value: Callable[[GroupLag], int]) -> Read:
    def values(reading: BrokerReading) -> Iterator[list[Sample]]:
        for lags in reading.lags():
            yield [(lag.labels, value(lag)) for lag in lags]

    return values


def _snapshot(reading: BrokerReading) -> Iterator[Sample | None]:
    for found in reading.timers_within():
        yield None if found is None else ((*LOCAL, str(found[0])), found[1])


def _consumers(reading: BrokerReading) -> Iterator[Sample]:
    for key, count in reading.consumers():
        yield (*key, reading.is_system_group(key[0])), count


_STATE = (
    gauge(
        "rocketmq_processor_watermark",
        "Requests that wait for a thread of their processor; here none waits.",
        lambda reading: [((name,), 0) for name in PROCESSORS],
        labels=("processor",),
        switch=STATS,
    ),
    gauge(
        "rocketmq_broker_permission",
        "What clients may do: 6 read and write, 4 read, 2 write.",
        one(lambda reading: reading.permission),
        switch=STATS,
    ),
    gauge(
        "rocketmq_topic_number",
        "Topics, those of the system too.",
        one(lambda reading: reading.topic_count),
        switch=STATS,
    ),
    gauge(
        "rocketmq_consumer_group_number",
        "Consumer groups, those of the system too.",
        one(lambda reading: reading.group_count),
        switch=STATS,
    ),
)

_REQUESTS = (
    counter(
        "rocketmq_messages_in_total",
        "Messages stored in a topic at a client's request; delay levels again when they are due.",
        _incoming(attrgetter("messages")),
        shown=_with_system,
        labels=IN,
        switch=REQUEST,
    ),
    counter(
        "rocketmq_throughput_in_total",
        "Bytes of their records.",
        _incoming(attrgetter("size")),
        shown=_with_system,
        labels=IN,
        switch=REQUEST,
    ),
    histogram(
        "rocketmq_message_size",
        "Bytes of a record; of a batch the mean.",
        _incoming(lambda one: one),
        shown=_with_system,
        labels=IN,
        bounds=SIZE_BOUNDS,
        switch=REQUEST,
    ),
    counter(
        "rocketmq_messages_out_total",
        "Messages given to a group; what is popped has is_retry and the topic it was sent to.",
        lambda reading: reading.messages_out(),
        shown=_of_group,
        labels=GROUP,
        switch=REQUEST,
    ),
    counter(
        "rocketmq_throughput_out_total",
        "Bytes of their records.",
        lambda reading: reading.throughput_out(),
        shown=_of_group,
        labels=GROUP,
        switch=REQUEST,
    ),
    histogram(
        "rocketmq_topic_create_execution_time",
        "Time in which topics were made or changed.",
        lambda reading: distributed(reading.meters.topic_creation),
        unit="milliseconds",
        labels=("invocation_status", "is_system"),
        bounds=CREATION_BOUNDS,
        switch=REQUEST,
    ),
    histogram(
        "rocketmq_consumer_group_create_execution_time",
        "Time in which consumer groups were made or changed.",
        lambda reading: distributed(reading.meters.group_creation),
        unit="milliseconds",
        labels=("invocation_status",),
        bounds=CREATION_BOUNDS,
        switch=REQUEST,
    ),
)

_CONNECTIONS = (
    gauge(
        "rocketmq_producer_connections",
        "Producers, one for each group a client is in.",
        lambda reading: list(reading.producers().items()),
        labels=("language", "version", "protocol_type"),
        switch=CONNECTION,
    ),
    gauge(
        "rocketmq_consumer_connections",
        "Members of a consumer group.",
        _consumers,
        labels=("consumer_group", "language", "version", "consume_mode", "protocol_type", "is_system"),
        switch=CONNECTION,
    ),
)

_LAGS = (
    gauge(
        "rocketmq_consumer_lag_messages",
        "Messages that a group has not consumed, whether anybody of it is connected or not.",
        _lag(attrgetter("messages")),
        labels=GROUP,
        shown=_of_group,
        switch=LAG,
    ),
    gauge(
        "rocketmq_consumer_lag_latency",
        "Age of the oldest of them; 0 for none.",
        _lag(attrgetter("latency")),
        unit="milliseconds",
        labels=GROUP,
        shown=_of_group,
        switch=LAG,
    ),
    gauge(
        "rocketmq_consumer_inflight_messages",
        "Those that were given out.",
        _lag(attrgetter("in_flight")),
        labels=GROUP,
        shown=_of_group,
        switch=LAG,
    ),
    gauge(
        "rocketmq_consumer_queueing_latency",
        "Age of the oldest that was not given out; 0 for none.",
        _lag(attrgetter("queueing")),
        unit="milliseconds",
        labels=GROUP,
        shown=_of_group,
        switch=LAG,
    ),
    gauge(
        "rocketmq_consumer_ready_messages",
        "Those that were not given out.",
        _lag(attrgetter("ready")),
        labels=GROUP,
        shown=_of_group,
        switch=LAG,
    ),
    counter(
        "rocketmq_send_to_dlq_messages_total",
        "Messages that became dead letters of a group, by the topic they were sent to.",
        lambda reading: counted(reading.meters.dead_letters),
        shown=_of_group,
        labels=("consumer_group", "topic", "is_system"),
        switch=LAG,
    ),
)

_TRANSACTIONS = (
    counter(
        "rocketmq_commit_messages_total",
        "Transactions committed.",
        lambda reading: counted(reading.meters.commits),
        labels=("topic",),
        switch=TRANSACTION,
    ),
    counter(
        "rocketmq_rollback_messages_total",
        "Transactions rolled back.",
        lambda reading: counted(reading.meters.rollbacks),
        labels=("topic",),
        switch=TRANSACTION,
    ),
    histogram(
        "rocketmq_finish_message_latency",
        "Seconds (whatever the name says) from a message's birth to its commit.",
        lambda reading: distributed(reading.meters.finish_latency),
        unit="milliseconds",
        labels=("topic",),
        bounds=FINISH_BOUNDS,
        switch=TRANSACTION,
    ),
    gauge(
        "rocketmq_half_messages",
        "Transactions that are open.",
        by_topic(lambda reading: reading.half_messages()),
        labels=("topic",),
        switch=TRANSACTION,
    ),
)

_REMOTING = (
    histogram(
        "rocketmq_rpc_latency",
        "Time from when a request was read to when it was answered.",
        _latencies,
        unit="milliseconds",
        labels=("protocol_type", "request_code", "response_code", "is_long_polling", "result"),
        bounds=LATENCY_BOUNDS,
        switch=REMOTING_METRICS,
    ),
)

_STORE = (
    gauge(
        "rocketmq_storage_size",
        "What is used, by whomever, of the file system that the store lies on.",
        on_disk(lambda reading: reading.used_bytes),
        unit="bytes",
        labels=DISK,
        switch=STORE,
    ),
    gauge(
        "rocketmq_storage_flush_behind_bytes",
        "Bytes of the log that may not be on the disk yet.",
        on_disk(lambda reading: reading.flush_behind),
        unit="bytes",
        labels=DISK,
        switch=STORE,
    ),
    gauge(
        "rocketmq_storage_dispatch_behind_bytes",
        "Bytes of the log that are in no queue yet.",
        on_disk(lambda reading: reading.dispatch_behind),
        unit="bytes",
        labels=DISK,
        switch=STORE,
    ),
    gauge(
        "rocketmq_storage_message_reserve_time",
        "Age of the oldest message.",
        on_disk(lambda reading: reading.reserve_time),
        unit="milliseconds",
        labels=DISK,
        switch=STORE,
    ),
    gauge(
        "rocketmq_timer_enqueue_lag",
        "Messages with timers that are not in the wheel yet.",
        of_timers(lambda reading: reading.timers_behind[0]),
        labels=DISK,
        switch=STORE,
    ),
    gauge(
        "rocketmq_timer_enqueue_latency",
        "Age of the oldest of them.",
        of_timers(lambda reading: reading.timers_behind[1]),
        unit="milliseconds",
        labels=DISK,
        switch=STORE,
    ),
    gauge(
        "rocketmq_timer_dequeue_lag",
        "Messages that wait in the wheel.",
        of_timers(lambda reading: reading.timers_waiting),
        labels=DISK,
        switch=STORE,
    ),
    gauge(
        "rocketmq_timer_dequeue_latency",
        "How long ago that slot was due which is delivered next; up to a second is usual.",
        of_timers(lambda reading: reading.timers_late),
        unit="milliseconds",
        labels=DISK,
        switch=STORE,
    ),
    counter(
        "rocketmq_timer_enqueue_total",
        "Messages that came into the wheel, by their topic.",
        lambda reading: counted(reading.meters.timers_enqueued),
        shown=_local,
        labels=(*DISK, "topic"),
        switch=STORE,
    ),
    counter(
        "rocketmq_timer_dequeue_total",
        "Messages with timers that were delivered, by their topic.",
        lambda reading: counted(reading.meters.timers_dequeued),
        shown=_local,
        labels=(*DISK, "topic"),
        switch=STORE,
    ),
    gauge(
        "rocketmq_timing_messages",
        "Messages with timers that wait, by their topic.",
        by_topic(lambda reading: reading.timers_by_topic()),
        shown=_local,
        labels=(*DISK, "topic"),
        switch=STORE,
    ),
    gauge(
        "rocketmq_timer_message_snapshot",
        "Messages that are due within so many seconds, but not within the number before.",
        _snapshot,
        labels=(*DISK, "timer_bound_s"),
        switch=STORE,
    ),
    histogram(
        "rocketmq_delay_message_latency",
        "For how long messages with timers asked to wait.",
        lambda reading: distributed(reading.meters.delay_latency),
        shown=_local,
        unit="seconds",
        labels=(*DISK, "topic"),
        bounds=DELAY_BOUNDS,
        switch=STORE,
    ),
)

_POPS = (
    histogram(
        "rocketmq_pop_buffer_scan_time_consume",
        "Time of a look through the buffer of pops; here there is none.",
        lambda reading: [((), Distribution(len(SCAN_BOUNDS)))],
        unit="milliseconds",
        bounds=SCAN_BOUNDS,
        switch=POP,
    ),
    counter(
        "rocketmq_pop_revive_in_message_total",
        "Check points (CK) and acknowledgements (ACK) of pops that were to be stored.",
        lambda reading: counted(reading.meters.revive_in),
        labels=("consumer_group", "topic", "revive_message_type", "put_status"),
        switch=POP,
    ),
    counter(
        "rocketmq_pop_revive_out_message_total",
        "Those that were due and read again.",
        lambda reading: counted(reading.meters.revive_out),
        labels=("consumer_group", "topic", "queue_id", "revive_message_type"),
        switch=POP,
    ),
    counter(
        "rocketmq_pop_revive_retry_messages_total",
        "Messages that nobody acknowledged, put where they are popped again.",
        lambda reading: counted(reading.meters.revive_retries),
        labels=("consumer_group", "topic", "put_status"),
        switch=POP,
    ),
    gauge(
        "rocketmq_pop_revive_lag",
        "Messages (whatever the name says) of a revive queue that are not dealt with.",
        lambda reading: [((str(queue),), behind) for queue, behind, _ in reading.revive_lags()],
        unit="milliseconds",
        labels=("queue_id",),
        switch=POP,
    ),
    gauge(
        "rocketmq_pop_revive_latency",
        "Age of the first of them.",
        lambda reading: [((str(queue),), age) for queue, _, age in reading.revive_lags()],
        unit="milliseconds",
        labels=("queue_id",),
        switch=POP,
    ),
    gauge(
        "rocketmq_pop_offset_buffer_size",
        "Offsets of pops in memory; here they go through the log at once.",
        one(lambda reading: 0),
        switch=POP,
    ),
    gauge(
        "rocketmq_pop_checkpoint_buffer_size",
        "Check points in memory; here they go through the log at once.",
        one(lambda reading: 0),
        switch=POP,
    ),
)

BROKER_METRICS: tuple[Metric[BrokerReading], ...] = (
    *_STATE,
    *_REQUESTS,
    *_CONNECTIONS,
    *_LAGS,
    *_TRANSACTIONS,
    *_REMOTING,
    *_STORE,
    *_POPS,
)

PROXY_METRICS: tuple[Metric[BrokerReading], ...] = (
    gauge(
        "rocketmq_proxy_up",
        "1 where gRPC is served, as by Apache's proxy within a broker.",
        _proxy_up,
        labels=("node_type", "proxy_mode"),
    ),
)
"""Of Apache's proxy, which has nothing else of its own."""
