"""RocketMQ's names, labels and kinds of metrics, and the values after known operations."""

from typing import Any

import pytest

from mqgateway.engine.options import snake_case
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.gateway.broker.admin.groups import delete_group
from mqgateway.gateway.broker.admin.topics import delete_topic
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import ConsumerSendMsgBackRequestHeader
from mqgateway.gateway.metrics.broker_metrics import BROKER_METRICS
from tests.gateway.broker.transactions.test_ends import COMMIT, ROLLBACK, Talk
from tests.support.gateway.broker.pop import INVISIBLE, PopBroker
from tests.support.gateway.metrics import Exporting, ExportingBroker, types

IN = "is_system message_type topic"
OUT = "consumer_group is_retry is_system topic"
DISK = "storage_medium storage_type"

# Observed exports of a RocketMQ 5.5.0 broker: kind, and labels in addition to those of the node.
STANDARD = {
    "rocketmq_broker_permission": ("gauge", ""),
    "rocketmq_commit_messages_total": ("counter", "topic"),
    "rocketmq_consumer_connections": (
        "gauge",
        "consume_mode consumer_group is_system language protocol_type version",
    ),
    "rocketmq_consumer_group_create_execution_time_milliseconds": ("histogram", "invocation_status"),
    "rocketmq_consumer_group_number": ("gauge", ""),
    "rocketmq_consumer_inflight_messages": ("gauge", OUT),
    "rocketmq_consumer_lag_latency_milliseconds": ("gauge", OUT),
    "rocketmq_consumer_lag_messages": ("gauge", OUT),
    "rocketmq_consumer_queueing_latency_milliseconds": ("gauge", OUT),
    "rocketmq_consumer_ready_messages": ("gauge", OUT),
    "rocketmq_delay_message_latency_seconds": ("histogram", f"{DISK} topic"),
    "rocketmq_finish_message_latency_milliseconds": ("histogram", "topic"),
    "rocketmq_half_messages": ("gauge", "topic"),
    "rocketmq_message_size": ("histogram", IN),
    "rocketmq_messages_in_total": ("counter", IN),
    "rocketmq_messages_out_total": ("counter", OUT),
    "rocketmq_pop_buffer_scan_time_consume_milliseconds": ("histogram", ""),
    "rocketmq_pop_checkpoint_buffer_size": ("gauge", ""),
    "rocketmq_pop_offset_buffer_size": ("gauge", ""),
    "rocketmq_pop_revive_in_message_total": (
        "counter",
        "consumer_group put_status revive_message_type topic",
    ),
    "rocketmq_pop_revive_lag_milliseconds": ("gauge", "queue_id"),
    "rocketmq_pop_revive_latency_milliseconds": ("gauge", "queue_id"),
    "rocketmq_pop_revive_out_message_total": ("counter", "consumer_group queue_id revive_message_type topic"),
    "rocketmq_pop_revive_retry_messages_total": ("counter", "consumer_group put_status topic"),
    "rocketmq_processor_watermark": ("gauge", "processor"),
    "rocketmq_producer_connections": ("gauge", "language protocol_type version"),
    "rocketmq_rollback_messages_total": ("counter", "topic"),
    "rocketmq_rpc_latency_milliseconds": (
        "histogram",
        "is_long_polling protocol_type request_code response_code result",
    ),
    "rocketmq_send_to_dlq_messages_total": ("counter", "consumer_group is_system topic"),
    "rocketmq_storage_dispatch_behind_bytes": ("gauge", DISK),
    "rocketmq_storage_flush_behind_bytes": ("gauge", DISK),
    "rocketmq_storage_message_reserve_time_milliseconds": ("gauge", DISK),
    "rocketmq_storage_size_bytes": ("gauge", DISK),
    "rocketmq_throughput_in_total": ("counter", IN),
    "rocketmq_throughput_out_total": ("counter", OUT),
    "rocketmq_timer_dequeue_lag": ("gauge", DISK),
    "rocketmq_timer_dequeue_latency_milliseconds": ("gauge", DISK),
    "rocketmq_timer_dequeue_total": ("counter", f"{DISK} topic"),
    "rocketmq_timer_enqueue_lag": ("gauge", DISK),
    "rocketmq_timer_enqueue_latency_milliseconds": ("gauge", DISK),
    "rocketmq_timer_enqueue_total": ("counter", f"{DISK} topic"),
    "rocketmq_timer_message_snapshot": ("gauge", f"{DISK} timer_bound_s"),
    "rocketmq_timing_messages": ("gauge", f"{DISK} topic"),
    "rocketmq_topic_create_execution_time_milliseconds": ("histogram", "invocation_status is_system"),
    "rocketmq_topic_number": ("gauge", ""),
}
BOUNDS = {
    "rocketmq_message_size": "1024 4096 524288 1048576 2097152 4194304",
    "rocketmq_rpc_latency_milliseconds": "1 3 5 7 10 100 1000 2000 3000",
    "rocketmq_finish_message_latency_milliseconds": "5 60 600 3600 43200 86400",
    "rocketmq_delay_message_latency_seconds": "60 600 3600 43200 86400 259200",
    "rocketmq_topic_create_execution_time_milliseconds": "10 100 1000 3000 5000",
    "rocketmq_consumer_group_create_execution_time_milliseconds": "10 100 1000 3000 5000",
    "rocketmq_pop_buffer_scan_time_consume_milliseconds": "1 10 100 1000 2000 3000",
}


class ExportingPops(PopBroker, Exporting):
    """Exporting broker for pops."""


class ExportingTransactions(Talk, Exporting):
    """Exporting broker with transactions."""


def test_names_kinds_and_labels_match_rocketmq() -> None:
    ours = {
        metric.suffixed_name: (str(metric.kind), " ".join(sorted(metric.labels))) for metric in BROKER_METRICS
    }
    assert ours == STANDARD


def test_bounds_match_rocketmq() -> None:
    ours = {metric.suffixed_name: " ".join(map(str, metric.bounds)) for metric in BROKER_METRICS}
    assert {name: bounds for name, bounds in ours.items() if bounds} == BOUNDS


def test_sends_and_pulls() -> None:
    host = ExportingBroker()
    host.add_topic("T")
    host.subscribe("G", "T")
    for _ in range(3):
        host.send("T", b"x" * 2000)
    host.send("T", properties={"__SHARDINGKEY": "a"})
    host.pull("T")
    size = host.broker.store.max_physical_offset
    assert host.value("rocketmq_messages_in_total", topic="T", message_type="normal", is_system="false") == 3
    assert host.value("rocketmq_messages_in_total", topic="T", message_type="fifo", is_system="false") == 1
    assert sum(host.values("rocketmq_throughput_in_total").values()) == size
    given = {"topic": "T", "consumer_group": "G", "is_system": "false"}
    assert host.value("rocketmq_messages_out_total", **given) == 4
    assert host.value("rocketmq_throughput_out_total", **given) == size
    sizes = {"topic": "T", "message_type": "normal", "is_system": "false"}
    assert host.value("rocketmq_message_size_bucket", **sizes, le="1024.0") == 0
    assert host.value("rocketmq_message_size_bucket", **sizes, le="4096.0") == 3
    assert host.value("rocketmq_message_size_count", **sizes) == 3


def test_retries_and_dead_letters() -> None:
    host = ExportingBroker()
    host.add_topic("T")
    host.subscribe("G", "T")
    host.broker.tables.groups.put(SubscriptionGroupConfig(group_name="G"))
    host.send("T")
    for level in (0, -1):
        header = ConsumerSendMsgBackRequestHeader(offset=0, group="G", delay_level=level)
        assert host.ask(RequestCode.CONSUMER_SEND_MSG_BACK, header).code == 0
    name = "rocketmq_messages_in_total"
    assert host.value(name, topic="%RETRY%G", message_type="delay", is_system="false") == 1
    name = "rocketmq_send_to_dlq_messages_total"
    assert host.value(name, consumer_group="G", topic="T", is_system="false") == 1


def test_connections() -> None:
    host = ExportingBroker()
    host.subscribe("G", "T", consume_type="CONSUME_ACTIVELY")
    name = "rocketmq_consumer_connections"
    (labels,) = host.values(name)
    assert dict(labels) == {
        "consumer_group": "G",
        "consume_mode": "pull",
        "language": "java",
        "version": "v5_5_0",
        "protocol_type": "remoting",
        "is_system": "false",
    }
    host.consumer.lose()
    host.broker.clients.lost(host.consumer)
    assert host.values(name) == {}


def test_transactions() -> None:
    host = ExportingTransactions()
    halves = [host.send_half() for _ in range(3)]
    assert host.value("rocketmq_half_messages", topic="T") == 3
    host.clock.advance(7000)
    host.end(halves[0], COMMIT)
    host.end(halves[1], ROLLBACK)
    assert host.value("rocketmq_commit_messages_total", topic="T") == 1
    assert host.value("rocketmq_rollback_messages_total", topic="T") == 1
    assert host.value("rocketmq_half_messages", topic="T") == 1
    half = {"topic": "RMQ_SYS_TRANS_HALF_TOPIC", "message_type": "transaction", "is_system": "true"}
    assert host.value("rocketmq_messages_in_total", **half) == 3
    assert host.values("rocketmq_finish_message_latency_milliseconds_count") == {(("topic", "T"),): 1}


def test_pops() -> None:
    host = ExportingPops()
    for _ in range(2):
        host.send("T")
    first, second = host.pop()
    host.ack(first)
    revive: dict[str, Any] = {"consumer_group": "G", "topic": "T", "put_status": "PUT_OK"}
    name = "rocketmq_pop_revive_in_message_total"
    assert host.value(name, **revive, revive_message_type="CK") == 1
    assert host.value(name, **revive, revive_message_type="ACK") == 1
    given: dict[str, Any] = {"topic": "T", "consumer_group": "G", "is_system": "false"}
    assert host.value("rocketmq_messages_out_total", **given, is_retry="false") == 2
    assert host.value("rocketmq_consumer_inflight_messages", **given, is_retry="false") == 1
    for _ in range(INVISIBLE // 1000 + 6):
        host.wait(1000)
    assert host.value("rocketmq_pop_revive_retry_messages_total", **revive) == 1
    out = host.values("rocketmq_pop_revive_out_message_total")
    assert sorted((dict(labels)["revive_message_type"], count) for labels, count in out.items()) == [
        ("ACK", 1),
        ("CK", 1),
    ]
    assert set(host.values("rocketmq_pop_revive_lag_milliseconds").values()) == {0}
    host.chance = 0
    (again,) = host.pop()
    assert again.body == second.body
    assert host.value("rocketmq_messages_out_total", **given, is_retry="true") == 1
    assert host.value("rocketmq_messages_out_total", **given) is None


def test_every_metric_that_needs_no_event_has_a_value_at_once() -> None:
    found = set(types(ExportingBroker().scrape()))
    assert found >= {
        "rocketmq_broker_permission",
        "rocketmq_topic_number",
        "rocketmq_consumer_group_number",
        "rocketmq_processor_watermark",
        "rocketmq_storage_size_bytes",
        "rocketmq_timer_enqueue_lag",
        "rocketmq_pop_revive_lag_milliseconds",
        "rocketmq_pop_buffer_scan_time_consume_milliseconds",
    }


def test_deleted_topics_and_groups_are_not_exported() -> None:
    host = ExportingPops()
    host.subscribe("G", "T")
    host.send("T")
    host.send("T", properties={"TIMER_DELAY_SEC": "1", "UNIQ_KEY": "b"})
    host.pop()
    host.wait(2000)
    assert 'topic="T"' in host.scrape()

    delete_group(host.broker, "G", with_offsets=True)
    host.consumer.lose()
    host.broker.clients.lost(host.consumer)
    assert 'consumer_group="G"' not in host.scrape()
    delete_topic(host.broker, "T")
    assert 'topic="T"' not in host.scrape()
    assert 'topic="T"' not in host.scrape("exporter")


@pytest.mark.parametrize("metric", sorted({one.switch for one in BROKER_METRICS}))
def test_switch_turns_its_metrics_off(metric: str) -> None:

    host = ExportingBroker(options={snake_case(metric): False})
    host.add_topic("T")
    host.send("T")
    switched_off = {one.suffixed_name for one in BROKER_METRICS if one.switch == metric}
    assert switched_off
    assert not switched_off & set(types(host.scrape()))
