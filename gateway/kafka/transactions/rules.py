"""The transitions of a transactional id: each function returns the next status, or why there is none.

Kafka: `TransactionCoordinator`, `TransactionMetadata`. Two of Kafka's states are not needed: an id without a
record is no id, and an epoch is fenced by the record that aborts its transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import replace
from typing import Final, NamedTuple

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.transactions.status import (
    EPOCH_LAST,
    EPOCH_MAX,
    NO_EPOCH,
    NO_PRODUCER,
    ProducerEpoch,
    TopicPartition,
    TxnState,
    TxnStatus,
)

EPOCH_BUMPS_SINCE: Final = 2
"""Version of transactions from which each transaction has an epoch of its own."""


class TxnRefused(Exception):
    """A request that is refused, with Kafka's code."""

    def __init__(self, code: ErrorCode, reason: str = "") -> None:
        super().__init__(reason or code.name)
        self.code = code


class EndRequest(NamedTuple):
    """A request to end a transaction; `version` is the version of transactions that the client speaks."""

    producer: ProducerEpoch
    commit: bool
    version: int


# InitProducerId


def first_status(producer_id: int, timeout: int, now: int) -> TxnStatus:
    """Return the status of a new transactional id."""
    return TxnStatus(producer_id, 0, timeout, TxnState.EMPTY, now)


def initialized(
    status: TxnStatus,
    expected: ProducerEpoch | None,
    timeout: int,
    now: int,
    new_id: Callable[[], int],
) -> TxnStatus:
    """Return the status of an id whose producer starts, or starts again after an error.

    `expected` is what the producer has been, None if it is a new one. An open transaction is aborted first:
    the status is then that of `fenced`. Raises `TxnRefused`.
    """
    if expected is not None and not _is_own(status, expected):
        raise TxnRefused(ErrorCode.PRODUCER_FENCED)
    if status.state is TxnState.ONGOING:
        return fenced(status, now)
    if expected is None or expected.epoch == status.epoch:
        last = NO_EPOCH if expected is None else status.epoch
        following = ProducerEpoch(status.producer_id, status.epoch + 1)
        producer = ProducerEpoch(new_id(), 0) if status.is_exhausted else following
        return _emptied(status, producer, last, timeout, now)
    if expected.epoch == status.last_epoch:
        return _emptied(status, status.producer, status.last_epoch, timeout, now)
    raise TxnRefused(ErrorCode.PRODUCER_FENCED)


def _is_own(status: TxnStatus, expected: ProducerEpoch) -> bool:
    """Return True if the producer has the id now, or had it until its epochs were used up."""
    if expected.producer_id == status.producer_id:
        return True
    return expected.producer_id == status.previous_producer_id and expected.epoch >= EPOCH_LAST


def _emptied(
    status: TxnStatus, producer: ProducerEpoch, last_epoch: int, timeout: int, now: int
) -> TxnStatus:
    is_new_id = producer.producer_id != status.producer_id
    return TxnStatus(
        producer.producer_id,
        producer.epoch,
        timeout,
        TxnState.EMPTY,
        now,
        last_epoch=last_epoch,
        previous_producer_id=status.producer_id if is_new_id else status.previous_producer_id,
        version=status.version,
    )


# Partitions


def with_partitions(
    status: TxnStatus, producer: ProducerEpoch, partitions: Set[TopicPartition], version: int, now: int
) -> TxnStatus:
    """Return the status with partitions added to its transaction, which begins with the first ones.

    It is the same one if they are in it already. Raises `TxnRefused`.
    """
    _check_producer(status, producer)
    if status.state is TxnState.ONGOING:
        if partitions <= status.partitions:
            return status
        return replace(status, partitions=status.partitions | partitions, updated=now, version=version)
    return replace(
        status,
        state=TxnState.ONGOING,
        partitions=frozenset(partitions),
        started=now,
        updated=now,
        version=version,
    )


def check_member(status: TxnStatus, producer: ProducerEpoch, partition: TopicPartition) -> None:
    """Check that a partition is in the producer's transaction. Raises `TxnRefused`."""
    _check_producer(status, producer)
    if status.state.is_prepared:
        raise TxnRefused(ErrorCode.CONCURRENT_TRANSACTIONS)
    if partition not in status.partitions:
        raise TxnRefused(ErrorCode.TRANSACTION_ABORTABLE, f"{partition} is not in the transaction")


def _check_producer(status: TxnStatus, producer: ProducerEpoch) -> None:
    if producer.producer_id != status.producer_id:
        raise TxnRefused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if producer.epoch != status.epoch:
        raise TxnRefused(ErrorCode.PRODUCER_FENCED)


# The end


def prepared(
    status: TxnStatus, request: EndRequest, is_busy: bool, now: int, new_id: Callable[[], int]
) -> TxnStatus:
    """Return the status of a transaction that a client ends: prepared, or the same one if it has ended so.

    Raises `TxnRefused`.
    """
    if request.version < EPOCH_BUMPS_SINCE:
        return _prepared_in_its_epoch(status, request, is_busy, now)
    if is_busy:
        raise TxnRefused(ErrorCode.CONCURRENT_TRANSACTIONS)
    epoch = request.producer.epoch
    is_retry = status.epoch == epoch + 1
    if request.producer.producer_id != status.producer_id:
        if not _is_retry_of_last_epoch(status, request.producer):
            raise TxnRefused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        is_retry = True
    has_ended = status.state in (TxnState.COMPLETE_COMMIT, TxnState.COMPLETE_ABORT)
    if epoch >= EPOCH_MAX or (epoch != status.epoch and not (has_ended and is_retry)):
        raise TxnRefused(ErrorCode.PRODUCER_FENCED)
    if is_retry:
        if request.commit == status.is_commit:
            return status
        raise TxnRefused(ErrorCode.INVALID_TXN_STATE)
    if status.state is not TxnState.ONGOING and request.commit:
        raise TxnRefused(ErrorCode.INVALID_TXN_STATE)
    return replace(
        status,
        state=TxnState.PREPARE_COMMIT if request.commit else TxnState.PREPARE_ABORT,
        epoch=epoch + 1,
        last_epoch=epoch,
        next_producer_id=new_id() if status.is_exhausted else NO_PRODUCER,
        started=status.started if status.state is TxnState.ONGOING else now,
        updated=now,
        version=request.version,
    )


def _is_retry_of_last_epoch(status: TxnStatus, producer: ProducerEpoch) -> bool:
    """Return True if a producer repeats the request that used up the epochs of its id."""
    was_own = producer.producer_id == status.previous_producer_id
    return was_own and producer.epoch == EPOCH_LAST and status.epoch == 0


def _prepared_in_its_epoch(status: TxnStatus, request: EndRequest, is_busy: bool, now: int) -> TxnStatus:
    _check_producer(status, request.producer)
    if is_busy:
        raise TxnRefused(ErrorCode.CONCURRENT_TRANSACTIONS)
    if status.state is TxnState.ONGOING:
        state = TxnState.PREPARE_COMMIT if request.commit else TxnState.PREPARE_ABORT
        return replace(status, state=state, updated=now, version=request.version)
    if status.state is (TxnState.COMPLETE_COMMIT if request.commit else TxnState.COMPLETE_ABORT):
        return status
    raise TxnRefused(ErrorCode.INVALID_TXN_STATE)


def fenced(status: TxnStatus, now: int) -> TxnStatus:
    """Return the status of an open transaction that is aborted without its producer, whose epoch ends.

    As in Kafka, fencing takes an epoch, and so does the abort in version 2 of transactions.
    """
    bumps = 2 if status.version >= EPOCH_BUMPS_SINCE else 1
    return replace(
        status,
        state=TxnState.PREPARE_ABORT,
        epoch=min(status.epoch + bumps, EPOCH_MAX),
        last_epoch=NO_EPOCH if bumps == 1 else status.epoch + 1,
        updated=now,
    )


def answer_of(status: TxnStatus) -> ProducerEpoch:
    """Return the producer with which a client continues after its transaction was prepared."""
    if status.next_producer_id != NO_PRODUCER:
        return ProducerEpoch(status.next_producer_id, 0)
    return status.producer


def completed(status: TxnStatus, now: int) -> TxnStatus:
    """Return the status of a prepared transaction whose markers are written."""
    producer = answer_of(status)
    has_new_id = status.next_producer_id != NO_PRODUCER
    return replace(
        status,
        state=TxnState.COMPLETE_COMMIT if status.is_commit else TxnState.COMPLETE_ABORT,
        producer_id=producer.producer_id,
        epoch=producer.epoch,
        previous_producer_id=status.producer_id if has_new_id else status.previous_producer_id,
        next_producer_id=NO_PRODUCER,
        partitions=frozenset(),
        updated=now,
    )


def is_timed_out(status: TxnStatus, now: int) -> bool:
    """Return True if a transaction is open for longer than its timeout."""
    return status.state is TxnState.ONGOING and status.started + status.timeout < now


def is_expired(status: TxnStatus, now: int, retention: int) -> bool:
    """Return True if an id without a transaction has not been used for `retention` ms."""
    is_idle = status.state in (TxnState.EMPTY, TxnState.COMPLETE_COMMIT, TxnState.COMPLETE_ABORT)
    return is_idle and status.updated + retention <= now
