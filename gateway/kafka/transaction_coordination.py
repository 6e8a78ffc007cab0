"""The coordinator of transactions over a broker: its log, its markers, and its time."""

from __future__ import annotations

import logging
from typing import Any, Final

from twisted.internet.defer import Deferred, fail, maybeDeferred, succeed
from twisted.python.failure import Failure

from mqgateway.engine.message import KAFKA_OFFSETS_TOPIC, KAFKA_TRANSACTIONS_TOPIC
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.producers.markers import Marker
from mqgateway.gateway.broker.operations import (
    NotInTransaction,
    OldCoordinator,
    OldEpoch,
    OperationError,
    Operations,
    Reason,
    Use,
)
from mqgateway.gateway.kafka.coordinated import Coordinated
from mqgateway.gateway.kafka.coordinator.coordinator import Coordinator
from mqgateway.gateway.kafka.coordinator.records_log import RecordsLog
from mqgateway.gateway.kafka.coordinator.transactional import TransactionalCommits
from mqgateway.gateway.kafka.coordinator_queue import QUEUE, coordinator_log, log_retention
from mqgateway.gateway.kafka.ids import new_producer_id
from mqgateway.gateway.kafka.topics import Topic, Topics
from mqgateway.gateway.kafka.transactions.coordinator import TxnCoordinator
from mqgateway.gateway.kafka.transactions.rules import EPOCH_BUMPS_SINCE, TxnRefused
from mqgateway.gateway.kafka.transactions.settings import TxnSettings
from mqgateway.gateway.kafka.transactions.status import EPOCH_MAX, ProducerEpoch, TopicPartition, TxnState
from mqgateway.gateway.kafka.verification import NotVerified

log = logging.getLogger(__name__)

OFFSETS_PARTITION: Final = TopicPartition(KAFKA_OFFSETS_TOPIC, QUEUE)
"""The partition that stands for offsets of a transaction, whatever their group."""
COORDINATOR_EPOCH: Final = 0
"""The only epoch of a coordinator: ids do not move to other brokers."""


class BrokerMarkers:
    """See `transactions.completion.MarkerWriter`. The marker of offsets ends those that are pending."""

    def __init__(self, operations: Operations, topics: Topics, offsets: TransactionalCommits) -> None:
        self._operations = operations
        self._topics = topics
        self._offsets = offsets

    def write(self, partition: TopicPartition, producer: ProducerEpoch, is_commit: bool) -> Deferred[None]:
        """See `MarkerWriter`."""
        if partition.topic == KAFKA_OFFSETS_TOPIC:
            return self._offsets.complete(*producer, is_commit)
        topic, peers = self._topics.find(partition.topic), self._operations.peers
        if topic is None and peers is not None and not peers.is_current:
            text = f"topic {partition.topic} may be of a group of brokers that does not answer"
            return fail(OperationError(Reason.SERVICE_NOT_AVAILABLE, text))
        if topic is None or topic.is_internal:
            return succeed(None)
        marker = Marker(*producer, is_commit, COORDINATOR_EPOCH)
        written: Deferred[Any] = maybeDeferred(self._write, topic, partition.partition, marker)
        return written.addCallbacks(lambda _: None, _not_written, errbackArgs=(partition, producer))

    def _write(self, topic: Topic, partition: int, marker: Marker) -> Deferred[Any]:
        (group, queue_id), peers = topic.place(partition), self._operations.peers
        if peers is not None and group:
            return peers.write_marker(group, topic.store_name, queue_id, marker)
        permit = self._operations.gate.internal(Use.SEND)
        return self._operations.batches.write_marker(permit, topic.store_name, queue_id, marker)


def _not_written(failure: Failure, partition: TopicPartition, producer: ProducerEpoch) -> None:
    """Fail if a marker has to be tried again: not for a partition that is gone, or that cannot have the
    producer's transaction."""
    error = failure.value
    is_gone = isinstance(error, OperationError) and error.reason is Reason.TOPIC_NOT_EXIST
    if not is_gone and not isinstance(error, (NotInTransaction, OldEpoch, OldCoordinator)):
        failure.raiseException()
    log.info("the transaction of producer %s has no marker in %s: %s", producer, partition, error)


def txn_settings(options: BrokerOptions) -> TxnSettings:
    """Return the settings of a broker's coordinator."""
    return TxnSettings(
        timeout_max=options.kafka_transaction_max_timeout_millis,
        timeout_interval=options.kafka_transaction_abort_timed_out_transaction_cleanup_interval_millis,
        id_retention=options.kafka_transactional_id_expiration_millis,
        expiry_interval=options.kafka_transaction_remove_expired_transaction_cleanup_interval_millis,
    )


class TransactionCoordination:
    """The coordinator of transactions of one broker. `groups` has the offsets that transactions commit."""

    def __init__(
        self, operations: Operations, topics: Topics, groups: Coordinator, records: RecordsLog | None = None
    ) -> None:
        self._groups = groups
        self._has_dropped = False
        self.markers = BrokerMarkers(operations, topics, groups.transactional)
        self.coordinator = TxnCoordinator(
            txn_settings(operations.options),
            operations.clock,
            coordinator_log(operations, KAFKA_TRANSACTIONS_TOPIC, "transactional ids")
            if records is None
            else records,
            self.markers,
            new_id=new_producer_id,
            retention=log_retention(operations),
            run_steps=lambda steps: operations.runner.run("markers of Kafka transactions", steps),
        )
        self._coordinated = Coordinated(operations, self.coordinator)
        self.tick()

    def tick(self) -> None:
        """Do what is due."""
        self._coordinated.tick()
        is_loaded = self.coordinator.is_loaded and self._groups.is_loaded
        if is_loaded and not self._has_dropped:
            self._drop_abandoned()
        self._has_dropped = is_loaded

    def _drop_abandoned(self) -> None:
        """Drop pending offsets whose transaction is not known: their records were refused, and the log had
        them all the same."""
        table = self.coordinator.table
        valid = {}
        for entry in (*table.open.values(), *table.prepared.values()):
            if entry.status is not None:
                is_open = entry.status.state is TxnState.ONGOING
                valid[entry.status.producer_id] = entry.status.epoch - 1 if is_open else -1
        for producer_id in self._groups.transactional.producers():
            epoch = valid.get(producer_id, EPOCH_MAX)
            done = self._groups.transactional.complete(producer_id, epoch, False)
            done.addErrback(
                lambda failure: log.warning("pending offsets are kept: %s", failure.getErrorMessage())
            )

    def verify(
        self, transactional_id: str, producer_id: int, epoch: int, topic: str, partition: int, *, adds: bool
    ) -> Deferred[None]:
        """See `verification.Verify`."""
        place, producer = TopicPartition(topic, partition), ProducerEpoch(producer_id, epoch)
        return self.checked(transactional_id, producer, place, adds=adds).addErrback(_not_verified)

    def checked(
        self, transactional_id: str, producer: ProducerEpoch, partition: TopicPartition, *, adds: bool
    ) -> Deferred[None]:
        """Return once a partition is in the producer's transaction. Fails with `TxnRefused`."""
        if adds:
            added = frozenset((partition,))
            return self.coordinator.add_partitions(transactional_id, producer, added, EPOCH_BUMPS_SINCE)
        try:
            self.coordinator.check_member(transactional_id, producer, partition)
        except TxnRefused as error:
            return fail(error)
        return succeed(None)


def _not_verified(failure: Failure) -> None:
    error = failure.value
    if not isinstance(error, TxnRefused):
        failure.raiseException()
    raise NotVerified(error.code, str(error)) from error
