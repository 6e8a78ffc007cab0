"""Metrics of RocketMQ's broker, by its names; those of its store are in `store_metrics`. Standard:
`BrokerMetricsConstant`, `PopMetricsConstant`, `RemotingMetricsConstant`.

Metrics of thread pools and buffers that do not exist here are 0, so that dashboards have values to show.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter

from mqgateway.engine.meters import (
    CREATION_BOUNDS,
    FINISH_BOUNDS,
    LATENCY_BOUNDS,
    SIZE_BOUNDS,
    Distribution,
)
from mqgateway.gateway.broker.clients.members import GRPC, REMOTING
from mqgateway.gateway.metrics.broker_reading import BrokerReading
from mqgateway.gateway.metrics.declarations import (
    by_topic,
    counter,
    gauge,
    histogram,
    of_group,
    of_incoming,
    of_lag,
    one,
    with_system,
)
from mqgateway.gateway.metrics.metric import Metric, Sample, counted, distributed
from mqgateway.gateway.metrics.store_metrics import STORE_METRICS

PROCESSORS = (
    *("send", "async_put", "pull", "ack", "query_message", "client_manager"),
    *("heartbeat", "lite_pull", "transaction", "consumer_manager", "admin", "reply"),
)
SCAN_BOUNDS = (1, 10, 100, 1000, 2000, 3000)

STATS, REQUEST, CONNECTION = "enableStatsMetrics", "enableRequestMetrics", "enableConnectionMetrics"
LAG, TRANSACTION = "enableLagAndDlqMetrics", "enableTransactionMetrics"
REMOTING_METRICS = "enableRemotingMetrics"
POP = "enablePopMetrics"

IN = ("topic", "message_type", "is_system")
GROUP = ("consumer_group", "topic", "is_retry", "is_system")


def _latencies(reading: BrokerReading) -> Iterator[Sample]:
    """Yield the request latencies of all protocols."""
    for known, value in distributed(reading.meters.rpc_latency):
        yield None if known is None else (REMOTING, *known), value
    for name, meter in reading.meters.front_ends.items():
        latencies = {} if meter.latency is None else meter.latency.table
        for labels, distribution in list(latencies.items()):
            yield (name, *labels), distribution


def _proxy_up(reading: BrokerReading) -> Iterator[Sample]:
    if GRPC in reading.meters.front_ends:
        yield ("proxy", "local"), 1


def _consumers(reading: BrokerReading) -> Iterator[Sample]:
    for key, count in reading.consumers():
        yield (*key, reading.is_system_group(key[0])), count


_STATE = (
    gauge(
        "rocketmq_processor_watermark",
        "Requests that wait for a thread of their processor. Always 0: there are no thread pools.",
        lambda reading: [((name,), 0) for name in PROCESSORS],
        labels=("processor",),
        switch=STATS,
    ),
    gauge(
        "rocketmq_broker_permission",
        "Permission of clients: 6 read and write, 4 read, 2 write.",
        one(lambda reading: reading.permission),
        switch=STATS,
    ),
    gauge(
        "rocketmq_topic_number",
        "Number of topics, including system topics.",
        one(lambda reading: reading.topic_count),
        switch=STATS,
    ),
    gauge(
        "rocketmq_consumer_group_number",
        "Number of consumer groups, including system groups.",
        one(lambda reading: reading.group_count),
        switch=STATS,
    ),
)

_REQUESTS = (
    counter(
        "rocketmq_messages_in_total",
        "Messages stored in a topic. Delayed messages count again when they are delivered.",
        of_incoming(attrgetter("messages")),
        shown=with_system,
        labels=IN,
        switch=REQUEST,
    ),
    counter(
        "rocketmq_throughput_in_total",
        "Bytes of the records stored in a topic.",
        of_incoming(attrgetter("size")),
        shown=with_system,
        labels=IN,
        switch=REQUEST,
    ),
    histogram(
        "rocketmq_message_size",
        "Size of a stored record in bytes. For a batch: the mean.",
        of_incoming(lambda one: one),
        shown=with_system,
        labels=IN,
        bounds=SIZE_BOUNDS,
        switch=REQUEST,
    ),
    counter(
        "rocketmq_messages_out_total",
        "Messages delivered to a group. Popped messages have the label is_retry and their original topic.",
        lambda reading: reading.messages_out(),
        shown=of_group,
        labels=GROUP,
        switch=REQUEST,
    ),
    counter(
        "rocketmq_throughput_out_total",
        "Bytes of the records delivered to a group.",
        lambda reading: reading.throughput_out(),
        shown=of_group,
        labels=GROUP,
        switch=REQUEST,
    ),
    histogram(
        "rocketmq_topic_create_execution_time",
        "Time to create or change a topic, in milliseconds.",
        lambda reading: distributed(reading.meters.topic_creation),
        unit="milliseconds",
        labels=("invocation_status", "is_system"),
        bounds=CREATION_BOUNDS,
        switch=REQUEST,
    ),
    histogram(
        "rocketmq_consumer_group_create_execution_time",
        "Time to create or change a consumer group, in milliseconds.",
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
        "Connected producers. A client counts once for each of its groups.",
        lambda reading: list(reading.producers().items()),
        labels=("language", "version", "protocol_type"),
        switch=CONNECTION,
    ),
    gauge(
        "rocketmq_consumer_connections",
        "Connected members of a consumer group.",
        _consumers,
        labels=("consumer_group", "language", "version", "consume_mode", "protocol_type", "is_system"),
        switch=CONNECTION,
    ),
)

_LAGS = (
    gauge(
        "rocketmq_consumer_lag_messages",
        "Messages that a group has not consumed, also while no member is connected.",
        of_lag(attrgetter("messages")),
        labels=GROUP,
        shown=of_group,
        switch=LAG,
    ),
    gauge(
        "rocketmq_consumer_lag_latency",
        "Age of the oldest message that a group has not consumed, in milliseconds. 0: no such message.",
        of_lag(attrgetter("latency")),
        unit="milliseconds",
        labels=GROUP,
        shown=of_group,
        switch=LAG,
    ),
    gauge(
        "rocketmq_consumer_inflight_messages",
        "Messages delivered to a group and not acknowledged.",
        of_lag(attrgetter("in_flight")),
        labels=GROUP,
        shown=of_group,
        switch=LAG,
    ),
    gauge(
        "rocketmq_consumer_queueing_latency",
        "Age of the oldest message that was not delivered to a group, in milliseconds. 0: no such message.",
        of_lag(attrgetter("queueing")),
        unit="milliseconds",
        labels=GROUP,
        shown=of_group,
        switch=LAG,
    ),
    gauge(
        "rocketmq_consumer_ready_messages",
        "Messages that were not delivered to a group yet.",
        of_lag(attrgetter("ready")),
        labels=GROUP,
        shown=of_group,
        switch=LAG,
    ),
    counter(
        "rocketmq_send_to_dlq_messages_total",
        "Messages moved to a group's dead-letter queue, by original topic.",
        lambda reading: counted(reading.meters.dead_letters),
        shown=of_group,
        labels=("consumer_group", "topic", "is_system"),
        switch=LAG,
    ),
)

_TRANSACTIONS = (
    counter(
        "rocketmq_commit_messages_total",
        "Committed transactions.",
        lambda reading: counted(reading.meters.commits),
        labels=("topic",),
        switch=TRANSACTION,
    ),
    counter(
        "rocketmq_rollback_messages_total",
        "Rolled back transactions.",
        lambda reading: counted(reading.meters.rollbacks),
        labels=("topic",),
        switch=TRANSACTION,
    ),
    histogram(
        "rocketmq_finish_message_latency",
        "Time from a message's birth to its commit, in seconds despite the name.",
        lambda reading: distributed(reading.meters.finish_latency),
        unit="milliseconds",
        labels=("topic",),
        bounds=FINISH_BOUNDS,
        switch=TRANSACTION,
    ),
    gauge(
        "rocketmq_half_messages",
        "Open transactions (half messages).",
        by_topic(lambda reading: reading.half_messages()),
        labels=("topic",),
        switch=TRANSACTION,
    ),
)

_REMOTING = (
    histogram(
        "rocketmq_rpc_latency",
        "Time from reading a request to answering it, in milliseconds.",
        _latencies,
        unit="milliseconds",
        labels=("protocol_type", "request_code", "response_code", "is_long_polling", "result"),
        bounds=LATENCY_BOUNDS,
        switch=REMOTING_METRICS,
    ),
)

_POPS = (
    histogram(
        "rocketmq_pop_buffer_scan_time_consume",
        "Time of a scan of the POP buffer, in milliseconds. Always 0: there is no buffer.",
        lambda reading: [((), Distribution(len(SCAN_BOUNDS)))],
        unit="milliseconds",
        bounds=SCAN_BOUNDS,
        switch=POP,
    ),
    counter(
        "rocketmq_pop_revive_in_message_total",
        "POP checkpoints (CK) and acknowledgements (ACK) written to revive queues, by result.",
        lambda reading: counted(reading.meters.revive_in),
        labels=("consumer_group", "topic", "revive_message_type", "put_status"),
        switch=POP,
    ),
    counter(
        "rocketmq_pop_revive_out_message_total",
        "POP checkpoints (CK) and acknowledgements (ACK) read from revive queues.",
        lambda reading: counted(reading.meters.revive_out),
        labels=("consumer_group", "topic", "queue_id", "revive_message_type"),
        switch=POP,
    ),
    counter(
        "rocketmq_pop_revive_retry_messages_total",
        "Unacknowledged messages written to POP retry topics.",
        lambda reading: counted(reading.meters.revive_retries),
        labels=("consumer_group", "topic", "put_status"),
        switch=POP,
    ),
    gauge(
        "rocketmq_pop_revive_lag",
        "Unprocessed records of a revive queue. Despite the name it is a number of messages.",
        lambda reading: [((str(queue),), behind) for queue, behind, _ in reading.revive_lags()],
        unit="milliseconds",
        labels=("queue_id",),
        switch=POP,
    ),
    gauge(
        "rocketmq_pop_revive_latency",
        "Age of the first unprocessed record of a revive queue, in milliseconds.",
        lambda reading: [((str(queue),), age) for queue, _, age in reading.revive_lags()],
        unit="milliseconds",
        labels=("queue_id",),
        switch=POP,
    ),
    gauge(
        "rocketmq_pop_offset_buffer_size",
        "POP offsets in memory. Always 0: they are written to the log at once.",
        one(lambda reading: 0),
        switch=POP,
    ),
    gauge(
        "rocketmq_pop_checkpoint_buffer_size",
        "POP checkpoints in memory. Always 0: they are written to the log at once.",
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
    *STORE_METRICS,
    *_POPS,
)

PROXY_METRICS: tuple[Metric[BrokerReading], ...] = (
    gauge(
        "rocketmq_proxy_up",
        "1 if the broker serves gRPC, like Apache's proxy in local mode.",
        _proxy_up,
        labels=("node_type", "proxy_mode"),
    ),
)
"""Metrics of Apache's proxy, which has no other own metrics."""
