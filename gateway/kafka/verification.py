"""First batches of transactions in partitions: the coordinator must know of them before they are appended.

Otherwise the batch of a producer whose transaction has ended would open one that is never ended. A batch of a
transaction that its partition has is not verified again. Kafka: `AddPartitionsToTxnManager`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.gateway.broker.operations import Appended, BatchOperations, OutOfOrder, Reason
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode

ABORTABLE_SINCE: Final = 11
"""Version of Produce from which clients know TRANSACTION_ABORTABLE."""
ADDS_SINCE: Final = 12
"""Version of Produce from which a batch adds its partition to the transaction (KIP-890)."""

Append = Callable[[], Appended | Deferred[Appended]]

_OUTSIDE: Final = frozenset((ErrorCode.INVALID_TXN_STATE, ErrorCode.TRANSACTION_ABORTABLE))
_AGAIN: Final = frozenset(
    (
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    )
)


class NotVerified(Exception):
    """A batch that its coordinator refuses, with Kafka's code."""

    def __init__(self, code: ErrorCode, message: str = "") -> None:
        super().__init__(message)
        self.code = code


class TransactionBatch(NamedTuple):
    """A transactional batch for a partition. `topic` is Kafka's name, `store_topic` the one in the store,
    where the partition is a queue.

    `first_sequence` is that of the batch, `version` that of the Produce request.
    """

    transactional_id: str
    producer_id: int
    epoch: int
    first_sequence: int
    topic: str
    store_topic: str
    partition: int
    queue_id: int
    version: int


class Verify(Protocol):
    """Asks the coordinator of a transactional id whether a partition belongs to the producer's transaction.

    With `adds` the partition is added first, durably. Fails with `NotVerified`.
    """

    def __call__(
        self, transactional_id: str, producer_id: int, epoch: int, topic: str, partition: int, *, adds: bool
    ) -> Deferred[None]:
        """Return once the batch may be appended."""


class Verification:
    """Transactional batches of one broker, in their order.

    Batches that come while the first one of their producer is verified wait for it.
    """

    def __init__(self, batches: BatchOperations, verify: Verify) -> None:
        self._batches = batches
        self._verify = verify
        self._waiting: dict[tuple[str, int, int], deque[Deferred[None]]] = {}

    def append(self, batch: TransactionBatch, append: Append) -> Appended | Deferred[Appended]:
        """Append a batch by calling `append`, once its coordinator knows of it. Fails with `NotVerified`."""
        waiting = self._waiting.get(_key(batch))
        if waiting is None:
            return self._begin(batch, append)
        turn: Deferred[None] = Deferred()
        waiting.append(turn)
        return turn.addCallback(lambda _: self._begin(batch, append))

    def _begin(self, batch: TransactionBatch, append: Append) -> Appended | Deferred[Appended]:
        producer_id, epoch = batch.producer_id, batch.epoch
        if self._batches.is_in_transaction(batch.store_topic, batch.queue_id, producer_id, epoch):
            return append()
        verified = self._verify(
            batch.transactional_id,
            producer_id,
            epoch,
            batch.topic,
            batch.partition,
            adds=batch.version >= ADDS_SINCE,
        )
        self._waiting[_key(batch)] = deque()
        return verified.addCallbacks(
            self._accepted, self._refused, callbackArgs=(batch, append), errbackArgs=(batch,)
        )

    def _accepted(self, _: None, batch: TransactionBatch, append: Append) -> Appended | Deferred[Appended]:
        """Append a batch, and release those that waited for it."""
        try:
            self._check_first(batch)
            return append()
        finally:
            self._release(_key(batch))

    def _check_first(self, batch: TransactionBatch) -> None:
        """Check that a batch that begins a transaction is the producer's first one, if its partition does not
        know the producer. Raises `OutOfOrder`.

        Clients number batches from 0 in each transaction of version 2. One that follows a batch that was
        refused would be stored before it. Kafka: `ProducerAppendInfo.checkSequence`.
        """
        if batch.version < ADDS_SINCE or batch.first_sequence == 0:
            return
        if not self._batches.has_had_transactions(batch.store_topic, batch.queue_id, batch.producer_id):
            text = (
                f"Invalid sequence number for producer {batch.producer_id} in partition "
                f"{batch.topic}-{batch.partition}: {batch.first_sequence}; its first one there must be 0"
            )
            raise OutOfOrder(Reason.ILLEGAL_OPERATION, text)

    def _refused(self, failure: Failure, batch: TransactionBatch) -> Failure:
        """Release the batches that waited for one that was refused."""
        self._release(_key(batch))
        if isinstance(failure.value, NotVerified):
            raise _translated(failure.value, batch.version) from failure.value
        return failure

    def _release(self, key: tuple[str, int, int]) -> None:
        waiting = self._waiting.pop(key)
        while waiting:
            waiting.popleft().callback(None)
            behind = self._waiting.get(key)
            if behind is not None:  # that one is verified now
                behind.extend(waiting)
                return


def _key(batch: TransactionBatch) -> tuple[str, int, int]:
    return batch.store_topic, batch.queue_id, batch.producer_id


def _translated(error: NotVerified, version: int) -> NotVerified:
    """Return an error with the code that clients of a version of Produce understand."""
    code = error.code
    if code in _OUTSIDE:
        is_known = version >= ABORTABLE_SINCE
        code = ErrorCode.TRANSACTION_ABORTABLE if is_known else ErrorCode.INVALID_TXN_STATE
    elif code is ErrorCode.PRODUCER_FENCED:
        code = ErrorCode.INVALID_PRODUCER_EPOCH
    elif code in _AGAIN or (code is ErrorCode.CONCURRENT_TRANSACTIONS and version < ADDS_SINCE):
        code = ErrorCode.NOT_ENOUGH_REPLICAS  # older clients send the batch again, without new metadata
    return NotVerified(code, str(error))
