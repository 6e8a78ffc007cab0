"""DeleteRecords over a broker, and what other requests answer afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.engine.ha.role import RoleKind
from mqgateway.engine.message import KAFKA_OFFSETS_TOPIC
from mqgateway.engine.options import FlushDiskType
from mqgateway.engine.record_batches.batches import Batch
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.broker.admin.topics import topic_stats
from mqgateway.gateway.broker.operations import TimedOffset, Use
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.codec.messages.create_topics_request import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from mqgateway.gateway.kafka.codec.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from mqgateway.gateway.kafka.codec.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from mqgateway.gateway.kafka.codec.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from tests.gateway.kafka.api.test_metadata import create
from tests.gateway.kafka.test_coordination import become
from tests.support.gateway.kafka.broker import KafkaBroker
from tests.support.gateway.kafka.client import KafkaClient, kafka_scene
from tests.support.gateway.kafka.requests import (
    batch_of_values,
    fetch_request,
    fetched,
    produce_request,
    produced,
    values_in,
)


def deletion(topic: str, *offsets: tuple[int, int]) -> DeleteRecordsRequest:
    """Return a request with partitions and offsets of one topic."""
    partitions = [DeleteRecordsPartition(number, offset) for number, offset in offsets]
    return DeleteRecordsRequest([DeleteRecordsTopic(topic, partitions)], 1000)


def deleted(client: Any, topic: str, offset: int, partition: int = 0, version: int = 2) -> tuple[int, int]:
    """Delete records of a partition; return the low watermark and the error code."""
    [found] = client.ask(deletion(topic, (partition, offset)), version).topics
    [result] = found.partitions
    assert (found.name, result.partition_index) == (topic, partition)
    return result.low_watermark, result.error_code


def fill(client: KafkaClient, topic: str, now: int, *counts: int) -> None:
    for count in counts:
        data = batch_of_values(*[b"%d" % number for number in range(count)], now=now)
        assert produced(client, produce_request(topic, data)).error_code == E.NONE


def listed(client: KafkaClient, topic: str, timestamp: int) -> int:
    wanted = [ListOffsetsPartition(0, timestamp=timestamp)]
    [found] = client.ask(ListOffsetsRequest(-1, 0, [ListOffsetsTopic(topic, wanted)])).topics
    [partition] = found.partitions
    assert partition.error_code == E.NONE
    return int(partition.offset)


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("topic", ["whole", "Messages"])
def test_start_is_moved_for_every_request(topic: str, version: int) -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "whole")
        scene.server.create_topic("Messages", queues=1)
        now = scene.server.clock.millis()
        fill(client, topic, now, 3, 4, 3)
        assert deleted(client, topic, 5, version=version) == (5, E.NONE)
        assert deleted(client, topic, 2, version=version) == (5, E.NONE)
        assert [listed(client, topic, time) for time in (-1, -2, -4, 0)] == [10, 5, 5, 5]
        below = fetched(client, fetch_request(topic, 4))
        assert (below.error_code, below.high_watermark, below.log_start_offset) == (
            E.OFFSET_OUT_OF_RANGE,
            -1,
            -1,
        )
        read = fetched(client, fetch_request(topic, 5))
        assert (read.error_code, read.high_watermark, read.log_start_offset) == (E.NONE, 10, 5)
        first = values_in(read)[0]
        assert first == ((3, b"0") if topic == "whole" else (5, b"2"))
        appended = produced(client, produce_request(topic, batch_of_values(b"x", now=now)))
        assert (appended.base_offset, appended.log_start_offset) == (10, 5)
        assert deleted(client, topic, -1) == (11, E.NONE)
        assert [listed(client, topic, time) for time in (-1, -2, 0)] == [11, 11, -1]
        assert fetched(client, fetch_request(topic, 11)).records in (None, b"")


def test_offsets_and_partitions_that_are_not_there_are_refused() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a", 2)
        fill(client, "a", scene.server.clock.millis(), 3)
        for offset in (4, -2, -9):
            assert deleted(client, "a", offset) == (-1, E.OFFSET_OUT_OF_RANGE)
        assert deleted(client, "a", 1, 1) == (-1, E.OFFSET_OUT_OF_RANGE)
        assert deleted(client, "a", -1, 1) == deleted(client, "a", 0, 1) == (0, E.NONE)
        for topic, partition in (("a", 2), ("a", -1), ("none", 0), ("bad name", 0), ("", 0)):
            assert deleted(client, topic, 0, partition) == (-1, E.UNKNOWN_TOPIC_OR_PARTITION)
        assert deleted(client, KAFKA_OFFSETS_TOPIC, 0) == (-1, E.UNKNOWN_TOPIC_OR_PARTITION)
        create(client, KAFKA_OFFSETS_TOPIC)


def test_records_of_topics_of_the_broker_itself_stay() -> None:
    kafka = KafkaBroker()
    kafka.ask(CreateTopicsRequest([CreatableTopic(KAFKA_OFFSETS_TOPIC, 1, 1)], 1000))
    assert deleted(kafka, KAFKA_OFFSETS_TOPIC, 0) == (-1, E.INVALID_TOPIC_EXCEPTION)
    for name in ("rmq_sys_QUEUE_STARTS", "rmq_sys_wheel_timer", "SCHEDULE_TOPIC_XXXX"):
        assert deleted(kafka, name, 0) == (-1, E.UNKNOWN_TOPIC_OR_PARTITION)


@pytest.mark.parametrize(("policy", "code"), [("compact", 44), ("compact,delete", 0), ("delete", 0)])
def test_records_of_a_topic_that_is_only_compacted_stay(policy: str, code: int) -> None:
    with kafka_scene() as scene:
        client = scene.client()
        config = CreatableTopicConfig("cleanup.policy", policy)
        client.ask(CreateTopicsRequest([CreatableTopic("a", 1, 1, [], [config])], 1000))
        fill(client, "a", scene.server.clock.millis(), 3)
        assert deleted(client, "a", 2) == (2 if code == 0 else -1, code)


def test_of_a_partition_that_is_named_twice_the_last_offset_counts() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")
        fill(client, "a", scene.server.clock.millis(), 9)
        [topic] = client.ask(deletion("a", (0, 8), (0, 6))).topics
        assert [(one.partition_index, one.low_watermark) for one in topic.partitions] == [(0, 6)]
        one, other = deletion("a", (0, 2)).topics[0], deletion("a", (0, 7)).topics[0]
        [topic] = client.ask(DeleteRecordsRequest([one, other], 1000)).topics
        assert [one.low_watermark for one in topic.partitions] == [7]
        assert not client.ask(DeleteRecordsRequest([DeleteRecordsTopic("a", [])], 1000)).topics


def test_right_to_delete_is_needed() -> None:
    kafka = KafkaBroker()
    kafka.rights.denied.add(("orders", AclOperation.DELETE))
    kafka.rights.denied.add(("unknown", AclOperation.DELETE))
    for name in ("orders", "unknown"):
        assert deleted(kafka, name, 0) == (-1, E.TOPIC_AUTHORIZATION_FAILED)
    assert deleted(kafka, "my.topic", 0) == (0, E.NONE)


def test_broker_that_is_not_the_master_deletes_nothing() -> None:
    kafka = KafkaBroker()
    become(kafka, RoleKind.SLAVE)
    assert deleted(kafka, "orders", 0) == (-1, E.NOT_LEADER_OR_FOLLOWER)
    assert not kafka.operations.gate.allows(Use.DELETE_RECORDS)


def test_answer_waits_until_the_move_is_on_disk() -> None:
    with kafka_scene(flush_disk_type=FlushDiskType.SYNC_FLUSH) as scene:
        client = scene.client()
        create(client, "a")
        fill(client, "a", scene.server.clock.millis(), 3)
        assert deleted(client, "a", 2) == (2, E.NONE)
        assert listed(client, "a", -2) == 2


def test_topic_that_is_made_again_starts_at_0() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        now = scene.server.clock.millis()
        for _ in range(2):
            create(client, "a")
            fill(client, "a", now, 3)
            assert listed(client, "a", -2) == 0
            assert deleted(client, "a", 2) == (2, E.NONE)
            client.ask(DeleteTopicsRequest([DeleteTopicState("a")], [], 1000))


def test_rocketmq_consumers_do_not_get_deleted_records() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "a")
        fill(client, "a", scene.server.clock.millis(), 3, 4)
        assert deleted(client, "a", 4) == (4, E.NONE)
        assert [message.queue_offset for message in scene.server.messages("a")] == [4, 5, 6]


@pytest.mark.parametrize("attributes", [{}, {"queue.type": "BatchCQ", "message.format": "kafka"}])
def test_pops_and_tools_of_rocketmq_begin_at_the_start(attributes: dict[str, str]) -> None:
    kafka = KafkaBroker()
    pops = kafka.operated.memory
    pops.broker.tables.topics.put(TopicConfig("a", 1, 1, attributes=attributes))
    send = kafka.operations.gate.internal(Use.SEND)
    data = batch_of_values(*[b"%d" % number for number in range(5)], now=kafka.clock.millis())
    kafka.operations.batches.append(send, "a", 0, Batch(memoryview(data)), is_all=False)
    assert deleted(kafka, "a", 3) == (3, E.NONE)
    [ends] = topic_stats(kafka.broker, "a").offset_table.values()
    assert (ends.min_offset, ends.max_offset) == (3, 5)
    popped = pops.pop(topic="a", queue_id=0)
    assert [message.offset for message in popped] == [3, 4]
    assert deleted(kafka, "a", 5) == (5, E.NONE)
    assert not pops.pop(topic="a", queue_id=0)


def test_search_by_time_skips_deleted_records_of_a_batch() -> None:
    kafka = KafkaBroker()
    batches = kafka.operations.batches
    send = kafka.operations.gate.internal(Use.SEND)
    data = batch_of_values(*[b"v"] * 5, now=kafka.clock.millis())
    batches.append(send, "orders", 0, Batch(memoryview(data)), is_all=False)
    assert deleted(kafka, "orders", 3) == (3, E.NONE)
    found: list[TimedOffset | None] = []
    query = kafka.operations.gate.internal(Use.QUERY)
    batches.at_time(query, "orders", 0, 0).addCallback(found.append)
    assert found[0] is not None and found[0].offset == 3
