"""Dead letters over a broker: their records, their topics, and what cannot be written."""

from __future__ import annotations

import pytest

from mqgateway.engine.record_batches.compression import CompressionType
from mqgateway.engine.record_batches.records import Record
from mqgateway.gateway.kafka.api.configs import SET, TOPIC_RESOURCE
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
from mqgateway.gateway.kafka.codec.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from mqgateway.gateway.kafka.dead_letters import ATTEMPTS, TOGETHER, DeadLetterWriter
from mqgateway.gateway.kafka.share_groups.settings import ShareGroupSettings
from mqgateway.gateway.kafka.share_partitions.dead_letters import REJECTED, DeadLetters
from mqgateway.gateway.kafka.share_partitions.partition import REJECT, RELEASE
from mqgateway.gateway.kafka.share_partitions.records import ShareKey
from mqgateway.gateway.kafka.topics import Topics
from tests.gateway.kafka.api.test_metadata import create
from tests.gateway.kafka.api.test_share_fetch import acquired, fill, share_fetch, share_scene
from tests.support.gateway.kafka.client import KafkaClient, KafkaScene
from tests.support.gateway.kafka.requests import (
    batch_of_values,
    batches_in,
    fetch_request,
    fetched,
    produce_request,
    produced,
)

TARGET = "dlq.a"


def create_target(client: KafkaClient, name: str = TARGET, partitions: int = 1, **configs: str) -> None:
    """Create a topic for dead letters; `configs` are its settings, whose dots are underscores."""
    values = {"errors_deadletterqueue_group_enable": "true", **configs}
    wanted = [CreatableTopicConfig(key.replace("_", "."), value) for key, value in values.items()]
    [result] = client.ask(CreateTopicsRequest([CreatableTopic(name, partitions, -1, configs=wanted)])).topics
    assert result.error_code == 0, result


def reject(scene: KafkaScene, client: KafkaClient, topic_id: bytes, first: int, last: int) -> None:
    """Acquire the records of topic `a`, and reject some of them."""
    assert acquired(client.ask(share_fetch(topic_id)))
    client.ask(share_fetch(topic_id, 1, (first, last, REJECT), records=0))
    scene.settle(0.1)


def dead(client: KafkaClient, name: str = TARGET, partition: int = 0) -> list[Record]:
    """Return the records of a topic of dead letters."""
    found = fetched(client, fetch_request(name, 0, partition=partition))
    return [record for batch in batches_in(found) for record in batch.records()]


def origins(records: list[Record]) -> list[int]:
    """Return the offsets of the original records."""
    return [int(bytes(dict(record.headers)["__dlq.errors.offset"] or b"")) for record in records]


def contents(records: list[Record]) -> list[tuple[bytes | None, bytes | None]]:
    """Return keys and values."""
    return [
        (None if one.key is None else bytes(one.key), None if one.value is None else bytes(one.value))
        for one in records
    ]


def start_of_group(scene: KafkaScene) -> int:
    """Return the offset before which the group is done."""
    [offset] = scene.shares.describe("g").values()
    return offset.start_offset


def test_rejected_records_become_dead_letters_with_headers_only() -> None:
    with share_scene(dead_letter_topic=TARGET) as scene:
        client = scene.client()
        topic_id = create(client, "a")
        create_target(client)
        fill(scene, client, 4)
        reject(scene, client, topic_id, 0, 2)
        records = dead(client)
        assert contents(records) == [(None, None)] * 3
        names = ["topic", "partition", "offset", "group", "delivery.count", "message"]
        values = [b"a", b"0", b"1", b"g", b"1", b"Offset rejected by client."]
        assert [(name, bytes(value or b"")) for name, value in records[1].headers] == [
            (f"__dlq.errors.{name}", value) for name, value in zip(names, values, strict=True)
        ]
        [batch] = batches_in(fetched(client, fetch_request(TARGET, 0)))
        assert abs(batch.base_timestamp - scene.server.clock.millis()) < 1000
        assert start_of_group(scene) == 3


def test_records_that_were_delivered_too_often_become_dead_letters() -> None:
    with share_scene(dead_letter_topic=TARGET, delivery_count_limit=2) as scene:
        client = scene.client()
        topic_id = create(client, "a")
        create_target(client)
        fill(scene, client, 1)
        for epoch in (0, 2):
            assert acquired(client.ask(share_fetch(topic_id, epoch)))
            client.ask(share_fetch(topic_id, epoch + 1, (0, 0, RELEASE), records=0))
        scene.settle(0.1)
        [record] = dead(client)
        headers = {name: bytes(value or b"") for name, value in record.headers}
        assert headers["__dlq.errors.delivery.count"] == b"2"
        assert headers["__dlq.errors.message"] == b"Offset delivery count exceeded the threshold."
        assert start_of_group(scene) == 1


@pytest.mark.parametrize("compression", [CompressionType.NONE, CompressionType.GZIP])
def test_dead_letters_have_key_and_value_if_the_group_wants_them(compression: CompressionType) -> None:
    with share_scene(dead_letter_topic=TARGET, copies_dead_letters=True) as scene:
        client = scene.client()
        topic_id = create(client, "a")
        create_target(client)
        data = batch_of_values(b"x", b"y", b"z", now=scene.server.clock.millis(), compression=compression)
        assert produced(client, produce_request("a", data)).error_code == 0
        reject(scene, client, topic_id, 1, 2)
        assert contents(dead(client)) == [(b"k", b"y"), (b"k", b"z")]


def test_original_that_was_deleted_or_is_too_large_leaves_headers() -> None:
    with share_scene(dead_letter_topic=TARGET, copies_dead_letters=True) as scene:
        client = scene.client()
        topic_id = create(client, "a")
        create_target(client, max_message_bytes="600")
        for value in (b"deleted", b"x" * 600, b"y" * 300, b"z" * 300):
            data = batch_of_values(value, now=scene.server.clock.millis())
            assert produced(client, produce_request("a", data)).error_code == 0
        assert acquired(client.ask(share_fetch(topic_id))) == [(0, 3, 1)]
        client.ask(DeleteRecordsRequest([DeleteRecordsTopic("a", [DeleteRecordsPartition(0, 1)])], 1000))
        client.ask(share_fetch(topic_id, 1, (0, 3, REJECT), records=0))
        scene.settle(0.2)
        records = dead(client)
        assert origins(records) == [0, 1, 2, 3]
        assert contents(records)[2:] == [(b"k", b"y" * 300), (b"k", b"z" * 300)]
        assert contents(records)[:2] == [(None, None)] * 2
        assert len(batches_in(fetched(client, fetch_request(TARGET, 0)))) > 1


def test_partition_is_that_of_the_record_as_far_as_there_are_so_many() -> None:
    with share_scene(dead_letter_topic=TARGET) as scene:
        client = scene.client()
        topic_id = create(client, "a", 6)
        create_target(client, partitions=4)
        fill(scene, client, 1, partition=5)
        assert acquired(client.ask(share_fetch(topic_id, partition=5)))
        client.ask(share_fetch(topic_id, 1, (0, 0, REJECT), partition=5, records=0))
        scene.settle(0.1)
        assert origins(dead(client, partition=1)) == [0]


def test_dead_letters_reach_a_topic_of_rocketmq() -> None:
    with share_scene(dead_letter_topic="dead") as scene:
        scene.operations.options.kafka_dead_letter_topic_prefix = ""
        client = scene.client()
        topic_id = create(client, "a")
        attributes = {"kafka.errors.deadletterqueue.group.enable": "true"}
        scene.server.create_topic("dead", queues=1, attributes=attributes)
        fill(scene, client, 1)
        reject(scene, client, topic_id, 0, 0)
        assert origins(dead(client, "dead")) == [0]


@pytest.mark.parametrize(
    ("name", "configs", "text"),
    [
        ("dlq.missing", {}, "topic dlq.missing does not exist"),
        ("other", {}, "does not begin with dlq."),
        (TARGET, {"errors_deadletterqueue_group_enable": "false"}, "does not have"),
        (TARGET, {"cleanup_policy": "compact"}, "One or more records have been rejected"),
    ],
)
def test_dead_letters_that_cannot_be_written_are_logged_and_archived(
    name: str, configs: dict[str, str], text: str, caplog: pytest.LogCaptureFixture
) -> None:
    with share_scene(dead_letter_topic=name) as scene:
        client = scene.client()
        topic_id = create(client, "a")
        create_target(client, **configs)
        fill(scene, client, 1)
        reject(scene, client, topic_id, 0, 0)
        assert text in caplog.text
        assert start_of_group(scene) == 1
        assert dead(client) == []


def test_missing_topic_is_made_if_the_broker_may() -> None:
    with share_scene(dead_letter_topic="dlq.made") as scene:
        scene.operations.options.kafka_dead_letter_topic_auto_create = True
        client = scene.client()
        topic_id = create(client, "a")
        fill(scene, client, 1)
        reject(scene, client, topic_id, 0, 0)
        assert origins(dead(client, "dlq.made")) == [0]


def test_batch_that_the_store_refuses_is_tried_again() -> None:
    with share_scene(dead_letter_topic=TARGET) as scene:
        client = scene.client()
        topic_id = create(client, "a")
        create_target(client, min_insync_replicas="2")
        fill(scene, client, 1)
        reject(scene, client, topic_id, 0, 0)
        scene.settle(2)
        assert start_of_group(scene) == 0
        change = AlterableConfig("min.insync.replicas", SET, "1")
        resource = AlterConfigsResource(TOPIC_RESOURCE, TARGET, [change])
        client.ask(IncrementalAlterConfigsRequest([resource], False))
        scene.settle(5)
        assert start_of_group(scene) == 1
        assert origins(dead(client)) == [0]


def test_batch_that_is_always_refused_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    with share_scene(dead_letter_topic=TARGET) as scene:
        client = scene.client()
        topic_id = create(client, "a")
        create_target(client, min_insync_replicas="2")
        fill(scene, client, 1)
        reject(scene, client, topic_id, 0, 0)
        scene.settle(16)
        assert "1 dead letters of share group g cannot be written" in caplog.text
        assert start_of_group(scene) == 1


def test_refused_dead_letters_of_thousands_of_partitions_end_in_turn() -> None:
    """They wait for others that are tried again, and end as soon as it is their turn."""
    with share_scene() as scene:
        client = scene.client()
        topic_id = create(client, "a")
        create_target(client, min_insync_replicas="2")
        settings = ShareGroupSettings(dead_letter_topic=TARGET)
        writer = DeadLetterWriter(scene.operations, Topics(scene.operations), lambda _: settings)
        letters, ended = [DeadLetters(0, 0, 1, REJECTED)], list[None]()
        for number in range(TOGETHER):
            writer.write(ShareKey("g", topic_id, number), letters).addCallback(ended.append)
        for number in range(3000):
            writer.write(ShareKey("g", bytes(16), number), letters).addCallback(ended.append)
        for _ in range(ATTEMPTS - 1):
            assert not ended
            scene.settle(8)
            writer.tick()
        assert len(ended) == TOGETHER + 3000
