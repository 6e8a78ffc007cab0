"""The log of a coordinator in a topic of Kafka's, as record batches.

It is one queue. Records that are written together are one batch.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from twisted.internet.defer import Deferred, maybeDeferred
from twisted.python.failure import Failure

from mqgateway.engine.errors import StoreError
from mqgateway.engine.record_batches.batches import Batch, pack_batch
from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.gateway.broker.operations import OperationError, Reason
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.coordinator.records_log import NotWritten, Records, Stored

log = logging.getLogger(__name__)

Span = bytes | bytearray | memoryview
"""A batch."""


class NotReadable(Exception):
    """A queue that cannot be read to its end for now."""


class BatchQueue(Protocol):
    """One queue of whole batches."""

    def start(self) -> int:
        """Return the offset of the oldest record that can be read."""
        ...

    def append(self, batch: bytearray) -> Deferred[int] | int:
        """Write a batch; return its base offset once it is as durable as the settings demand. Batches get
        their offsets in the order of the calls. Raises or fails with `OperationError` or `StoreError`."""
        ...

    def read(self, offset: int) -> Sequence[Span] | Deferred[Sequence[Span]]:
        """Return batches from the one with an offset on; none at the end of the queue. Raises or fails with
        `NotReadable`, `OperationError` or `StoreError`, and may then be tried again."""
        ...

    def release(self, before: int) -> None:
        """Move the start of the queue to an offset."""
        ...


class CoordinatorTopic:
    """See `coordinator.records_log.RecordsLog`. `millis` returns the wall time of new records.

    `subject` says what the records are about.
    """

    def __init__(self, queue: BatchQueue, millis: Callable[[], int], subject: str) -> None:
        self._queue = queue
        self._millis = millis
        self._subject = subject

    def append(self, records: Records) -> Deferred[int]:
        """See `RecordsLog`."""
        now, count = self._millis(), len(records)
        batch = pack_batch(records.body, count, count - 1, base_timestamp=now, max_timestamp=now)

        def write() -> Any:  # Twisted's types know no function that may return either
            return self._queue.append(batch)

        done: Deferred[int] = maybeDeferred(write)
        return done.addErrback(_refused)

    def replay(self) -> Iterator[Stored | None]:
        """See `RecordsLog`. A queue that cannot be read is tried again and again."""
        offset = 0
        problem = ""

        def read() -> Any:  # Twisted's types know no function that may return either
            nonlocal offset
            offset = max(offset, self._queue.start())
            return self._queue.read(offset)

        while True:
            outcomes: list[Sequence[Span] | Failure] = []
            reading: Deferred[Sequence[Span]] = maybeDeferred(read)
            reading.addCallbacks(outcomes.append, outcomes.append)
            while not outcomes:
                yield None
            [outcome] = outcomes
            if isinstance(outcome, Failure):
                if not isinstance(outcome.value, (NotReadable, OperationError, StoreError)):
                    outcome.raiseException()
                if problem != (problem := outcome.getErrorMessage()):
                    log.warning("%s cannot be read yet: %s", self._subject, problem)
                yield None
                continue
            if not outcome:
                return
            for span in outcome:
                batch = Batch(memoryview(span))
                yield from _records(batch, offset)
                offset = batch.last_offset + 1

    def release(self, before: int) -> None:
        """See `RecordsLog`."""
        self._queue.release(before)


def _records(batch: Batch, since: int) -> Iterator[Stored]:
    """Yield the records of a batch from an offset on; markers of transactions are no records."""
    if batch.is_control:
        return
    try:
        for record in batch.records():
            offset = batch.base_offset + record.offset_delta
            if offset >= since and record.key is not None:
                value = None if record.value is None else bytes(record.value)
                time = batch.base_timestamp + record.timestamp_delta
                yield Stored(offset, time, bytes(record.key), value)
    except CodecError as error:
        log.warning("records of offset %d and later are skipped: %s", batch.base_offset, error)


def _refused(failure: Failure) -> int:
    """Raise `NotWritten` for the failure of a batch."""
    error = failure.value
    if not isinstance(error, (OperationError, StoreError)):
        failure.raiseException()
    is_too_large = isinstance(error, OperationError) and error.reason is Reason.MESSAGE_ILLEGAL
    code = ErrorCode.UNKNOWN_SERVER_ERROR if is_too_large else ErrorCode.COORDINATOR_NOT_AVAILABLE
    raise NotWritten(code, str(error)) from error
