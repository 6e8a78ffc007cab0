"""The queue of groups and offsets in a broker's store: restarts, kills, and broken rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.message import KAFKA_OFFSETS_TOPIC
from mqgateway.engine.record_batches.batches import Batch, build_batch
from mqgateway.engine.record_batches.records import Record
from mqgateway.engine.store.results import GetResult, GetStatus
from mqgateway.gateway.broker.operations import OperationError, Reason, Use
from mqgateway.gateway.kafka import coordinator_queue
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.codec.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from mqgateway.gateway.kafka.codec.messages.describe_groups_request import DescribeGroupsRequest
from mqgateway.gateway.kafka.codec.messages.heartbeat_request import HeartbeatRequest
from mqgateway.gateway.kafka.codec.messages.join_group_request import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
)
from mqgateway.gateway.kafka.codec.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from mqgateway.gateway.kafka.codec.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from mqgateway.gateway.kafka.codec.messages.sync_group_request import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from mqgateway.gateway.kafka.coordinator_queue import CoordinatorQueue
from mqgateway.gateway.kafka.coordinator_topic import NotReadable, Span
from tests.support.gateway.broker.cold import ColdStore
from tests.support.gateway.kafka.broker import KafkaBroker
from tests.support.gateway.kafka.client import KafkaClient, KafkaScene, kafka_scene


def batch(*keys: bytes) -> bytearray:
    """Return a batch of records."""
    records = [Record(key, b"v", offset_delta=delta) for delta, key in enumerate(keys)]
    return build_batch(records, base_timestamp=7)


def keys(spans: Sequence[Span] | Deferred[Sequence[Span]]) -> list[bytes]:
    """Return the keys of records that could be read at once."""
    assert not isinstance(spans, Deferred)
    return [bytes(one.key or b"") for span in spans for one in Batch(memoryview(span)).records()]


def test_first_append_makes_the_topic_and_batches_are_read_from_any_offset() -> None:
    kafka = KafkaBroker()
    queue = CoordinatorQueue(kafka.operations, KAFKA_OFFSETS_TOPIC)
    assert (queue.start(), queue.read(0)) == (0, ())
    assert queue.append(batch(b"a", b"b")) == 0
    topic = kafka.topics.find(KAFKA_OFFSETS_TOPIC)
    assert topic is not None and topic.is_internal and topic.keeps_batches
    assert (topic.partitions, topic.setting("cleanup.policy")) == (1, "compact")
    assert queue.append(batch(b"c")) == 2
    assert keys(queue.read(0)) == [b"a", b"b", b"c"]
    assert keys(queue.read(2)) == [b"c"]
    assert keys(queue.read(3)) == []


def test_released_records_are_gone_once_there_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    kafka = KafkaBroker()
    queue = CoordinatorQueue(kafka.operations, KAFKA_OFFSETS_TOPIC)
    for key in (b"a", b"b", b"c", b"d"):
        queue.append(batch(key))
    queue.release(3)
    assert queue.start() == 0
    monkeypatch.setattr(coordinator_queue, "RELEASED_TOGETHER", 2)
    queue.release(1)
    assert queue.start() == 0
    queue.release(3)
    assert queue.start() == 3 and keys(queue.read(3)) == [b"d"]


def test_release_that_the_log_refuses_is_made_good_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinator_queue, "RELEASED_TOGETHER", 1)
    kafka = KafkaBroker()
    queue = CoordinatorQueue(kafka.operations, KAFKA_OFFSETS_TOPIC)
    for key in (b"a", b"b", b"c"):
        queue.append(batch(key))
    monkeypatch.setattr(type(kafka.broker.store), "refusal", "the disk is full")
    queue.release(1)
    assert queue.start() == 0
    monkeypatch.undo()
    monkeypatch.setattr(coordinator_queue, "RELEASED_TOGETHER", 1)
    queue.release(2)
    assert queue.start() == 2


def test_queue_that_cannot_be_read_to_its_end_is_not_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    kafka = KafkaBroker()
    queue = CoordinatorQueue(kafka.operations, KAFKA_OFFSETS_TOPIC)
    queue.append(batch(b"a"))
    monkeypatch.setattr(kafka.broker.store, "readable_end", lambda *_: 0)
    nothing = GetResult(GetStatus.OFFSET_OVERFLOW_ONE, 0, 0, 1)
    monkeypatch.setattr(kafka.broker.store, "get", lambda *_, **__: nothing)
    with pytest.raises(NotReadable, match="enough replicas"):
        queue.read(0)
    monkeypatch.setattr(kafka.broker.store, "min_offset", lambda *_: 1)
    with pytest.raises(NotReadable, match="before offset 1 were removed"):
        queue.read(0)
    config = kafka.operations.topics.known(KAFKA_OFFSETS_TOPIC)
    kafka.broker.tables.topics.put(replace(config, perm=2))
    with pytest.raises(OperationError):
        queue.read(0)


def test_clients_of_rocketmq_cannot_send_to_the_topic() -> None:
    kafka = KafkaBroker()
    CoordinatorQueue(kafka.operations, KAFKA_OFFSETS_TOPIC).append(batch(b"a"))
    with pytest.raises(OperationError, match="forbidden") as refused:
        kafka.operated.send(b"forged", topic=KAFKA_OFFSETS_TOPIC)
    assert refused.value.reason is Reason.NO_PERMISSION
    with pytest.raises(OperationError, match="forbidden"):
        forged = Batch(memoryview(batch(b"forged")))
        permit = kafka.operated.permit(Use.SEND)
        kafka.operations.batches.append(permit, KAFKA_OFFSETS_TOPIC, 0, forged, is_all=True)


def join(member_id: str = "") -> JoinGroupRequest:
    """Return the request of a static member to join."""
    protocols = (JoinGroupRequestProtocol("range", b"x"),)
    return JoinGroupRequest("g", 60_000, 60_000, member_id, "static", "consumer", protocols)


def member(scene: KafkaScene, client: KafkaClient) -> str:
    """Bring group g to a generation with one static member; return its id."""
    request = join()
    client.write(client.frame(request, 9))
    joined = client.decoded(request, client.frames(1, 15)[0], 9)
    assert (joined.error_code, joined.leader) == (E.NONE, joined.member_id)
    brought = (SyncGroupRequestAssignment(joined.member_id, b"mine"),)
    synced = client.ask(
        SyncGroupRequest("g", joined.generation_id, joined.member_id, "static", "consumer", "range", brought)
    )
    assert synced.error_code == E.NONE
    member_id: str = joined.member_id
    return member_id


def commit(client: KafkaClient, member_id: str, offset: int) -> int:
    """Commit an offset of partition 1 of orders by version 9; return the code."""
    partitions = (OffsetCommitRequestPartition(1, offset, 5, "note"),)
    topics = (OffsetCommitRequestTopic("orders", partitions=partitions),)
    answer = client.ask(OffsetCommitRequest("g", 1, member_id, "static", topics=topics), 9)
    code: int = answer.topics[0].partitions[0].error_code
    return code


def committed(client: KafkaClient) -> tuple[int, int, str]:
    """Return offset, leader epoch and metadata of partition 1 of orders."""
    topics = (OffsetFetchRequestTopics("orders", partition_indexes=(1,)),)
    [group] = client.ask(OffsetFetchRequest(groups=(OffsetFetchRequestGroup("g", topics=topics),)), 9).groups
    assert group.error_code == E.NONE
    [one] = group.topics[0].partitions
    return one.committed_offset, one.committed_leader_epoch, one.metadata


def reconnected(scene: KafkaScene) -> KafkaClient:
    """Return a client of a server that was started again, whose groups are read."""
    scene.port = int(scene.server.endpoint("kafka").rpartition(":")[2])
    client = scene.client()
    scene.settle(0.5)
    return client


@pytest.mark.parametrize("is_killed", [False, True])
def test_groups_and_offsets_survive_a_restart(is_killed: bool) -> None:
    with kafka_scene() as scene:
        client = scene.client()
        client.ask(CreateTopicsRequest(topics=(CreatableTopic("orders", 4, 1),)), seconds=10)
        member_id = member(scene, client)
        for offset in range(3):
            assert commit(client, member_id, offset) == E.NONE
        if is_killed:
            scene.server.kill()
        scene.server.restart()
        client = reconnected(scene)
        assert committed(client) == (2, 5, "note")
        [described] = client.ask(DescribeGroupsRequest(("g",)), 5).groups
        [shown] = described.members
        assert described.group_state == "Stable"
        assert (shown.member_id, shown.group_instance_id, shown.member_assignment) == (
            member_id,
            "static",
            b"mine",
        )
        assert client.ask(HeartbeatRequest("g", 1, member_id, "static")).error_code == E.NONE
        assert commit(client, member_id, 9) == E.NONE
        again = join()
        client.write(client.frame(again, 9))
        answer = client.decoded(again, client.frames(1, 15)[0], 9)
        assert (answer.error_code, answer.generation_id) == (E.NONE, 1)


def test_group_of_many_records_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mqgateway.gateway.kafka.coordinator_queue.READ_BYTES", 2000)
    with kafka_scene() as scene:
        client = scene.client()
        client.ask(CreateTopicsRequest(topics=(CreatableTopic("orders", 4, 1),)), seconds=10)
        member_id = member(scene, client)
        for offset in range(60):
            assert commit(client, member_id, offset) == E.NONE
        scene.server.kill()
        scene.server.restart()
        assert committed(reconnected(scene)) == (59, 5, "note")


def test_cold_records_are_brought_by_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    kafka = KafkaBroker()
    queue = CoordinatorQueue(kafka.operations, KAFKA_OFFSETS_TOPIC)
    queue.append(batch(b"a"))
    cold = ColdStore(kafka.broker.store, monkeypatch, 1)
    outcome = queue.read(0)
    assert isinstance(outcome, Deferred)
    spans: list[Any] = []
    outcome.addCallback(spans.extend)
    assert not spans and cold.bring() == 1
    assert keys(spans) == [b"a"]
