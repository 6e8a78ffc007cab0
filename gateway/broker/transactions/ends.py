"""Ends of transactions: commit, rollback, or still open.

`engine/transactions` defines transactions and decides when producers are queried; this module checks
producers' requests to end one. Half messages arrive by `produce/send.py`.

RocketMQ: `EndTransactionProcessor`.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from enum import Enum, auto

from mqgateway.engine.errors import MessageIllegal
from mqgateway.engine.store.message_store import PutResult, PutStatus
from mqgateway.engine.transactions import HalfMessage, as_committed
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.connection import MayUse
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.produce.durability import STORED
from mqgateway.gateway.broker.records import half_at

log = logging.getLogger(__name__)

FAILED: dict[PutStatus, tuple[Reason, str]] = {
    PutStatus.CREATE_MAPPED_FILE_FAILED: (Reason.SYSTEM_ERROR, "Create mapped file failed."),
    PutStatus.SERVICE_NOT_AVAILABLE: (Reason.SERVICE_NOT_AVAILABLE, "Service not available now."),
    PutStatus.OS_PAGE_CACHE_BUSY: (Reason.SYSTEM_ERROR, "OS page cache busy, please try another machine"),
    PutStatus.UNKNOWN_ERROR: (Reason.SYSTEM_ERROR, "UNKNOWN_ERROR"),
    PutStatus.IN_SYNC_REPLICAS_NOT_ENOUGH: (Reason.SYSTEM_ERROR, "in-sync replicas not enough"),
}
"""Put statuses of failed commits, each with reason and text."""

NOT_FOUND = "Find prepared transaction message failed"


class Resolution(Enum):
    """A producer's resolution of a transaction; UNKNOWN leaves it open."""

    COMMIT = auto()
    ROLLBACK = auto()
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True)
class TransactionEnd:
    """Request of a producer to end one of its transactions.

    The offsets are those of the half message in its queue and in the log. `is_answer` is True for the answer
    to a check of the broker. `resolution` is None for an unknown value; `remark` is the reason, for the log.
    """

    resolution: Resolution | None
    producer_group: str
    queue_offset: int
    physical_offset: int
    is_answer: bool
    message_id: str
    remark: str | None


def end_transaction(broker: Broker, end: TransactionEnd, now: int, may_use: MayUse | None) -> None:
    """Commit or roll back a half message; it stays open if its producer does not know yet.

    `now` is the wall time in ms. Raises `OperationError`.
    """
    if broker.role.is_slave:
        raise OperationError(Reason.SLAVE_NOT_AVAILABLE, "a slave ends no transactions")
    if end.resolution is None:
        raise OperationError(Reason.SYSTEM_ERROR, "commitOrRollback field wrong")
    if end.resolution is Resolution.UNKNOWN:
        if end.remark:
            log.info("transaction %s stays open: %.500s", end.message_id, end.remark)
        return
    half = _named(broker, end, may_use)
    if end.resolution is Resolution.ROLLBACK:
        if not broker.store.is_writable:
            raise OperationError(*FAILED[PutStatus.SERVICE_NOT_AVAILABLE])
        broker.transactions.roll_back(half)
        if broker.stats.meters is not None:
            broker.stats.meters.rollbacks.add((half.topic,))
    else:
        _commit(broker, half, end.physical_offset, now)


def _commit(broker: Broker, half: HalfMessage, offset: int, now: int) -> None:
    try:
        message = as_committed(half, offset)
        waits = broker.delays.levels.rewrite(message)
    except MessageIllegal:
        raise _illegal(broker) from None
    if not waits and broker.timers.acceptance.rewrite(message, now) is not None:
        raise _illegal(broker)
    result = broker.transactions.commit(half, message)
    if result is not None:
        _check(broker, result)
        stats = broker.stats
        stats.put(message.topic, 1, result.end_offset - result.physical_offset)
        if stats.meters is not None:
            stats.meters.commits.add((half.topic,))
            seconds = max(0, now - half.stored.born_timestamp) // 1000
            stats.meters.finish_latency.record((half.topic,), seconds)


def _named(broker: Broker, end: TransactionEnd, may_use: MayUse | None) -> HalfMessage:
    """Return the producer's half message. Raises `OperationError` if the producer may not end it now."""
    half = half_at(broker, end.physical_offset, may_use)
    if half is None:
        raise OperationError(Reason.SYSTEM_ERROR, NOT_FOUND)
    if not end.is_answer and half.is_overdue(
        broker.transactions.now_for(half), broker.options.transaction_time_out
    ):
        raise OperationError(Reason.ILLEGAL_OPERATION, "the transaction's time is over, wait for the check")
    if half.group != end.producer_group:
        raise OperationError(Reason.SYSTEM_ERROR, "The producer group wrong")
    if half.stored.queue_offset != end.queue_offset:
        raise OperationError(Reason.SYSTEM_ERROR, "The transaction state table offset wrong")
    if half.stored.physical_offset != end.physical_offset:
        raise OperationError(Reason.SYSTEM_ERROR, "The commit log offset wrong")
    return half


def _check(broker: Broker, result: PutResult) -> None:
    """Raise `OperationError` if a commit could not be stored."""
    if result.status in STORED:
        return
    if result.status in (PutStatus.MESSAGE_ILLEGAL, PutStatus.PROPERTIES_SIZE_EXCEEDED):
        raise _illegal(broker)
    raise OperationError(*FAILED.get(result.status, (Reason.SYSTEM_ERROR, "UNKNOWN_ERROR DEFAULT")))


def _illegal(broker: Broker) -> OperationError:
    return OperationError(
        Reason.MESSAGE_ILLEGAL,
        "The message is illegal, maybe msg body or properties length not matched. msg body length limit "
        f"{broker.store_options.max_message_size}B, msg properties length limit 32KB.",
    )
