"""Compacted topics over a broker: what clients of both protocols read once the log's files have expired."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.engine.record_batches.batches import build_batch
from mqgateway.engine.record_batches.records import Record
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
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
from mqgateway.gateway.kafka.codec.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from tests.support.gateway.kafka.broker import KafkaBroker
from tests.support.gateway.kafka.client import KafkaClient, KafkaScene, kafka_scene
from tests.support.gateway.kafka.requests import (
    batches_in,
    fetch_request,
    fetched,
    produce_request,
    produced,
)

Row = tuple[bytes, bytes | None]
LOG = {
    "mapped_file_size_commit_log": 4096,
    "file_reserved_time": 4,
    "delete_when": ";".join(f"{hour:02}" for hour in range(24)),
}
"""Small files of the log, which are deleted at any hour once they are four hours old."""
HOUR = 3600
BY_NAME = 9
"""A version of Produce, in which topics have names."""
LATEST, EARLIEST, LARGEST = -1, -2, -3


def create(client: KafkaClient, policy: str = "compact", **more: str) -> None:
    """Create the topic `t`, whose batches are compacted soon."""
    settings = {
        "cleanup.policy": policy,
        "min.cleanable.dirty.ratio": "0",
        "segment.ms": "1",
        **{name.replace("_", "."): value for name, value in more.items()},
    }
    configs = [CreatableTopicConfig(name, value) for name, value in settings.items()]
    answer = client.ask(CreateTopicsRequest([CreatableTopic("t", 1, 1, configs=configs)], 1000))
    assert answer.topics[0].error_code == ErrorCode.NONE, answer


def produce(scene: KafkaScene, client: KafkaClient, *rows: Row) -> None:
    """Produce a batch, and let so much time pass that it becomes a segment of its own."""
    now = scene.server.clock.millis()
    records = [Record(key, value, (), 0, number) for number, (key, value) in enumerate(rows)]
    data = build_batch(records, base_timestamp=now)
    assert produced(client, produce_request("t", data)).error_code == ErrorCode.NONE
    scene.settle(0.05)


def read(client: KafkaClient) -> list[tuple[int, bytes, bytes | None]]:
    """Return offset, key and value of all records, read from the earliest offset on."""
    offset, found = listed(client, EARLIEST)[0], []
    while True:
        batches = batches_in(fetched(client, fetch_request("t", offset)))
        if not batches:
            return found
        for batch in batches:
            for record in batch.records():
                value = None if record.value is None else bytes(record.value)
                found.append((batch.base_offset + record.offset_delta, bytes(record.key or b""), value))
            offset = batch.last_offset + 1


def listed(client: KafkaClient, timestamp: int) -> tuple[int, int]:
    """Return an offset, and its timestamp."""
    wanted = [ListOffsetsPartition(0, timestamp=timestamp)]
    [found] = client.ask(ListOffsetsRequest(-1, 0, [ListOffsetsTopic("t", wanted)])).topics
    [partition] = found.partitions
    assert partition.error_code == ErrorCode.NONE
    return int(partition.offset), int(partition.timestamp)


def expire(scene: KafkaScene) -> None:
    """Let the log's files become as old as they may."""
    for _ in range(6):
        scene.server.advance(HOUR)
        scene.settle(20)


def fill(scene: KafkaScene, client: KafkaClient) -> int:
    """Produce old values, and many of one key behind them; return the timestamp of the second batch."""
    produce(scene, client, (b"a", b"1"), (b"b", b"1"))
    second = scene.server.clock.millis()
    produce(scene, client, (b"b", b"2"))
    for number in range(60):
        produce(scene, client, (b"c", b"%d" % number))
    return second


def log_start(scene: KafkaScene) -> int:
    return scene.server.broker.store.min_physical_offset


def test_newest_values_outlive_the_files_of_the_log() -> None:
    with kafka_scene(**LOG) as scene:
        client = scene.client()
        create(client)
        fill(scene, client)
        expire(scene)
        assert log_start(scene) > 4096
        kept = [(0, b"a", b"1"), (2, b"b", b"2"), (62, b"c", b"59")]
        assert read(client) == kept
        assert [(one.queue_offset, one.body) for one in scene.server.messages("t")] == [
            (0, b"1"),
            (2, b"2"),
            (62, b"59"),
        ]
        scene.server.restart()
        client = scene.client()
        assert read(client) == kept
        produce(scene, client, (b"a", b"new"))
        assert read(client) == [*kept, (63, b"a", b"new")]


def test_offsets_are_listed_of_what_is_left() -> None:
    with kafka_scene(**LOG) as scene:
        client = scene.client()
        create(client)
        second = fill(scene, client)
        newest = scene.server.clock.millis()
        expire(scene)
        assert (listed(client, EARLIEST)[0], listed(client, LATEST)[0]) == (0, 63)
        assert listed(client, second) == (2, second)
        assert listed(client, second + 1)[0] == 62
        assert listed(client, newest + 1) == (-1, -1)
        assert listed(client, LARGEST)[0] == 62


def test_records_of_a_topic_that_deletes_too_expire() -> None:
    with kafka_scene(**LOG, topic_retention_check_interval=10_000) as scene:
        client = scene.client()
        create(client, "compact,delete", retention_ms=str(24 * HOUR * 1000))
        fill(scene, client)
        expire(scene)
        assert log_start(scene) > 4096 and len(read(client)) == 3
        scene.server.advance(20 * HOUR)
        scene.settle(20)
        assert read(client) == [] and listed(client, EARLIEST)[0] == 63


@pytest.mark.parametrize(
    ("policy", "error"), [("compact", ErrorCode.POLICY_VIOLATION), ("compact,delete", 0)]
)
def test_records_are_deleted_where_the_policy_deletes(policy: str, error: int) -> None:
    with kafka_scene(**LOG) as scene:
        client = scene.client()
        create(client, policy)
        fill(scene, client)
        expire(scene)
        partitions = [DeleteRecordsPartition(0, 2)]
        request = DeleteRecordsRequest([DeleteRecordsTopic("t", partitions)], 1000)
        [[result]] = [one.partitions for one in client.ask(request).topics]
        assert result.error_code == error
        expected: list[Any] = [(2, b"b", b"2"), (62, b"c", b"59")]
        assert read(client) == (expected if not error else [(0, b"a", b"1"), *expected])


def test_pop_takes_what_is_left() -> None:
    broker = KafkaBroker()
    configs = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0", "segment.ms": "1"}
    wanted = [CreatableTopicConfig(name, value) for name, value in configs.items()]
    broker.ask(CreateTopicsRequest([CreatableTopic("t", 1, 1, configs=wanted)], 1000))
    memory = broker.operated.memory
    for number in range(12):
        records = [Record(b"k%d" % (number % 3), b"%d" % number, (), 0, 0)]
        data = build_batch(records, base_timestamp=memory.clock.millis())
        [answer] = broker.send(produce_request("t", data), BY_NAME)
        assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE
        memory.wait(10)
    for _ in range(3):
        memory.wait(15_000)
    assert broker.broker.compaction.compacted == 1
    taken: list[tuple[int, bytes]] = []
    for _ in range(3):
        popped = memory.pop(topic="t", consumer_group="G", max_msg_nums=32, init_mode=0)
        taken += [(one.offset, one.body) for one in popped]
        assert all(memory.ack(one._replace(topic="t")).code == 0 for one in popped)
    assert taken == [(8, b"8"), (9, b"9"), (10, b"10"), (11, b"11")]
    memory.wait(120_000)
    assert memory.pop(topic="t", consumer_group="G", max_msg_nums=32, init_mode=0) == []
