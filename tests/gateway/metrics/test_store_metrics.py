"""Metrics of the store after known operations; their names are proved with those of the broker."""

from mqgateway.gateway.metrics.broker_metrics import BROKER_METRICS
from mqgateway.gateway.metrics.store_metrics import STORE_METRICS
from tests.support.gateway.metrics import ExportingBroker

LOCAL = {"storage_type": "local", "storage_medium": "disk"}


def test_metrics_of_the_store_are_exported_with_those_of_the_broker() -> None:
    assert set(STORE_METRICS) < set(BROKER_METRICS)


def test_sizes_and_age_of_the_log() -> None:
    host = ExportingBroker()
    host.add_topic("T")
    host.send("T", b"x" * 2000)
    size = host.broker.store.max_physical_offset
    assert host.value("rocketmq_storage_flush_behind_bytes", **LOCAL) == size
    assert host.value("rocketmq_storage_dispatch_behind_bytes", **LOCAL) == 0
    host.clock.advance(700)
    assert host.value("rocketmq_storage_message_reserve_time_milliseconds", **LOCAL) == 700


def test_an_empty_store_has_no_oldest_message() -> None:
    host = ExportingBroker()
    assert host.value("rocketmq_storage_message_reserve_time_milliseconds", **LOCAL) is None


def test_a_delay_level_counts_twice_a_timer_once() -> None:
    host = ExportingBroker()
    host.add_topic("T")
    host.send("T", properties={"DELAY": "1", "UNIQ_KEY": "a"})
    host.send("T", properties={"TIMER_DELAY_SEC": "20", "UNIQ_KEY": "b"})
    name = "rocketmq_messages_in_total"
    for topic in ("SCHEDULE_TOPIC_XXXX", "rmq_sys_wheel_timer"):
        assert host.value(name, topic=topic, message_type="delay", is_system="true") == 1
    assert host.value(name, topic="T", message_type="delay", is_system="false") is None
    host.wait(1500)
    assert host.value(name, topic="T", message_type="delay", is_system="false") == 1
    assert host.value("rocketmq_timer_enqueue_total", **LOCAL, topic="T") == 1
    assert host.value("rocketmq_timing_messages", **LOCAL, topic="T") == 1
    assert host.value("rocketmq_timer_dequeue_lag", **LOCAL) == 1
    assert host.value("rocketmq_timer_dequeue_total", **LOCAL, topic="T") is None
    assert host.value("rocketmq_timer_message_snapshot", **LOCAL, timer_bound_s="60") == 1
    assert host.value("rocketmq_timer_message_snapshot", **LOCAL, timer_bound_s="5") == 0
    assert host.value("rocketmq_delay_message_latency_seconds_bucket", **LOCAL, topic="T", le="60.0") == 1
    for _ in range(25):
        host.wait(1000)
    assert host.value(name, topic="T", message_type="delay", is_system="false") == 1
    assert host.value("rocketmq_timer_dequeue_total", **LOCAL, topic="T") == 1
    assert host.value("rocketmq_timing_messages", **LOCAL, topic="T") == 0
    assert host.value("rocketmq_timer_dequeue_lag", **LOCAL) == 0
    out = {"topic": "SCHEDULE_TOPIC_XXXX", "consumer_group": "SCHEDULE_CONSUMER", "is_system": "true"}
    assert host.value("rocketmq_messages_out_total", **out) == 1
