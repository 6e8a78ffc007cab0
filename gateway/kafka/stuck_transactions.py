"""Transactions that do not end, and the commands that end them.

Standard: KIP-664, `TransactionsCommand`.
"""

from __future__ import annotations

from shlex import quote
from typing import Final

from mqgateway.gateway.broker.operations import HangingTransaction, Operations, Use
from mqgateway.gateway.kafka.topics import kafka_name
from mqgateway.gateway.kafka.transactions.coordinator import TxnCoordinator
from mqgateway.gateway.kafka.transactions.status import TopicPartition

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


def hanging_transactions(operations: Operations, coordinator: TxnCoordinator) -> list[HangingTransaction]:
    """Return the open transactions in partitions of this broker that its coordinator does not have there.

    Those with a record of the last minute are left out, as the coordinator may be writing about them.
    """
    if not coordinator.is_loaded:  # another broker coordinates
        return []
    table, now = coordinator.table, operations.clock.millis()
    permit = operations.gate.internal(Use.QUERY)
    suspects = [
        (TopicPartition(topic, queue_id), producer_id, one)
        for (store_topic, queue_id, producer_id), one in operations.batches.open_in_queues(permit)
        if now - one.stored >= LATE_MILLIS and (topic := kafka_name(store_topic)) is not None
    ]
    ids = {producer_id for _, producer_id, _ in suspects}
    known = {
        (entry.status.producer_id, partition)
        for entry in (*table.open.values(), *table.prepared.values())
        if entry.status is not None and entry.status.producer_id in ids
        for partition in entry.status.partitions
    }
    return sorted(
        HangingTransaction(
            *partition,
            producer_id,
            one.epoch,
            one.first_offset,
            one.stored,
            abort_command(*partition, one.first_offset),
        )
        for partition, producer_id, one in suspects
        if (producer_id, partition) not in known
    )
