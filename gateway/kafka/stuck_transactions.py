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
    known = {
        (entry.status.producer_id, partition)
        for entry in (*table.open.values(), *table.prepared.values())
        if entry.status is not None
        for partition in entry.status.partitions
    }
    found: list[HangingTransaction] = []
    permit = operations.gate.internal(Use.QUERY)
    for (store_topic, queue_id, producer_id), one in operations.batches.open_in_queues(permit):
        topic = kafka_name(store_topic)
        if topic is None or now - one.stored < LATE_MILLIS:
            continue
        if (producer_id, TopicPartition(topic, queue_id)) not in known:
            command = abort_command(topic, queue_id, one.first_offset)
            found.append(
                HangingTransaction(
                    topic, queue_id, producer_id, one.epoch, one.first_offset, one.stored, command
                )
            )
    return sorted(found)
