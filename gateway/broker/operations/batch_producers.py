"""Producers of Kafka in queues: repeated batches, and the transactions that a coordinator ends.

A transaction of a queue begins with its producer's first transactional batch and ends with a marker. Readers
of committed records, as all of RocketMQ's are, see nothing from the first batch of the oldest open
transaction on, and no batch of one that was aborted. Kafka: `UnifiedLog.analyzeAndValidateProducerState`.
"""

from __future__ import annotations

from collections.abc import Mapping

from twisted.internet.defer import Deferred, fail

from mqgateway.engine.producers.batch import ProducerBatch, of_header
from mqgateway.engine.producers.markers import Marker, control_batch
from mqgateway.engine.producers.state import BatchRefusal, Duplicate, ProducerFigures
from mqgateway.engine.producers.transactions import AbortedTransaction, MarkerRefusal, ProducerTransaction
from mqgateway.engine.record_batches.batches import Batch
from mqgateway.engine.record_batches.ordinary import OrdinaryBatch
from mqgateway.engine.store.results import PutResult
from mqgateway.engine.tables.attributes import KAFKA_FORMAT, MESSAGE_FORMAT
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.operations.batch_copies import BatchCopies
from mqgateway.gateway.broker.operations.batch_queues import PUT_OK
from mqgateway.gateway.broker.operations.gate import Permit
from mqgateway.gateway.broker.operations.uses import Use
from mqgateway.gateway.runtime.outcomes import as_deferred


class OutOfOrder(OperationError):
    """A batch of an idempotent producer that does not follow its last one; nothing was stored."""


class OldEpoch(OperationError):
    """A batch or a marker of a producer that has a newer epoch; nothing was stored."""


class OldCoordinator(OperationError):
    """A marker of a coordinator that is not the newest that ended a transaction of the producer; nothing was
    stored."""


class NotInTransaction(OperationError):
    """A batch that is not part of its producer's open transaction, or of one that its queue cannot have;
    nothing was stored."""


class BatchProducers(BatchCopies):
    """Producers of Kafka in the queues of one broker."""

    def producers(self, permit: Permit, topic: str) -> Mapping[int, list[ProducerFigures]]:
        """Return the idempotent producers of each queue of a topic that has any."""
        self._gate.enter(permit, Use.QUERY)
        return self._broker.store.producers.figures(topic)

    def is_in_transaction(self, topic: str, queue_id: int, producer_id: int, epoch: int) -> bool:
        """Return True if a producer has an open transaction of an epoch in a queue.

        The batch of a producer that has none begins one, which its coordinator must know of before it is
        appended.
        """
        return self._broker.store.transactions.is_open(topic, queue_id, producer_id, epoch)

    def has_had_transactions(self, topic: str, queue_id: int, producer_id: int) -> bool:
        """Return True if a queue has had a transaction of a producer that is not forgotten."""
        return self._broker.store.transactions.knows(topic, queue_id, producer_id)

    def open_transactions(
        self, permit: Permit, topic: str
    ) -> Mapping[int, Mapping[int, ProducerTransaction]]:
        """Return the producers with transactions of each queue of a topic that has any, by producer id; also
        those whose transactions have ended."""
        self._gate.enter(permit, Use.QUERY)
        return self._broker.store.transactions.of_topic(topic)

    def open_in_queues(self, permit: Permit) -> list[tuple[tuple[str, int, int], ProducerTransaction]]:
        """Return the open transactions of all queues, by topic, queue and producer id."""
        self._gate.enter(permit, Use.QUERY)
        return self._broker.store.transactions.open_in_queues()

    def last_stable_offset(self, permit: Permit, topic: str, queue_id: int) -> int:
        """Return where readers of committed records stop in a queue. Raises `OperationError`."""
        self._gate.enter(permit, Use.QUERY, Use.PULL)
        return self._broker.store.readable_end(topic, self._readable(topic, queue_id))

    def aborted(
        self, permit: Permit, topic: str, queue_id: int, begin: int, end: int
    ) -> list[AbortedTransaction]:
        """Return the aborted transactions that may have batches in a queue from the offset `begin` to `end`,
        in the order of their markers. Raises `OperationError`."""
        self._gate.enter(permit, Use.QUERY, Use.PULL)
        return self._broker.store.transactions.aborted(topic, self._readable(topic, queue_id), begin, end)

    def write_marker(
        self, permit: Permit, topic: str, queue_id: int, marker: Marker, *, has_new_epoch: bool = False
    ) -> Deferred[int]:
        """End a producer's transaction in a queue, or do nothing but raise its epochs if none is open.

        Return the marker's queue offset once it is as safe as the broker's settings ask for. Fails with
        `OldEpoch`, `OldCoordinator`, `NotEnoughReplicas` and other `OperationError`. A marker may be written
        again: the later one changes nothing. With `has_new_epoch` one with the producer's last epoch is
        refused too; see `KafkaTransactions.check_marker`.
        """
        try:
            outcome = self._write_marker(permit, topic, queue_id, marker, has_new_epoch)
        except OperationError as error:
            return fail(error)
        return as_deferred(outcome)

    def _write_marker(
        self, permit: Permit, topic: str, queue_id: int, marker: Marker, has_new_epoch: bool
    ) -> int | Deferred[int]:
        self._gate.enter(permit, Use.SEND)
        config = self._found(topic, queue_id)  # also one that clients may not write any more
        if config.attributes.get(MESSAGE_FORMAT) != KAFKA_FORMAT:
            raise NotInTransaction(Reason.ILLEGAL_OPERATION, f"topic {topic} has no transactions of Kafka")
        own = self._own_queue(topic, queue_id)
        self._check_not_fenced(config, own)
        refusal = self._broker.store.transactions.check_marker(
            topic, own, marker, has_new_epoch=has_new_epoch
        )
        if refusal is not None:
            raise _marker_refused(refusal, topic, queue_id, marker)
        logs = self._logs_needed(config)
        result = self._put_control(config, own, control_batch(marker, permit.now), permit.now)
        return self._safe(result, logs, result.queue_offset)

    def _known(self, topic: str, queue_id: int, batch: Batch | OrdinaryBatch) -> PutResult | None:
        """Return where an idempotent producer's batch is if the queue has it. Raises `OperationError`."""
        producer = None if batch.producer_id < 0 else of_header(batch.data)
        if producer is None:
            return None
        store = self._broker.store
        refusal = store.transactions.check(topic, queue_id, producer)
        if refusal is BatchRefusal.OLD_EPOCH:
            raise _refused(refusal, topic, queue_id, producer)
        verdict = store.producers.check(topic, queue_id, producer)
        if isinstance(verdict, Duplicate):
            end = verdict.stored.end
            return PutResult(PUT_OK, queue_offset=verdict.base_offset, physical_offset=end, end_offset=end)
        refusal = verdict or refusal
        if refusal is not None:
            raise _refused(refusal, topic, queue_id, producer)
        return None


def _refused(refusal: BatchRefusal, topic: str, queue_id: int, batch: ProducerBatch) -> OperationError:
    producer_id, place = batch.producer_id, f"queue {queue_id} of topic {topic}"
    if refusal is BatchRefusal.OLD_EPOCH:
        text = f"Epoch {batch.epoch} of producer {producer_id} is older than its last one"
        return OldEpoch(Reason.ILLEGAL_OPERATION, text)
    if refusal is BatchRefusal.NOT_TRANSACTIONAL:
        text = f"Expected transactional write from producer {producer_id} in {place}"
        return NotInTransaction(Reason.ILLEGAL_OPERATION, text)
    text = f"Out of order sequence number for producer {producer_id} in {place}: {batch.first_sequence}"
    return OutOfOrder(Reason.ILLEGAL_OPERATION, text)


def _marker_refused(refusal: MarkerRefusal, topic: str, queue_id: int, marker: Marker) -> OperationError:
    producer_id, place = marker.producer_id, f"queue {queue_id} of topic {topic}"
    if refusal is MarkerRefusal.OLD_EPOCH:
        epoch = marker.producer_epoch
        text = f"Epoch {epoch} of producer {producer_id} in {place} is not newer than its last one"
        return OldEpoch(Reason.ILLEGAL_OPERATION, text)
    text = f"Coordinator epoch {marker.coordinator_epoch} for producer {producer_id} in {place} is stale"
    return OldCoordinator(Reason.ILLEGAL_OPERATION, text)
