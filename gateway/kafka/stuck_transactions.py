"""Transactions that do not end, and the commands that end them.

Standard: KIP-664, `TransactionsCommand`.
"""

from __future__ import annotations

import logging
from shlex import quote
from typing import Final

from twisted.python.failure import Failure

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.producers.transactions import ProducerTransaction
from mqgateway.gateway.broker.operations import HangingTransaction, OperationError, Operations, Use
from mqgateway.gateway.kafka.coordinator_partitions import CoordinatorPartitions
from mqgateway.gateway.kafka.open_transactions import OpenTransactions
from mqgateway.gateway.kafka.topics import Topics, kafka_name
from mqgateway.gateway.kafka.transactions.coordinator import TxnCoordinator
from mqgateway.gateway.kafka.transactions.status import TopicPartition

log = logging.getLogger(__name__)

PERIOD_MILLIS: Final = 60_000
LATE_MILLIS: Final = 60_000
"""Time after which a transaction is reported that is to be aborted, whose markers are to be written, or that
its coordinator does not have in a partition."""


def abort_command(topic: str, partition: int, first_offset: int) -> str:
    """Return the command that ends a hanging transaction in a partition."""
    return (
        f"kafka-transactions.sh abort --topic {topic} --partition {partition} --start-offset {first_offset}"
    )


def is_late(started: int, timeout: int, now: int) -> bool:
    """Return True if a transaction should have ended. Times are wall times in ms, `timeout` is in ms."""
    return started >= 0 and now - started >= timeout + LATE_MILLIS


def terminate_command(transactional_id: str) -> str:
    """Return the command that aborts the open transaction of a transactional id."""
    return f"kafka-transactions.sh forceTerminateTransaction --transactionalId {quote(transactional_id)}"


class HangingTransactions:
    """Transactions that are open in partitions of this broker, and that no coordinator has there.

    A transaction that another broker group coordinates is compared by its producer alone, with what that
    group answered last. `transactions` are those of all coordinators, `coordinator` is this broker's, and
    `topics` are those with partitions here.
    """

    def __init__(
        self,
        operations: Operations,
        partitions: CoordinatorPartitions,
        coordinator: TxnCoordinator,
        transactions: OpenTransactions,
        topics: Topics,
    ) -> None:
        self._operations = operations
        self._partitions = partitions
        self._coordinator = coordinator
        self._transactions = transactions
        self._topics = topics
        self._next = 0
        self._unknown: frozenset[int] = frozenset()

    def tick(self) -> None:
        """Ask the coordinators of other broker groups for the producers of late transactions."""
        now = elapsed_millis(self._operations.clock)
        if now < self._next or not self._has_others or not self._transactions.is_known:
            return
        if not self._operations.replicas.leads:
            return
        self._next = now + PERIOD_MILLIS
        producers = frozenset(producer_id for _, producer_id, _ in self._late())
        self._unknown &= producers
        if producers:
            self._transactions.of(producers).addCallbacks(
                self._answered, _not_asked, callbackArgs=(producers,)
            )

    @property
    def _has_others(self) -> bool:
        return any(self._partitions.groups or ())

    def _answered(self, known: dict[int, int], producers: frozenset[int]) -> None:
        self._unknown = producers - known.keys()

    def found(self) -> list[HangingTransaction]:
        """Return the transactions, by partition; none if this broker cannot know yet.

        Those with a record of the last minute are left out, as the coordinator may be writing about them.
        """
        if not self._transactions.is_known:
            return []
        late = self._late()
        if self._has_others:
            late = [one for one in late if one[1] in self._unknown]
        known = self._known({producer_id for _, producer_id, _ in late})
        return sorted(
            HangingTransaction(
                *partition,
                producer_id,
                one.epoch,
                one.first_offset,
                one.stored,
                abort_command(*partition, one.first_offset),
            )
            for partition, producer_id, one in late
            if (producer_id, partition) not in known
        )

    def _late(self) -> list[tuple[TopicPartition, int, ProducerTransaction]]:
        """Return partition and producer of the transactions in partitions that are open for a minute."""
        now, permit = self._operations.clock.millis(), self._operations.gate.internal(Use.QUERY)
        found = []
        for (store_topic, queue_id, producer_id), one in self._operations.batches.open_in_queues(permit):
            if now - one.stored < LATE_MILLIS or (name := kafka_name(store_topic)) is None:
                continue
            topic = self._topics.find(name)
            partition = -1 if topic is None else topic.partition_at(queue_id)
            if partition >= 0:
                found.append((TopicPartition(name, partition), producer_id, one))
        return found

    def _known(self, producers: set[int]) -> set[tuple[int, TopicPartition]]:
        """Return the partitions of the transactions that this broker coordinates, with their producers."""
        table = self._coordinator.table
        return {
            (entry.status.producer_id, partition)
            for entry in (*table.open.values(), *table.prepared.values())
            if entry.status is not None and entry.status.producer_id in producers
            for partition in entry.status.partitions
        }


def _not_asked(failure: Failure) -> None:
    """Log why a coordinator did not answer; it is asked again."""
    if isinstance(failure.value, OperationError | ConfigError):
        log.info("hanging transactions are not known: %s", failure.getErrorMessage())
    else:
        log.error("hanging transactions: %s", failure.getTraceback())
