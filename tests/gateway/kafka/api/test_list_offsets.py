"""Offsets of ends, of times and of leader epochs as Kafka clients look them up."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.engine.record_batches.batches import build_batch
from mqgateway.engine.record_batches.compression import CompressionType
from mqgateway.engine.record_batches.records import Record
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from mqgateway.gateway.kafka.codec.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from mqgateway.gateway.kafka.codec.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from tests.gateway.kafka.api.test_metadata import create
from tests.support.gateway.kafka.broker import KafkaBroker
from tests.support.gateway.kafka.client import KafkaClient, kafka_scene
from tests.support.gateway.kafka.requests import end_transaction, in_transaction

BASE = 1_600_000_000_000
NONE = (0, -1, -1, -1)
LATEST, EARLIEST, LARGEST, LOCAL, TIERED, PENDING = -1, -2, -3, -4, -5, -6


def produce(client: KafkaClient, *times: int, topic: str = "t", **more: Any) -> None:
    """Produce a batch of records with these timestamps into partition 0."""
    records = [Record(b"k", b"v", (), time - times[0], index) for index, time in enumerate(times)]
    data = bytes(build_batch(records, base_timestamp=times[0], **more))
    wanted = [TopicProduceData(name=topic, partition_data=[PartitionProduceData(0, data)])]
    [answer] = client.ask(ProduceRequest(None, -1, 5000, wanted), 9).responses
    assert answer.partition_responses[0].error_code == 0, answer.partition_responses


def asked(*partitions: ListOffsetsPartition, topic: str = "t", isolation: int = 0) -> ListOffsetsRequest:
    """Return a request for partitions of one topic."""
    return ListOffsetsRequest(-1, isolation, [ListOffsetsTopic(topic, partitions)], 1000)


def parts(answer: Any) -> dict[str, list[tuple[int, ...]]]:
    """Return what an answer has of each partition: error, timestamp, offset, leader epoch."""
    return {
        topic.name: [
            (one.error_code, one.timestamp, one.offset, one.leader_epoch) for one in topic.partitions
        ]
        for topic in answer.topics
    }


def looked_up(
    client: KafkaClient,
    timestamp: int,
    version: int | None = None,
    *,
    topic: str = "t",
    partition: int = 0,
    epoch: int = -1,
    isolation: int = 0,
) -> tuple[int, ...]:
    """Return error, timestamp, offset and leader epoch for one partition."""
    request = asked(ListOffsetsPartition(partition, epoch, timestamp), topic=topic, isolation=isolation)
    [found] = parts(client.ask(request, version))[topic]
    return found


def test_special_timestamps_of_an_empty_partition_give_its_ends() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "t")
        for timestamp in (LATEST, EARLIEST, LOCAL):
            assert looked_up(client, timestamp) == (0, -1, 0, 0)
        for timestamp in (LARGEST, TIERED, PENDING, 0, BASE):
            assert looked_up(client, timestamp) == NONE


def test_special_timestamps_give_ends_and_the_largest_timestamp() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "t")
        produce(client, BASE, BASE + 5, BASE + 2)
        produce(client, BASE - 100, BASE - 50)
        produce(client, BASE + 5, BASE + 3)
        assert looked_up(client, LATEST) == (0, -1, 7, 0)
        assert looked_up(client, LATEST, isolation=1) == (0, -1, 7, 0)
        assert looked_up(client, EARLIEST) == looked_up(client, LOCAL) == (0, -1, 0, 0)
        assert looked_up(client, LARGEST) == (0, BASE + 5, 1, 0)
        assert looked_up(client, TIERED) == looked_up(client, PENDING) == NONE
        assert looked_up(client, -7) == (ErrorCode.UNSUPPORTED_VERSION, -1, -1, -1)


@pytest.mark.parametrize("version", range(1, 12))
def test_special_timestamp_in_a_version_that_is_older_is_unsupported(version: int) -> None:
    since = {LATEST: 1, EARLIEST: 1, LARGEST: 7, LOCAL: 8, TIERED: 9, PENDING: 11}
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "t")
        produce(client, BASE)
        for timestamp, first in since.items():
            code = ErrorCode.NONE if version >= first else ErrorCode.UNSUPPORTED_VERSION
            assert looked_up(client, timestamp, version)[0] == code
        epoch = 0 if version >= 4 else -1
        assert looked_up(client, BASE, version) == (0, BASE, 0, epoch)


def test_time_gives_the_first_record_that_is_not_earlier() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "t")
        produce(client, BASE, BASE + 5, BASE + 2)
        produce(client, BASE - 100, BASE + 9, BASE - 50, compression=CompressionType.GZIP)
        assert looked_up(client, 0) == looked_up(client, BASE - 100) == (0, BASE, 0, 0)
        assert looked_up(client, BASE + 1) == looked_up(client, BASE + 5) == (0, BASE + 5, 1, 0)
        assert looked_up(client, BASE + 6) == (0, BASE + 9, 4, 0)
        assert looked_up(client, BASE + 10) == NONE


def test_times_of_messages_of_rocketmq_are_their_born_timestamps() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        scene.server.create_topic("R", queues=1)
        produce(client, BASE, BASE + 5, topic="R")
        produce(client, BASE + 3, topic="R")
        assert looked_up(client, BASE + 1, topic="R") == (0, BASE + 5, 1, 0)
        assert looked_up(client, LARGEST, topic="R") == (0, BASE + 5, 1, 0)
        assert looked_up(client, BASE + 6, topic="R") == NONE


def test_wrong_partitions_and_epochs_are_errors_of_their_partition() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "t", 2)
        unknown = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1, -1)
        for timestamp in (LATEST, LARGEST, BASE):
            assert looked_up(client, timestamp, partition=2) == unknown
            assert looked_up(client, timestamp, partition=-1) == unknown
            assert looked_up(client, timestamp, topic="gone") == unknown
            assert looked_up(client, timestamp, topic="a b") == unknown
            assert looked_up(client, timestamp, epoch=1)[0] == ErrorCode.UNKNOWN_LEADER_EPOCH
            assert looked_up(client, timestamp, epoch=-2)[0] == ErrorCode.FENCED_LEADER_EPOCH
        assert looked_up(client, LATEST, epoch=0) == (0, -1, 0, 0)


def test_repeated_partition_is_an_invalid_request_and_answered_once() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "t", 2)
        first, other = ListOffsetsPartition(0, -1, LATEST), ListOffsetsPartition(1, -1, LATEST)
        topics = [ListOffsetsTopic("t", [first, other]), ListOffsetsTopic("t", [first])]
        answer = client.ask(ListOffsetsRequest(-1, 0, topics, 1000))
        assert parts(answer) == {"t": [(ErrorCode.INVALID_REQUEST, -1, -1, -1), (0, -1, 0, 0)]}


def test_topics_that_a_client_may_not_see_are_denied() -> None:
    broker = KafkaBroker()
    broker.rights.denied = {
        ("orders", action) for action in (AclOperation.DESCRIBE, AclOperation.READ, AclOperation.WRITE)
    }
    denied = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, -1, -1, -1)
    partition = ListOffsetsPartition(0, -1, LATEST)
    assert parts(broker.ask(asked(partition, topic="orders"))) == {"orders": [denied]}
    assert parts(broker.ask(asked(partition, topic="my.topic"))) == {"my.topic": [(0, -1, 0, 0)]}
    topics = [OffsetForLeaderTopic("orders", [OffsetForLeaderPartition(0, -1, 0)])]
    [result] = broker.ask(OffsetForLeaderEpochRequest(-1, topics)).topics
    assert result.partitions[0].error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_client_that_leaves_during_a_search_ends_it() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "t")
        for _ in range(3):
            produce(client, BASE)
        client.write(client.frame(asked(ListOffsetsPartition(0, -1, BASE + 1))))
        client.transport.loseConnection()
        scene.settle(1)
        assert looked_up(scene.client(), LARGEST) == (0, BASE, 0, 0)


@pytest.mark.parametrize("version", [2, 3, 4])
def test_end_of_the_leader_epoch_is_the_end_of_the_partition(version: int) -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "t")
        produce(client, BASE, BASE)

        def end(epoch: int, current: int = -1, topic: str = "t", partition: int = 0) -> tuple[int, ...]:
            wanted = OffsetForLeaderPartition(partition, current, epoch)
            request = OffsetForLeaderEpochRequest(-1, [OffsetForLeaderTopic(topic, [wanted])])
            [[one]] = [result.partitions for result in client.ask(request, version).topics]
            return one.error_code, one.leader_epoch, one.end_offset

        assert end(0) == end(0, current=0) == (0, 0, 2)
        assert end(-1) == end(1) == (0, -1, -1)
        assert end(0, current=1) == (ErrorCode.UNKNOWN_LEADER_EPOCH, -1, -1)
        assert end(0, current=-2) == (ErrorCode.FENCED_LEADER_EPOCH, -1, -1)
        assert end(0, topic="gone") == end(0, partition=1)
        assert end(0, topic="gone") == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)


def test_readers_of_committed_records_are_sent_no_further_than_the_last_stable_offset() -> None:
    with kafka_scene() as scene:
        client = scene.client()
        create(client, "t")
        produce(client, BASE)
        in_transaction(scene, client, 7, b"x", topic="t")
        wanted = [ListOffsetsPartition(0, -1, LATEST)], [ListOffsetsPartition(0, -1, BASE + 1)]
        larger = [ListOffsetsPartition(0, -1, LARGEST)]

        def offsets(isolation: int) -> list[int]:
            return [
                parts(client.ask(asked(*one, isolation=isolation)))["t"][0][2] for one in (*wanted, larger)
            ]

        assert offsets(0) == [2, 1, 1] and offsets(1) == [1, -1, -1]
        end_transaction(scene, 7, is_commit=True, topic="t")
        assert offsets(1)[:2] == [3, 1]
