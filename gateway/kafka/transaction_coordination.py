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
from mqgateway.gateway.kafka.abandoned_offsets import AbandonedOffsets
from mqgateway.gateway.kafka.coordinated import Coordinated
from mqgateway.gateway.kafka.coordinator.coordinator import Coordinator
from mqgateway.gateway.kafka.coordinator.records_log import RecordsLog
from mqgateway.gateway.kafka.coordinator.transactional import TransactionalCommits
from mqgateway.gateway.kafka.coordinator_partitions import CoordinatorPartitions
from mqgateway.gateway.kafka.coordinator_queue import coordinator_log, log_retention
from mqgateway.gateway.kafka.ids import new_producer_id
from mqgateway.gateway.kafka.open_transactions import OpenTransactions
from mqgateway.gateway.kafka.peer_offsets import end_offsets, serve_offsets
from mqgateway.gateway.kafka.stuck_transactions import HangingTransactions
from mqgateway.gateway.kafka.topics import Topic, Topics
from mqgateway.gateway.kafka.transactions.coordinator import TxnCoordinator
from mqgateway.gateway.kafka.transactions.rules import EPOCH_BUMPS_SINCE, TxnRefused
from mqgateway.gateway.kafka.transactions.settings import TxnSettings
from mqgateway.gateway.kafka.transactions.status import ProducerEpoch, TopicPartition
from mqgateway.gateway.kafka.verification import NotVerified

log = logging.getLogger(__name__)

COORDINATOR_EPOCH: Final = 0
"""The only epoch of a coordinator: ids do not move to other brokers."""


class BrokerMarkers:
    """See `transactions.completion.MarkerWriter`. The marker of offsets ends those that are pending.

    `partitions` are those of groups.
    """

    def __init__(
        self,
        operations: Operations,
        topics: Topics,
        offsets: TransactionalCommits,
        partitions: CoordinatorPartitions,
    ) -> None:
        self._operations = operations
        self._topics = topics
        self._offsets = offsets
        self._partitions = partitions

    def write(self, partition: TopicPartition, producer: ProducerEpoch, is_commit: bool) -> Deferred[None]:
        """See `MarkerWriter`."""
        if partition.topic == KAFKA_OFFSETS_TOPIC:
            return self._end_offsets(partition.partition, producer, is_commit)
        topic, peers = self._topics.find(partition.topic), self._operations.peers
        if topic is None and peers is not None and not peers.is_current:
            text = f"topic {partition.topic} may be of a group of brokers that does not answer"
            return fail(OperationError(Reason.SERVICE_NOT_AVAILABLE, text))
        if topic is None or topic.is_internal:
            return succeed(None)
        marker = Marker(*producer, is_commit, COORDINATOR_EPOCH)
        written: Deferred[Any] = maybeDeferred(self._write, topic, partition.partition, marker)
        return written.addCallbacks(lambda _: None, _not_written, errbackArgs=(partition, producer))

    def _end_offsets(self, partition: int, producer: ProducerEpoch, is_commit: bool) -> Deferred[None]:
        group, peers = self._partitions.group_of(partition), self._operations.peers
        if group is None:
            text = f"partition {partition} of {KAFKA_OFFSETS_TOPIC} is not known yet"
            return fail(OperationError(Reason.SERVICE_NOT_AVAILABLE, text))
        if peers is not None and group:
            return end_offsets(peers, group, producer, is_commit)
        return self._offsets.complete(*producer, is_commit)

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
        self._has_groups = False
        self.partitions = CoordinatorPartitions(operations, topics, KAFKA_TRANSACTIONS_TOPIC)
        self._offsets = CoordinatorPartitions(operations, topics, KAFKA_OFFSETS_TOPIC)
        self.markers = BrokerMarkers(operations, topics, groups.transactional, self._offsets)
        if operations.peers is not None:
            serve_offsets(operations.peers, groups.transactional)
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
        self._coordinated = Coordinated(operations, self.coordinator, self.partitions.coordinates)
        transactions = OpenTransactions(operations, self.partitions, self.coordinator)
        self.abandoned = AbandonedOffsets(operations.clock, transactions, groups.transactional)
        self.hanging = HangingTransactions(
            operations, self.partitions, self.coordinator, transactions, Topics(operations)
        )
        self.tick()

    def tick(self) -> None:
        """Do what is due."""
        self._coordinated.tick()
        has_groups = self._groups.is_loaded
        if has_groups and not self._has_groups:
            self.abandoned.begin()
        self._has_groups = has_groups
        if has_groups:
            self.abandoned.tick()
        self.hanging.tick()

    def offsets_partition(self, group_id: str) -> TopicPartition | None:
        """Return the partition that stands for the offsets of a group in transactions; None while the topic
        is not made."""
        place = self._offsets.place(group_id)
        return None if place is None else TopicPartition(KAFKA_OFFSETS_TOPIC, place.partition)

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
