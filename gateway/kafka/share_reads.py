"""Reads for members of share groups: batches are read where a group has records to deliver, and acquired.

A read that acquires nothing waits: for records, for records that others free, or for the end of its time.
Standard: `DelayedShareFetch`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.record_batches.batches import Batch
from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.gateway.broker.operations import (
    ClientConnection,
    OperationError,
    Operations,
    Permit,
    ReadBatches,
    ReadPosition,
)
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.errors import error_code
from mqgateway.gateway.kafka.share_coordination import ShareCoordination
from mqgateway.gateway.kafka.share_groups.settings import ShareGroupSettings
from mqgateway.gateway.kafka.share_partitions.partition import Acquisition, SharePartition
from mqgateway.gateway.kafka.share_partitions.records import ShareKey
from mqgateway.gateway.kafka.share_partitions.spans import Acquired, BatchSpan, aborted_spans, without
from mqgateway.gateway.kafka.share_partitions.waiters import ShareWaiter
from mqgateway.gateway.kafka.topics import Topic
from mqgateway.gateway.runtime.outcomes import pending, resolve

BYTES_MAX: Final = 4 * 1024 * 1024
"""Bytes of one answer, unless the first batch is larger; a client that wants more asks again."""
READ_BYTES: Final = 1024 * 1024
"""Bytes that are read of a partition, unless its first batch is larger. Most of what a client allows would be
read for nothing, as it limits the records too."""

Span = bytes | bytearray | memoryview


class ShareWish(NamedTuple):
    """A member's fetch of so many records and bytes, which may wait `max_wait` ms."""

    connection: ClientConnection
    permit: Permit
    member: str
    records: int
    batch_size: int
    is_exact: bool
    min_bytes: int
    max_bytes: int
    max_wait: int


class SharedRecords(NamedTuple):
    """The outcome for a partition: an error, or batches and the records of them that were acquired."""

    error: ErrorCode
    batches: Sequence[Span] = ()
    acquired: Sequence[Acquired] = ()


Outcome = dict[ShareKey, SharedRecords]


class ShareReads:
    """Reads of one broker."""

    def __init__(self, operations: Operations, shares: ShareCoordination) -> None:
        self.batches = operations.batches
        self.clock = operations.clock
        self.shares = shares
        self.table = shares.table

    def read(
        self, wish: ShareWish, group: str, places: Mapping[ShareKey, Topic]
    ) -> Outcome | Deferred[Outcome]:
        """Acquire records of partitions for a member, or wait for some until its deadline.

        The outcome has the partitions with records or an error.
        """
        return _ShareRead(self, wish, self.shares.settings(group), places).attempt()

    def pause(self, millis: int) -> Deferred[None]:
        """Return a Deferred that fires after some time."""
        paused: Deferred[None] = Deferred()
        waiter = ShareWaiter((), lambda _: False, lambda _: paused.callback(None))
        self.table.waiters.hold(waiter, elapsed_millis(self.clock) + millis)
        return paused


class _ShareRead:
    """One read, which is attempted again after each wait."""

    def __init__(
        self,
        reads: ShareReads,
        wish: ShareWish,
        settings: ShareGroupSettings,
        places: Mapping[ShareKey, Topic],
    ) -> None:
        self._reads = reads
        self._wish = wish
        self._settings = settings
        self._places = places
        self._deadline = elapsed_millis(reads.clock) + wish.max_wait
        self._max_bytes = min(wish.max_bytes, BYTES_MAX)
        self._outcome: Outcome = {}

    def attempt(self) -> Outcome | Deferred[Outcome]:
        """Read, and acquire what was read; wait if there is nothing."""
        reads, wish = self._reads, self._wish
        if not wish.connection.is_open:
            return self._outcome
        left = self._deadline - elapsed_millis(reads.clock)
        planned = self._planned()
        if self._outcome:  # errors are answered at once
            left = 0
        if not planned:
            return self._wait({}, None) if left > 0 else self._outcome
        found = reads.batches.fetch(
            wish.permit,
            list(planned.values()),
            wish.min_bytes,
            self._max_bytes,
            max(0, left),
            is_committed=self._settings.is_read_committed,
        )
        waiting = pending(found)
        if waiting is not None:
            return self._wait(planned, waiting)
        assert isinstance(found, list)
        self._take(planned, found)
        return self._outcome

    def _planned(self) -> dict[ShareKey, ReadPosition]:
        """Return where to read of the partitions that have records to acquire."""
        planned: dict[ShareKey, ReadPosition] = {}
        size = min(READ_BYTES, max(1, self._max_bytes // max(1, len(self._places))))
        for key, topic in self._places.items():
            try:
                state = self._reads.shares.partition(key, topic)
            except OperationError as error:
                code = error_code(error, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
                self._outcome[key] = SharedRecords(code)
                continue
            if state is not None and state.can_acquire(self._settings):
                planned[key] = ReadPosition(topic.store_name, key.partition, state.next_offset, size)
        return planned

    def _wait(
        self, planned: dict[ShareKey, ReadPosition], arriving: Deferred[list[ReadBatches]] | None
    ) -> Deferred[Outcome]:
        """Wait for records, for a change of a share partition, and for the end of the time."""
        waiters = self._reads.table.waiters
        is_woken = False

        def end(_: object) -> None:
            nonlocal is_woken
            is_woken = True
            waiters.forget(waiter)
            if arriving is not None:
                arriving.cancel()

        def wake(is_late: bool) -> None:
            end(None)
            resolve(outcome, self._outcome if is_late else self.attempt())

        def arrived(found: list[ReadBatches]) -> None:
            waiters.forget(waiter)
            resolve(outcome, self._arrived(planned, found))

        def failed(failure: Failure) -> None:
            if not is_woken:
                waiters.forget(waiter)
                outcome.errback(failure)

        outcome: Deferred[Outcome] = Deferred(end)
        waiter = ShareWaiter(self._places, lambda key: self._has_news(planned.get(key), key), wake)
        waiters.hold(waiter, self._deadline)
        if arriving is not None:
            arriving.addCallbacks(arrived, failed)
        return outcome

    def _has_news(self, waits_at: ReadPosition | None, key: ShareKey) -> bool:
        """Return True if a share partition has records to acquire elsewhere than where a read waits."""
        state = self._reads.table.get(key)
        if state is None:
            return True
        is_waiting = waits_at is not None and waits_at.offset == state.next_offset
        return not is_waiting and state.can_acquire(self._settings)

    def _arrived(
        self, planned: dict[ShareKey, ReadPosition], found: list[ReadBatches]
    ) -> Outcome | Deferred[Outcome]:
        """Acquire what has arrived; wait again if other members have acquired all of it."""
        if not self._wish.connection.is_open:
            return self._outcome
        self._take(planned, found)
        is_late = self._deadline <= elapsed_millis(self._reads.clock)
        return self._outcome if self._outcome or is_late else self.attempt()

    def _take(self, planned: dict[ShareKey, ReadPosition], found: list[ReadBatches]) -> None:
        """Acquire records of what was read."""
        left = self._wish.records
        for (key, position), read in zip(planned.items(), found, strict=True):
            if read.error is not None:
                code = error_code(read.error, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
                self._outcome[key] = SharedRecords(code)
                continue
            state = self._reads.table.get(key)
            if state is None:
                continue
            if read.is_out_of_range:
                self._move(key, state, read)
            elif read.spans and left > 0:
                left -= self._acquire(key, state, position.offset, read, left)

    def _move(self, key: ShareKey, state: SharePartition, read: ReadBatches) -> None:
        """Bring the state of a share partition to what the log has."""
        state.move_start(read.ends.log_start)
        if state.next > read.ends.high_watermark:
            self._reads.table.truncate(key, read.ends.high_watermark)

    def _acquire(
        self, key: ShareKey, state: SharePartition, offset: int, read: ReadBatches, records: int
    ) -> int:
        """Acquire records of a partition; return their number."""
        wish, settings = self._wish, self._settings
        try:
            spans = _spans(read.spans, state.start + settings.partition_max_record_locks)
        except CodecError:
            self._outcome[key] = SharedRecords(ErrorCode.CORRUPT_MESSAGE)
            return 0
        deadline = self._reads.table.lock_deadline(settings)
        is_exact = wish.is_exact or not self._places[key].keeps_batches  # else batches were built just now
        acquisition = Acquisition(wish.member, records, wish.batch_size, is_exact, deadline)
        acquired = state.acquire(acquisition, offset, spans, settings)
        if settings.is_read_committed and acquired:
            aborted = aborted_spans(spans, [(one.first_offset, one.producer_id) for one in read.aborted])
            for one in aborted:
                state.archive(one.first, one.last)
            acquired = without(acquired, aborted)
        if not acquired:
            return 0
        self._reads.table.watch(key)
        first, last = acquired[0].first, acquired[-1].last
        kept = [
            data
            for data, span in zip(read.spans, spans, strict=False)
            if first <= span.last and span.first <= last
        ]
        self._outcome[key] = SharedRecords(ErrorCode.NONE, kept, acquired)
        return sum(one.last - one.first + 1 for one in acquired)


def _spans(batches: Sequence[Span], end: int) -> list[BatchSpan]:
    """Return the offsets of batches, up to one that begins after an offset. Raises `CodecError`."""
    spans: list[BatchSpan] = []
    for data in batches:
        batch = Batch(memoryview(data))
        if spans and batch.base_offset > end:
            break
        producer_id = batch.producer_id if batch.is_transactional else -1
        spans.append(BatchSpan(batch.base_offset, batch.last_offset, producer_id, batch.is_control))
    return spans
