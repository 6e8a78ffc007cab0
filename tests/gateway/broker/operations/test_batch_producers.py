"""Transactions of Kafka producers through operations: written, ended, read and refused."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.options import FlushDiskType
from mqgateway.engine.producers.markers import Marker, marker_of
from mqgateway.engine.record_batches.batches import TRANSACTIONAL
from mqgateway.gateway.broker.operations import (
    NotEnoughReplicas,
    NotInTransaction,
    OldCoordinator,
    OldEpoch,
    OperationError,
    OutOfOrder,
    ReadBatches,
    ReadPosition,
    Reason,
    Use,
)
from mqgateway.gateway.broker.operations.batches import TO_END
from tests.gateway.broker.operations.test_batches import Scene
from tests.support.engine.store.kafka_batches import kafka_batch
from tests.support.gateway.broker.producing import later, outcome_of

DEADLINE = 5000


def batch(sequence: int = 0, *, producer_id: int = 7, epoch: int = 0, plain: bool = False) -> bytes:
    """Return a batch of one record of a producer."""
    return kafka_batch(
        b"v",
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        flags=0 if plain else TRANSACTIONAL,
    )


class TransactionalBroker(Scene):
    """A broker with a topic of Kafka, and a coordinator beside it."""

    def mark(self, is_commit: bool = True, topic: str = "K", **fields: Any) -> int:
        """Write a marker; its offset."""
        [offset] = later(self.marking(is_commit, topic, **fields))
        return offset

    def marking(self, is_commit: bool = True, topic: str = "K", **fields: Any) -> Deferred[int]:
        """Begin to write a marker."""
        given = {"producer_id": 7, "producer_epoch": 0, "coordinator_epoch": 0, **fields}
        marker = Marker(commit=is_commit, **given)
        return self.operations.batches.write_marker(self.permit(Use.SEND), topic, 0, marker)

    def refusal(self, **fields: Any) -> BaseException:
        """Return the error of a marker that is refused."""
        errors: list[BaseException] = []
        self.marking(**fields).addErrback(lambda failure: errors.append(failure.value))
        [error] = errors
        return error

    def read(
        self, offset: int = 0, wait: int = 0, *, is_committed: bool = True
    ) -> list[ReadBatches] | Deferred[list[ReadBatches]]:
        """Read the queue of the topic of Kafka."""
        positions = [ReadPosition("K", 0, offset, 1 << 20)]
        return self.operations.batches.fetch(
            self.permit(Use.PULL), positions, 1, 1 << 20, wait, is_committed=is_committed
        )

    @property
    def last_stable(self) -> int:
        """The last stable offset of the queue."""
        return self.operations.batches.last_stable_offset(self.permit(Use.QUERY), "K", 0)


def test_reader_of_committed_records_gets_them_once_the_marker_is_written() -> None:
    scene = TransactionalBroker()
    scene.append(batch())
    (committed,) = outcome_of(scene.read())
    (uncommitted,) = outcome_of(scene.read(is_committed=False))
    assert committed.ends == uncommitted.ends == (0, 1, 0) and scene.last_stable == 0
    assert (len(committed.spans), len(uncommitted.spans)) == (0, 1)
    assert scene.mark() == 1
    (committed,) = outcome_of(scene.read())
    assert len(committed.spans) == 2 and committed.aborted == [] and scene.last_stable == 2
    assert marker_of(bytes(committed.spans[1])) == Marker(7, 0, True, 0)


def test_waiting_reader_of_committed_records_is_answered_by_the_marker() -> None:
    scene = TransactionalBroker()
    committed = later(scene.read(wait=DEADLINE))
    uncommitted = later(scene.read(wait=DEADLINE, is_committed=False))
    scene.append(batch())
    assert (len(committed), len(uncommitted)) == (0, 1)
    scene.mark(False)
    [[found]] = committed
    assert len(found.spans) == 2 and [one[:3] for one in found.aborted] == [(7, 0, 1)]


def test_aborted_transactions_are_reported_for_what_was_read() -> None:
    scene = TransactionalBroker()
    for producer_id in (1, 2):
        scene.append(batch(producer_id=producer_id))
        scene.mark(False, producer_id=producer_id)
    batches, permit = scene.operations.batches, scene.permit(Use.QUERY)
    assert [one[:3] for one in batches.aborted(permit, "K", 0, 0, 4)] == [(1, 0, 1), (2, 2, 3)]
    assert [one[:3] for one in batches.aborted(permit, "K", 0, 2, 3)] == [(2, 2, 3)]
    (found,) = outcome_of(scene.read(3))
    assert [one.producer_id for one in found.aborted] == [2]
    (found,) = outcome_of(scene.read(3, is_committed=False))
    assert found.aborted == []


def test_producers_with_transactions_are_listed() -> None:
    scene = TransactionalBroker()
    scene.append(batch())
    scene.append(batch(producer_id=8))
    scene.mark(producer_id=8, producer_epoch=1, coordinator_epoch=4)
    found = scene.operations.batches.open_transactions(scene.permit(Use.QUERY), "K")[0]
    assert [(one, *known[:3]) for one, known in found.items()] == [(7, 0, -1, 0), (8, 1, 4, -1)]
    every = scene.operations.batches.open_in_queues(scene.permit(Use.QUERY))
    assert [(key, known.first_offset) for key, known in every] == [(("K", 0, 7), 0)]
    assert scene.operations.batches.is_in_transaction("K", 0, 7, 0)
    assert not scene.operations.batches.is_in_transaction("K", 0, 7, 1)


def test_marker_of_an_older_epoch_or_coordinator_is_refused() -> None:
    scene = TransactionalBroker()
    scene.append(batch(epoch=2))
    scene.mark(producer_epoch=2, coordinator_epoch=5)
    assert isinstance(scene.refusal(producer_epoch=1, coordinator_epoch=5), OldEpoch)
    assert isinstance(scene.refusal(producer_epoch=2, coordinator_epoch=4), OldCoordinator)
    assert scene.mark(producer_epoch=2, coordinator_epoch=5) == 2


def test_marker_fences_the_producers_older_epochs() -> None:
    scene = TransactionalBroker()
    scene.append(batch())
    scene.mark(False, producer_epoch=1)
    for sequence in (0, 1):
        with pytest.raises(OldEpoch):
            scene.append(batch(sequence))
    with pytest.raises(OutOfOrder):
        scene.append(batch(1, epoch=1))
    assert scene.append(batch(epoch=1)).base_offset == 2
    scene.mark(producer_epoch=1)
    assert scene.append(batch(epoch=1)).base_offset == 2, "it is there already"


def test_plain_batch_of_a_producer_in_a_transaction_is_refused() -> None:
    scene = TransactionalBroker()
    scene.append(batch())
    with pytest.raises(NotInTransaction, match="transactional write"):
        scene.append(batch(1, plain=True))
    with pytest.raises(OutOfOrder):
        scene.append(batch(2, plain=True))
    scene.mark()
    assert scene.append(batch(1, plain=True)).base_offset == 2


def test_topic_of_rocketmq_has_no_transactions() -> None:
    scene = TransactionalBroker()
    with pytest.raises(NotInTransaction, match="Kafka client"):
        scene.append(batch(), "T")
    assert isinstance(scene.refusal(topic="T"), NotInTransaction)
    assert scene.bodies("T") == []


def test_marker_for_an_unknown_topic_is_refused() -> None:
    error = TransactionalBroker().refusal(topic="Gone")
    assert isinstance(error, OperationError) and error.reason is Reason.TOPIC_NOT_EXIST


def test_marker_is_written_to_a_topic_that_clients_may_not_write() -> None:
    scene = TransactionalBroker()
    scene.append(batch())
    config = scene.broker.tables.topics.get("K")
    assert config is not None
    config.perm = 4
    assert scene.mark() == 1


@pytest.mark.parametrize("flush", list(FlushDiskType))
def test_marker_is_as_durable_as_a_send(flush: FlushDiskType) -> None:
    scene = TransactionalBroker(store_options={"flush_disk_type": flush})
    scene.mark()
    store = scene.broker.store
    is_durable = store.flushed_offset == store.max_physical_offset
    assert is_durable == (flush is FlushDiskType.SYNC_FLUSH)


def test_marker_needs_as_many_replicas_as_the_topic_asks_for() -> None:
    scene = TransactionalBroker()
    config = scene.broker.tables.topics.get("K")
    assert config is not None
    config.attributes["kafka.min.insync.replicas"] = "2"
    assert isinstance(scene.refusal(), NotEnoughReplicas)
    assert scene.broker.store.max_offset("K", 0) == 0


def test_records_of_an_open_transaction_can_be_deleted() -> None:
    scene = TransactionalBroker()
    scene.append(batch())
    permit = scene.permit(Use.DELETE_RECORDS)
    assert outcome_of(scene.operations.batches.delete_before(permit, "K", 0, TO_END)) == 1
    assert scene.last_stable == 1
    scene.append(batch(1))
    assert scene.last_stable == 1
    assert scene.mark() == 2 and scene.last_stable == 3
