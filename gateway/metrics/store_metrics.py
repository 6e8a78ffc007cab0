"""Metrics of the store of RocketMQ's broker, by its names: the log, and timer messages.

Metrics of RocksDB are left out. RocketMQ: `DefaultStoreMetricsConstant`.
"""

from __future__ import annotations

from collections.abc import Iterator

from mqgateway.engine.meters import DELAY_BOUNDS
from mqgateway.gateway.metrics.broker_reading import BrokerReading
from mqgateway.gateway.metrics.declarations import (
    DISK,
    LOCAL,
    by_topic,
    counter,
    gauge,
    histogram,
    of_timers,
    on_disk,
    on_local_disk,
)
from mqgateway.gateway.metrics.metric import Metric, Sample, counted, distributed

STORE = "enableMessageStoreMetrics"


def _snapshot(reading: BrokerReading) -> Iterator[Sample | None]:
    for found in reading.timers_within():
        yield None if found is None else ((*LOCAL, str(found[0])), found[1])


STORE_METRICS: tuple[Metric[BrokerReading], ...] = (
    gauge(
        "rocketmq_storage_size",
        "Used bytes of the store's file system, including other files.",
        on_disk(lambda reading: reading.used_bytes),
        unit="bytes",
        labels=DISK,
        switch=STORE,
    ),
    gauge(
        "rocketmq_storage_flush_behind_bytes",
        "Bytes of the commit log that are not flushed to disk yet.",
        on_disk(lambda reading: reading.flush_behind),
        unit="bytes",
        labels=DISK,
        switch=STORE,
    ),
    gauge(
        "rocketmq_storage_dispatch_behind_bytes",
        "Bytes of the commit log that are not dispatched to consume queues yet.",
        on_disk(lambda reading: reading.dispatch_behind),
        unit="bytes",
        labels=DISK,
        switch=STORE,
    ),
    gauge(
        "rocketmq_storage_message_reserve_time",
        "Age of the oldest stored message, in milliseconds.",
        on_disk(lambda reading: reading.reserve_time),
        unit="milliseconds",
        labels=DISK,
        switch=STORE,
    ),
    gauge(
        "rocketmq_timer_enqueue_lag",
        "Timer messages that are not in the timer wheel yet.",
        of_timers(lambda reading: reading.timers_behind[0]),
        labels=DISK,
        switch=STORE,
    ),
    gauge(
        "rocketmq_timer_enqueue_latency",
        "Age of the oldest timer message that is not in the timer wheel yet, in milliseconds.",
        of_timers(lambda reading: reading.timers_behind[1]),
        unit="milliseconds",
        labels=DISK,
        switch=STORE,
    ),
    gauge(
        "rocketmq_timer_dequeue_lag",
        "Timer messages that wait in the timer wheel.",
        of_timers(lambda reading: reading.timers_waiting),
        labels=DISK,
        switch=STORE,
    ),
    gauge(
        "rocketmq_timer_dequeue_latency",
        "Delay of timer delivery, in milliseconds. Up to 1000 is normal.",
        of_timers(lambda reading: reading.timers_late),
        unit="milliseconds",
        labels=DISK,
        switch=STORE,
    ),
    counter(
        "rocketmq_timer_enqueue_total",
        "Timer messages added to the timer wheel, by topic.",
        lambda reading: counted(reading.meters.timers_enqueued),
        shown=on_local_disk,
        labels=(*DISK, "topic"),
        switch=STORE,
    ),
    counter(
        "rocketmq_timer_dequeue_total",
        "Timer messages delivered, by topic.",
        lambda reading: counted(reading.meters.timers_dequeued),
        shown=on_local_disk,
        labels=(*DISK, "topic"),
        switch=STORE,
    ),
    gauge(
        "rocketmq_timing_messages",
        "Timer messages that wait for delivery, by topic.",
        by_topic(lambda reading: reading.timers_by_topic()),
        shown=on_local_disk,
        labels=(*DISK, "topic"),
        switch=STORE,
    ),
    gauge(
        "rocketmq_timer_message_snapshot",
        "Timer messages due within timer_bound_s seconds and after the next lower bound.",
        _snapshot,
        labels=(*DISK, "timer_bound_s"),
        switch=STORE,
    ),
    histogram(
        "rocketmq_delay_message_latency",
        "Requested delay of timer messages, in seconds.",
        lambda reading: distributed(reading.meters.delay_latency),
        shown=on_local_disk,
        unit="seconds",
        labels=(*DISK, "topic"),
        bounds=DELAY_BOUNDS,
        switch=STORE,
    ),
)
