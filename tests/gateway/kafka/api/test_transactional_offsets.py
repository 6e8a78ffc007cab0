"""TxnOffsetCommit: pending offsets, and what is refused, in all versions."""

from __future__ import annotations

import pytest

from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.codec.messages.init_producer_id_request import InitProducerIdRequest
from mqgateway.gateway.kafka.codec.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from mqgateway.gateway.kafka.codec.schema import NO_UUID
from tests.gateway.kafka.api.test_metadata import create
from tests.support.gateway.kafka.broker import KafkaBroker
from tests.support.gateway.kafka.client import kafka_scene
from tests.support.gateway.kafka.transactions import TxnProducer, offset_of


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("version", [1, 2])
def test_offset_counts_once_the_transaction_is_committed(version: int, commit: bool) -> None:
    with kafka_scene() as scene:
        create(scene.client(), "a")
        producer = TxnProducer(scene, version=version).begun()
        assert version == 2 or producer.add_offsets("g") == E.NONE
        assert producer.commit_offset("g", "a", 7) == E.NONE
        assert offset_of(producer.client, "g", "a") == (-1, E.UNSTABLE_OFFSET_COMMIT)
        assert offset_of(producer.client, "g", "a", stable=False) == (-1, E.NONE)
        assert producer.end(commit) == E.NONE
        scene.settle(0.2)
        assert offset_of(producer.client, "g", "a") == (7 if commit else -1, E.NONE)
        offsets = scene.operations.offsets
        assert offsets.recorded("g", "a", 0) == (7 if commit else None)


@pytest.mark.parametrize("version", range(7))
def test_offsets_are_committed_in_every_version(version: int) -> None:
    with kafka_scene() as scene:
        topic_id = create(scene.client(), "a")
        producer = TxnProducer(scene, version=1).begun()
        assert producer.add_offsets("g") == E.NONE
        by_id = version >= 6
        topic = TxnOffsetCommitRequestTopic(
            "" if by_id else "a",
            topic_id if by_id else NO_UUID,
            [TxnOffsetCommitRequestPartition(0, 3, -1, None), TxnOffsetCommitRequestPartition(5, 3, -1, "")],
        )
        request = TxnOffsetCommitRequest("t", "g", producer.producer_id, 0, topics=[topic])
        [answer] = producer.client.ask(request, version).topics
        assert (answer.name, answer.topic_id) == (topic.name, topic.topic_id)
        assert [one.error_code for one in answer.partitions] == [E.NONE, E.UNKNOWN_TOPIC_OR_PARTITION]
        assert producer.end(True) == E.NONE
        scene.settle(0.2)
        assert offset_of(producer.client, "g", "a") == (3, E.NONE)


@pytest.mark.parametrize(
    ("version", "code"), [(3, E.INVALID_TXN_STATE), (4, E.TRANSACTION_ABORTABLE), (5, E.NONE)]
)
def test_offset_without_announcement_is_refused_to_old_versions(version: int, code: E) -> None:
    with kafka_scene() as scene:
        create(scene.client(), "a")
        producer = TxnProducer(scene).begun()
        assert producer.commit_offset("g", "a", 7, version=version) == code


def test_offset_of_a_fenced_producer_or_of_a_wrong_member_is_refused() -> None:
    with kafka_scene() as scene:
        create(scene.client(), "a")
        old = TxnProducer(scene).begun()
        producer = TxnProducer(scene).begun()
        assert old.commit_offset("g", "a", 7) == E.INVALID_PRODUCER_EPOCH
        wrong = {"member_id": "m", "generation_id_or_member_epoch": 1}
        assert producer.commit_offset("g", "a", 7, **wrong) == E.ILLEGAL_GENERATION
        assert producer.commit_offset("g", "none", 7) == E.UNKNOWN_TOPIC_OR_PARTITION
        assert producer.commit_offset("g", "a", -2) == E.INVALID_REQUEST
        assert producer.commit_offset("", "a", 7) == E.INVALID_GROUP_ID
        assert producer.commit_offset("", "a", 7, **wrong) == E.ILLEGAL_GENERATION
        assert producer.commit_offset("g", "a", 7) == E.NONE


def test_offset_while_the_transaction_ends_is_to_be_sent_again() -> None:
    kafka = KafkaBroker()
    producer_id = kafka.ask(InitProducerIdRequest("t", 1000)).producer_id
    entry = kafka.service._transactions.coordinator.table.get("t")
    assert entry is not None
    entry.is_writing = True
    assert [code_of(kafka, producer_id, version) for version in (5, 4)] == [
        E.CONCURRENT_TRANSACTIONS,
        E.TRANSACTION_ABORTABLE,
    ]


def code_of(kafka: KafkaBroker, producer_id: int, version: int) -> int:
    """Commit an offset of orders; return the code."""
    topic = TxnOffsetCommitRequestTopic("orders", partitions=[TxnOffsetCommitRequestPartition(0, 3, -1, "")])
    request = TxnOffsetCommitRequest("t", "g", producer_id, 0, topics=[topic])
    [answer] = kafka.ask(request, version).topics
    return int(answer.partitions[0].error_code)


@pytest.mark.parametrize(
    ("denied", "code"),
    [
        (("t", AclOperation.WRITE), E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        (("g", AclOperation.READ), E.GROUP_AUTHORIZATION_FAILED),
        (("orders", AclOperation.READ), E.TOPIC_AUTHORIZATION_FAILED),
    ],
)
def test_id_group_and_topic_need_rights(denied: tuple[str, AclOperation], code: E) -> None:
    kafka = KafkaBroker()
    producer_id = kafka.ask(InitProducerIdRequest("t", 1000)).producer_id
    kafka.rights.denied.add(denied)
    assert code_of(kafka, producer_id, 5) == code


@pytest.mark.parametrize(
    ("version", "code"), [(1, E.COORDINATOR_NOT_AVAILABLE), (2, E.COORDINATOR_LOAD_IN_PROGRESS)]
)
def test_old_clients_do_not_know_that_groups_are_loading(version: int, code: E) -> None:
    kafka = KafkaBroker()
    producer_id = kafka.ask(InitProducerIdRequest("t", 1000)).producer_id
    kafka.coordinator.unload()
    assert code_of(kafka, producer_id, version) == code


def test_offsets_have_room_or_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    kafka = KafkaBroker()
    producer_id = kafka.ask(InitProducerIdRequest("t", 1000)).producer_id
    monkeypatch.setattr(kafka.coordinator.commits, "has_room", lambda _: False)
    assert code_of(kafka, producer_id, 5) == E.COORDINATOR_NOT_AVAILABLE
