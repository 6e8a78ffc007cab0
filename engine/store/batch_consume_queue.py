"""Batch consume queues: for a topic whose queue.type is BatchCQ, one unit for each stored batch.

    unit = physical-offset i8, size i4, tags-code i8, store-time i8 (ms), base-offset i8, messages i2,
           compact-offset i4 (-1), reserved i4 (0)                                        (46 bytes)

A batch is one record, and its messages have the queue offsets from base-offset on. A message that came alone
has a unit with messages = 1. Units are found by halving, as their numbers are not queue offsets; offsets
may have gaps. Standard: `BatchConsumeQueue`, which leaves out messages that came alone.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from mqgateway.engine.store.file_queue import FilePool
from mqgateway.engine.store.unit_queue import BLANK_PLACE, PAGE, UnitQueue

BATCH_UNIT: Final = struct.Struct(">qiqqqhii")
BATCH_UNIT_SIZE: Final = BATCH_UNIT.size
assert BATCH_UNIT_SIZE == 46
BATCH_COUNT_MAX: Final = 0x7FFF
NOT_COMPACTED: Final = -1
_UNITS_A_PAGE: Final = PAGE // BATCH_UNIT_SIZE
_NUMBERS_MAX: Final = 64
"""Readers of a queue whose units are kept."""


class BatchUnit(NamedTuple):
    """One unit; times in ms."""

    physical_offset: int
    size: int
    tags_code: int
    store_timestamp: int
    base_offset: int
    messages: int
    compact_offset: int
    reserved: int

    @property
    def end_offset(self) -> int:
        """The queue offset after the last message."""
        return self.base_offset + self.messages


class BatchConsumeQueue(UnitQueue):
    """One queue. Offsets are those of single messages.

    Its compacted part, in a file of its own (`compacted_part`), has the messages from `compacted_begin` to
    `compacted_end`, whether their units are still there or not. Both are 0 without one.
    """

    __slots__ = ("_numbers", "compacted_begin", "compacted_end", "max_offset")

    unit_size = BATCH_UNIT_SIZE
    blank = BATCH_UNIT.pack(*BLANK_PLACE, 0, 0, 0, 0, NOT_COMPACTED, 0)

    def __init__(self, pool: FilePool, directory: str, file_size: int, topic: str, queue_id: int) -> None:
        super().__init__(pool, directory, file_size, topic, queue_id)
        self.max_offset = 0
        self.compacted_begin = self.compacted_end = 0
        self._numbers: dict[int, int] = {}

    def restore(self, state: list[int]) -> None:
        super().restore(state)
        self.max_offset = self.next_offset

    def append(
        self,
        base_offset: int,
        physical_offset: int,
        size: int,
        tags_code: int,
        store_timestamp: int,
        count: int,
    ) -> None:
        """Put the unit of a record; one that is there already is left alone (dispatch may repeat itself)."""
        if base_offset < self.max_offset:
            return
        if not self.max_offset:
            self.min_offset = base_offset
        self.tail += BATCH_UNIT.pack(
            physical_offset, size, tags_code, store_timestamp, base_offset, count, NOT_COMPACTED, 0
        )
        self.max_offset = base_offset + count

    def give_way(self, base_offset: int, physical_offset: int) -> None:
        """Make room for the unit of a record that is read again; see `ConsumeQueue.give_way`."""
        if base_offset < self.max_offset:
            number = self.number_of(base_offset)
            place = self.place(number)
            if (place is None or place[0] != physical_offset) and 0 < number <= self.first:
                self.reset()
            elif place is None or place[0] != physical_offset:
                self.cut_units(number)
        self.cut_places_after(physical_offset, self.number_of(base_offset))

    def units(self, offset: int, count: int, may_wait: bool = True) -> Iterator[BatchUnit]:
        """Yield up to `count` units from the one with the message at `offset`, or the next that exists. See
        `read` for `may_wait`."""
        yield from self.units_from(self.number_of(offset, may_wait), count, may_wait)

    def units_from(self, number: int, count: int, may_wait: bool = True) -> Iterator[BatchUnit]:
        """Yield up to `count` units from a number on, of one file at most."""
        data = self.read(number, count, may_wait)
        for fields in BATCH_UNIT.iter_unpack(data[: len(data) // BATCH_UNIT_SIZE * BATCH_UNIT_SIZE]):
            yield BatchUnit(*fields)

    def number_of(self, offset: int, may_wait: bool = True) -> int:
        """Return the first unit whose messages do not all come before `offset`. A reader that continues where
        the last answer ended costs no search; see `remember`."""
        number = self._numbers.get(offset, -1)
        if self.first <= number <= self.end:
            return number
        return self._search(lambda unit: unit.end_offset <= offset, may_wait)

    def remember(self, offset: int, number: int) -> None:
        """Keep the unit with which a reader will continue at `offset`."""
        self._numbers.pop(offset, None)
        self._numbers[offset] = number
        if len(self._numbers) > _NUMBERS_MAX:
            del self._numbers[next(iter(self._numbers))]

    def _search(self, is_before: Callable[[BatchUnit], bool], may_wait: bool) -> int:
        """Return the first unit that is not before what is looked for; all before it are. Units are read a
        page at a time, from the tail if they are there."""
        low, high = self.first, self.end
        if low < self.tail_start < high:
            [newest] = self.units_from(self.tail_start, 1)
            if is_before(newest):
                low = self.tail_start + 1
        while low < high:
            middle = (low + high) // 2
            begin = max(low, middle - _UNITS_A_PAGE // 2)
            page = list(self.units_from(begin, min(_UNITS_A_PAGE, high - begin), may_wait))
            inside = bisect_left(page, True, key=lambda unit: not is_before(unit))
            if not page:
                high = min(middle, high - 1)
            elif inside == len(page):
                low = begin + inside
            elif inside or begin == low:
                return begin + inside
            else:
                high = begin
        return low

    def unit(self, offset: int, may_wait: bool = True) -> tuple[int, int, int] | None:
        """Physical offset, size and tags code of the record with the message at `offset`, or None."""
        found = next(self.units(offset, 1, may_wait), None)
        return found[:3] if found is not None and found.base_offset <= offset else None

    def offset_of(self, number: int, may_wait: bool = True) -> int:
        """Return the queue offset of the first message that a unit stands for."""
        unit = self._unit(number, may_wait)
        return -1 if unit is None else unit.base_offset

    def offset_by_time(self, time: int, upper: bool, may_wait: bool = True) -> int:
        """Return the first message of the first batch stored at or after a time in ms; with `upper`, of the
        last one stored at or before it. Beyond the ends of the queue, of the nearer batch that is there. The
        compacted part is not looked at.

        Standard: `BatchConsumeQueue.getOffsetInQueueByTime`.
        """
        first = self.number_of(max(self.min_offset, self.compacted_end), may_wait)

        def is_before(unit: BatchUnit) -> bool:
            return unit.store_timestamp < time or (upper and unit.store_timestamp == time)

        low = max(first, self._search(is_before, may_wait))
        number = low - 1 if upper else low
        found = self.offset_of(max(first, min(number, self.end - 1)), may_wait)
        return max(self.min_offset, found)

    def correct_min(self, min_physical_offset: int) -> None:
        """Move `min_offset` to the first message that is still in the log, or in the compacted part, and not
        removed by a marker.

        Standard: `BatchConsumeQueue.correctMinOffset`.
        """
        if self.compacted_end:
            self.min_offset = min(max(self.compacted_begin, self.start), self.max_offset)
            return
        self.min_offset = max(self.first_offset_in_log(min_physical_offset), self.start)

    def first_offset_in_log(self, min_physical_offset: int) -> int:
        """Return the offset of the first message that is still in the log, the end of the queue if there is
        none."""
        unit = self._unit(self.first_in_log(min_physical_offset, 0))
        return self.max_offset if unit is None else unit.base_offset

    def continue_at(self, offset: int) -> None:
        """Give the next message of a queue without units this offset."""
        self.max_offset = self.next_offset = self.opened_at = offset

    def _unit(self, number: int, may_wait: bool = True) -> BatchUnit | None:
        data = self.read(number, 1, may_wait)
        return BatchUnit(*BATCH_UNIT.unpack(data)) if len(data) == BATCH_UNIT_SIZE else None

    def _adjust_ends(self) -> None:
        self._numbers.clear()
        last = self._unit(self.end - 1) if self.end > self.first else None
        self.max_offset = self.next_offset = 0 if last is None else last.end_offset
        self.start = min(self.start, self.max_offset)
        self.min_offset = min(self.min_offset, self.max_offset)
