"""The coordinator of transactions over a broker: its markers, its start, and pending offsets."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred, fail, succeed
from twisted.python.failure import Failure

from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.broker.operations import NotInTransaction, OldEpoch, OperationError, Reason
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.coordinator.records import Committed, OffsetKey
from mqgateway.gateway.kafka.coordinator.records_log import MemoryRecordsLog
from mqgateway.gateway.kafka.coordinator.transactional import PendingBatch
from mqgateway.gateway.kafka.transaction_coordination import (
    TransactionCoordination,
    txn_settings,
)
from mqgateway.gateway.kafka.transactions.settings import TxnSettings
from mqgateway.gateway.kafka.transactions.status import ProducerEpoch, TopicPartition, TxnState
from mqgateway.gateway.kafka.verification import NotVerified
from tests.support.gateway.kafka.broker import KafkaBroker

ORDERS = TopicPartition("my.topic", 2)


class Batches:
    """Writes markers as a broker does, or fails."""

    def __init__(self) -> None:
        self.markers: list[tuple[object, ...]] = []
        self.failure: Exception | None = None

    def write_marker(self, permit: object, topic: str, queue_id: int, marker: Any) -> Deferred[int]:
        """See `BatchOperations`."""
        if self.failure is not None:
            return fail(self.failure)
        self.markers.append((topic, queue_id, tuple(marker)))
        return succeed(7)


def coordination(
    kafka: KafkaBroker, log: MemoryRecordsLog | None = None
) -> tuple[TransactionCoordination, Batches]:
    """Return a coordination whose markers go nowhere."""
    batches = Batches()
    kafka.operations.batches = batches  # type: ignore[assignment]
    records = log or MemoryRecordsLog()
    made = TransactionCoordination(kafka.operations, kafka.topics, kafka.coordinator, records)
    return made, batches


def outcome(done: Deferred[Any]) -> Any:
    """Return the value or the failure of what is done."""
    outcomes: list[Any] = []
    done.addBoth(outcomes.append)
    [one] = outcomes
    return one.value if isinstance(one, Failure) else one


def test_markers_are_written_by_the_names_of_the_store() -> None:
    kafka = KafkaBroker()
    made, batches = coordination(kafka)
    assert outcome(made.markers.write(ORDERS, ProducerEpoch(7, 3), True)) is None
    assert batches.markers == [("my|topic", 2, (7, 3, True, 0))]


def test_partition_that_is_gone_or_knows_better_needs_no_marker() -> None:
    kafka = KafkaBroker()
    made, batches = coordination(kafka)
    for place in (TopicPartition("none", 0), TopicPartition("__transaction_state", 0)):
        assert outcome(made.markers.write(place, ProducerEpoch(7, 3), True)) is None
    for batches.failure in (
        OperationError(Reason.TOPIC_NOT_EXIST, "gone"),
        NotInTransaction(Reason.ILLEGAL_OPERATION, "of RocketMQ"),
        OldEpoch(Reason.ILLEGAL_OPERATION, "old"),
    ):
        assert outcome(made.markers.write(ORDERS, ProducerEpoch(7, 3), True)) is None
    batches.failure = OperationError(Reason.SERVICE_NOT_AVAILABLE, "busy")
    assert isinstance(outcome(made.markers.write(ORDERS, ProducerEpoch(7, 3), True)), OperationError)
    assert not batches.markers


def test_transaction_is_completed_once_the_store_takes_its_marker() -> None:
    kafka = KafkaBroker()
    log = MemoryRecordsLog()
    made, batches = coordination(kafka, log)
    producer = outcome(made.coordinator.init("t", 1000, None))
    assert outcome(made.verify("t", *producer, "my.topic", 2, adds=True)) is None
    batches.failure = OperationError(Reason.SERVICE_NOT_AVAILABLE, "busy")
    kafka.clock.advance(11_000)
    made.tick()
    entry = made.coordinator.table.get("t")
    assert entry is not None and entry.status is not None
    assert entry.status.state is TxnState.PREPARE_ABORT
    again, batches = coordination(kafka, log)
    assert batches.markers == [("my|topic", 2, (producer.producer_id, 2, False, 0))]
    assert again.coordinator.is_loaded and not again.coordinator.table.prepared


def test_batches_are_verified_with_the_codes_of_the_coordinator() -> None:
    kafka = KafkaBroker()
    made, _ = coordination(kafka)
    unknown = outcome(made.verify("t", 7, 0, "my.topic", 2, adds=True))
    assert isinstance(unknown, NotVerified) and unknown.code is E.INVALID_PRODUCER_ID_MAPPING
    producer = outcome(made.coordinator.init("t", 1000, None))
    outside = outcome(made.verify("t", *producer, "my.topic", 2, adds=False))
    assert isinstance(outside, NotVerified) and outside.code is E.TRANSACTION_ABORTABLE
    outcome(made.verify("t", *producer, "my.topic", 2, adds=True))
    assert outcome(made.verify("t", *producer, "my.topic", 2, adds=False)) is None


def pend(kafka: KafkaBroker, producer: ProducerEpoch) -> None:
    """Make an offset pending."""
    batch = PendingBatch(*producer)
    batch.add(OffsetKey("g", "orders", 0), Committed(5, -1, "", 1))
    assert outcome(kafka.coordinator.transactional.add(batch)) is None


def test_pending_offsets_without_a_transaction_are_dropped_at_start() -> None:
    kafka = KafkaBroker()
    log = MemoryRecordsLog()
    made = TransactionCoordination(kafka.operations, kafka.topics, kafka.coordinator, log)
    known = outcome(made.coordinator.init("t", 1000, None))
    partition = made.offsets_partition("g")
    assert partition is not None
    outcome(made.checked("t", known, partition, adds=True))
    pend(kafka, known)
    pend(kafka, ProducerEpoch(7, 0))
    made.tick()
    assert set(kafka.coordinator.transactional.producers()) == {known.producer_id, 7}
    TransactionCoordination(kafka.operations, kafka.topics, kafka.coordinator, log)
    assert kafka.coordinator.transactional.producers() == (known.producer_id,)


def test_times_are_those_of_apache_kafka_by_default() -> None:
    assert txn_settings(BrokerOptions()) == TxnSettings()


def test_times_can_be_set() -> None:
    options = BrokerOptions(
        kafka_transaction_max_timeout_millis=1,
        kafka_transaction_abort_timed_out_transaction_cleanup_interval_millis=2,
        kafka_transactional_id_expiration_millis=3,
        kafka_transaction_remove_expired_transaction_cleanup_interval_millis=4,
    )
    expected = TxnSettings(timeout_max=1, timeout_interval=2, id_retention=3, expiry_interval=4)
    assert txn_settings(options) == expected
