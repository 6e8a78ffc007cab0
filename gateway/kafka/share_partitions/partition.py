"""The state of one share partition: which records a group has acquired, acknowledged, or is yet to get. Pure.

From `start` on, records up to `next` are in flight or done; those before `start` are done. Records are
acquired by batches that were read from the partition. A member has them for some time; then, or if it
releases them, they are available again, until they were delivered as often as is allowed.

Standard: `SharePartition`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.coordinator.refusal import Refused
from mqgateway.gateway.kafka.share_groups.settings import ShareGroupSettings
from mqgateway.gateway.kafka.share_partitions.dead_letters import (
    DELIVERED_TOO_OFTEN,
    REJECTED,
    DeadLetters,
    restored_cause,
)
from mqgateway.gateway.kafka.share_partitions.first_deliveries import FirstDeliveries, delivered_together
from mqgateway.gateway.kafka.share_partitions.ranges import (
    Change,
    OffsetRange,
    RecordState,
    between,
    change_between,
    merged,
)
from mqgateway.gateway.kafka.share_partitions.settings import throttled_from
from mqgateway.gateway.kafka.share_partitions.spans import Acquired, BatchSpan, batch_end, join

GAP: Final = 0
ACCEPT: Final = 1
RELEASE: Final = 2
REJECT: Final = 3
RENEW: Final = 4
"""Types of acknowledgements. A gap is an offset at which the client found no record."""

_AVAILABLE: Final = RecordState.AVAILABLE
_ACQUIRED: Final = RecordState.ACQUIRED
_ARCHIVING: Final = RecordState.ARCHIVING
_ARCHIVED: Final = RecordState.ARCHIVED
NEVER: Final = 2**63 - 1


class Acquisition(NamedTuple):
    """A member's wish for records: at most `records` of them, exactly so if `is_exact`, else to the end of
    their batch. It has them until `deadline`, ms of the steady clock, in parts of about `batch_size`."""

    member: str
    records: int
    batch_size: int
    is_exact: bool
    deadline: int


class Acknowledgement(NamedTuple):
    """Offsets `first` to `last`, with a type for all of them or one for each."""

    first: int
    last: int
    types: Sequence[int]

    def runs(self) -> Iterator[tuple[int, int, int]]:
        """Yield first offset, last offset and type of neighbours with the same type."""
        if len(self.types) == 1:
            yield self.first, self.last, self.types[0]
            return
        begin = 0
        for index in range(1, len(self.types) + 1):
            if index == len(self.types) or self.types[index] != self.types[begin]:
                yield self.first + begin, self.first + index - 1, self.types[begin]
                begin = index


class _Ending(NamedTuple):
    """The outcome of changes: the ranges that members do not have any more, and dead letters among them."""

    changed: list[OffsetRange]
    dead: list[DeadLetters]

    def end(
        self, one: OffsetRange, state: RecordState, cause: str, settings: ShareGroupSettings
    ) -> OffsetRange:
        """Take a range from its member. It becomes a dead letter instead of archived for `cause`, if there is
        one and the group has a topic for it."""
        if state is _ARCHIVED and cause and settings.dead_letter_topic:
            state = _ARCHIVING
            self.dead.append(DeadLetters(one.first, one.last, one.deliveries, cause))
        self.changed.append(after := one.become(state))
        return after

    def free(self, one: OffsetRange, settings: ShareGroupSettings) -> OffsetRange:
        """Make a range available, unless it was delivered as often as is allowed."""
        is_left = one.deliveries < settings.delivery_count_limit
        return self.end(one, _AVAILABLE if is_left else _ARCHIVED, DELIVERED_TOO_OFTEN, settings)


class SharePartition:
    """The state of a share partition that begins at an offset."""

    __slots__ = ("_changed", "_dead", "_first_deliveries", "_may_have_available", "next", "ranges", "start")

    def __init__(self, start: int) -> None:
        self.start = self.next = start
        self.ranges: list[OffsetRange] = []
        self._changed: list[OffsetRange] = []
        self._dead: list[DeadLetters] = []
        self._first_deliveries = FirstDeliveries()
        self._may_have_available = False

    @classmethod
    def restored(cls, start: int, batches: Iterable[OffsetRange]) -> SharePartition:
        """Return the state of stored batches. A later batch replaces what earlier ones say of its offsets;
        offsets of which none says anything were not delivered yet. Records with the same state count as
        delivered together."""
        state = cls(start)
        for one in batches:
            if one.first > state.next:
                state._add(OffsetRange(state.next, one.first - 1, _AVAILABLE, 0))
            if one.last >= state.next:
                state._add(OffsetRange(state.next, one.last, _AVAILABLE, 0))
            change_between(state.ranges, one.first, one.last, _becoming(one))
        state._first_deliveries = FirstDeliveries(one.first for one in state.ranges)
        state._may_have_available = True
        state._advance()
        return state

    def stored(self) -> list[OffsetRange]:
        """Return the batches of which the state can be restored. Records that are acquired are available
        then, as if their members had not got them."""
        return merged(
            one._replace(state=_AVAILABLE, deliveries=one.deliveries - 1, member="", deadline=0)
            if one.state is _ACQUIRED
            else one
            for one in self.ranges
            if one.state.is_final or one.deliveries > (one.state is _ACQUIRED)
        )

    def changed(self) -> list[OffsetRange]:
        """Return what has changed since the last call, in the order of the changes."""
        changed, self._changed = self._changed, []
        return changed

    def dead_letters(self) -> list[DeadLetters]:
        """Return the dead letters of the changes since the last call. Their records are archived later."""
        dead, self._dead = self._dead, []
        return dead

    def return_dead_letters(self, letters: list[DeadLetters]) -> None:
        """Take dead letters back, for the next call."""
        self._dead[:0] = letters

    def restored_dead_letters(self, limit: int) -> list[DeadLetters]:
        """Return the dead letters of a restored state. `limit` is `share.delivery.count.limit`."""
        return [
            DeadLetters(one.first, one.last, one.deliveries, restored_cause(one.deliveries, limit))
            for one in self.ranges
            if one.state is _ARCHIVING
        ]

    @property
    def done(self) -> int:
        """The number of records from the start on that the group is done with."""
        return sum(one.size for one in self.ranges if one.state.is_final)

    @property
    def deadline(self) -> int:
        """The first deadline of an acquired record, `NEVER` without one."""
        return min((one.deadline for one in self.ranges if one.state is _ACQUIRED), default=NEVER)

    @property
    def next_offset(self) -> int:
        """The offset of the first record that can be acquired."""
        if self._may_have_available:
            for one in self.ranges:
                if one.state is _AVAILABLE:
                    return one.first
            self._may_have_available = False
        return self.next

    def can_acquire(self, settings: ShareGroupSettings) -> bool:
        """Return True unless all records are acquired that may be in flight together."""
        return self.next_offset != self.next or self.next - self.start < settings.partition_max_record_locks

    # Acquiring

    def acquire(
        self, wish: Acquisition, offset: int, spans: Sequence[BatchSpan], settings: ShareGroupSettings
    ) -> list[Acquired]:
        """Acquire records of batches that were read from an offset on.

        Offsets before the first batch have no record any more. Nothing is acquired if the state was set back
        since the read began.
        """
        if not spans or offset > self.next:
            return []
        if offset < spans[0].first:
            self._skip(offset, spans[0].first - 1)
        last = spans[-1].last
        room = settings.partition_max_record_locks - (self.next - self.start)
        count = min(wish.records, room)
        if room <= 0:
            last = min(last, self.next - 1)
            count = min(wish.records, self.next - offset)
        acquired, has_throttled = self._acquire_available(wish, spans, last, count, settings)
        count -= sum(one.last - one.first + 1 for one in acquired)
        if not has_throttled and count > 0 and last >= self.next >= spans[0].first:
            acquired += self._acquire_new(wish, spans, last, count)
        return acquired

    def _skip(self, first: int, last: int) -> None:
        """Archive offsets without a record."""
        self._archive(first, last, _AVAILABLE)
        if last >= self.next:
            self._add(OffsetRange(self.next, last, RecordState.ARCHIVED, 0))
        self._advance()

    def _acquire_available(
        self,
        wish: Acquisition,
        spans: Sequence[BatchSpan],
        last: int,
        count: int,
        settings: ShareGroupSettings,
    ) -> tuple[list[Acquired], bool]:
        """Acquire records that are available again; return them, and True if no others may come with them.

        Records that were delivered often come without those of other batches.
        """
        acquired: list[Acquired] = []
        low, limit = max(self.start, spans[0].first), settings.delivery_count_limit
        least = throttled_from(limit)
        found = self._available(low, last)
        for size, available in self._first_deliveries.by_batch(found, self.next):
            has_throttled = any(one.deliveries >= least for one in available)
            if count <= 0 or (has_throttled and acquired):
                return acquired, has_throttled
            if has_throttled:
                available = delivered_together(available, size, limit)
            for one in available:
                allowed = one.first + count - 1
                end = min(one.last, allowed if wish.is_exact or has_throttled else batch_end(spans, allowed))
                if count > 0 and one.first <= end:
                    change_between(self.ranges, one.first, end, _acquiring(wish))
                    join(acquired, Acquired(one.first, end, one.deliveries + 1))
                    count -= end - one.first + 1
            if has_throttled:
                return acquired, True
        return acquired, False

    def _available(self, first: int, last: int) -> list[OffsetRange]:
        """Return the records from `first` to `last` that are available."""
        return [
            one._replace(first=max(one.first, first), last=min(one.last, last))
            for one in between(self.ranges, first, last)
            if one.state is _AVAILABLE
        ]

    def _acquire_new(
        self, wish: Acquisition, spans: Sequence[BatchSpan], last: int, count: int
    ) -> list[Acquired]:
        """Acquire records that were not delivered yet."""
        first = self.next
        limit = first + count - 1
        if limit < last:
            last = limit if wish.is_exact else batch_end(spans, limit)
        self._add(OffsetRange(first, last, _ACQUIRED, 1, wish.member, wish.deadline))
        if wish.is_exact:
            return [Acquired(first, last, 1)]
        acquired: list[Acquired] = []
        for span in spans:
            if first + wish.batch_size <= span.first <= last:
                acquired.append(Acquired(first, span.first - 1, 1))
                first = span.first
                self._first_deliveries.begin(first)
        return [*acquired, Acquired(first, last, 1)]

    def archive(self, first: int, last: int) -> None:
        """Archive records that were just acquired and must not be delivered."""
        self._archive(first, last, _ACQUIRED)
        self._advance()

    def archive_dead_letters(self, letters: Iterable[DeadLetters]) -> None:
        """Archive records whose dead letters are written, or cannot be."""
        for one in letters:
            self._archive(one.first, one.last, _ARCHIVING)
        self._advance()

    def _archive(self, first: int, last: int, state: RecordState) -> None:
        def change(one: OffsetRange) -> OffsetRange:
            if one.state is not state:
                return one
            self._changed.append(archived := one.become(RecordState.ARCHIVED))
            return archived

        change_between(self.ranges, first, last, change)

    # Acknowledging

    def acknowledge(
        self,
        member: str,
        acknowledgements: Iterable[Acknowledgement],
        deadline: int,
        settings: ShareGroupSettings,
    ) -> bool:
        """Apply all acknowledgements of a member or none; return True if more than deadlines changed.

        A renewed lock lasts until `deadline`. Raises `Refused`.
        """
        ranges, ending = list(self.ranges), _Ending([], [])
        for one in acknowledgements:
            if one.last < self.start:
                continue
            self._check_known(one)
            for first, last, kind in one.runs():
                if last >= self.start:
                    change = _acknowledging(member, kind, deadline, settings, ending)
                    change_between(ranges, max(first, self.start), last, change)
        self.ranges = ranges
        return self._note(ending)

    def _check_known(self, one: Acknowledgement) -> None:
        if not self.ranges:
            message = "Batch record not found. The request batch offsets are not found in the cache."
            raise Refused(ErrorCode.INVALID_RECORD_STATE, message)
        if one.last >= self.next:
            which = "first" if one.first >= self.next else "last"
            message = f"Batch record not found. The {which} offset in request is past acquired records."
            raise Refused(ErrorCode.INVALID_REQUEST, message)

    def release(self, member: str, settings: ShareGroupSettings) -> bool:
        """Free the records of a member; return True if it had any."""
        return self._free(lambda one: one.member == member, settings)

    def expire(self, now: int, settings: ShareGroupSettings) -> bool:
        """Free the records whose deadline has passed; return True if there were any."""
        return self._free(lambda one: one.deadline <= now, settings)

    def _free(self, is_due: Callable[[OffsetRange], bool], settings: ShareGroupSettings) -> bool:
        ranges, ending = list[OffsetRange](), _Ending([], [])
        for one in self.ranges:
            is_freed = one.state is _ACQUIRED and is_due(one)
            ranges.append(ending.free(one, settings) if is_freed else one)
        self.ranges = merged(ranges)
        return self._note(ending)

    # The log

    def move_start(self, offset: int) -> None:
        """Begin at an offset or later: earlier records were removed from the log."""
        if offset <= self.start:
            return
        self.start, self.next = offset, max(offset, self.next)
        kept = between(self.ranges, offset, self.next)
        self.ranges = [one._replace(first=max(one.first, offset)) for one in kept]
        self._advance()

    def truncate(self, end: int) -> None:
        """End at an offset or earlier: the log has no later records."""
        if end >= self.next:
            return
        self.start, self.next = min(self.start, end), end
        kept = between(self.ranges, self.start, end - 1)
        self.ranges = [one._replace(last=min(one.last, end - 1)) for one in kept]
        self._advance()

    # Ranges

    def _add(self, one: OffsetRange) -> None:
        self._first_deliveries.begin(one.first)
        self.ranges[-1:] = merged((*self.ranges[-1:], one))
        self.next = one.last + 1

    def _note(self, ending: _Ending) -> bool:
        """Note ranges that members do not have any more; return True if there are any."""
        self._changed += ending.changed
        self._dead += ending.dead
        self._may_have_available = True
        self._advance()
        return bool(ending.changed)

    def _advance(self) -> None:
        """Move the start over the records that the group is done with."""
        done = next(
            (index for index, one in enumerate(self.ranges) if not one.state.is_final), len(self.ranges)
        )
        if done:
            self.start = self.ranges[done - 1].last + 1
            del self.ranges[:done]
        self._first_deliveries.keep(self.start, self.next)


def _acquiring(wish: Acquisition) -> Change:
    def change(one: OffsetRange) -> OffsetRange:
        deliveries = one.deliveries + 1
        return OffsetRange(one.first, one.last, _ACQUIRED, deliveries, wish.member, wish.deadline)

    return change


def _becoming(stored: OffsetRange) -> Change:
    return lambda one: stored._replace(first=one.first, last=one.last)


def _acknowledging(
    member: str, kind: int, deadline: int, settings: ShareGroupSettings, ending: _Ending
) -> Change:
    def change(one: OffsetRange) -> OffsetRange:
        if one.state is not _ACQUIRED:
            message = "The batch cannot be acknowledged. The batch is not in the acquired state."
            raise Refused(ErrorCode.INVALID_RECORD_STATE, message)
        if one.member != member:
            raise Refused(ErrorCode.INVALID_RECORD_STATE, "Member is not the owner of batch record")
        if kind == RENEW and not settings.can_renew:
            message = "Renewing acquisition locks is not enabled for the group."
            raise Refused(ErrorCode.INVALID_RECORD_STATE, message)
        if kind == RENEW:
            return one._replace(deadline=deadline)
        if kind == RELEASE:
            return ending.free(one, settings)
        if kind == ACCEPT:
            return ending.end(one, RecordState.ACKNOWLEDGED, "", settings)
        return ending.end(one, _ARCHIVED, REJECTED if kind == REJECT else "", settings)

    return change
