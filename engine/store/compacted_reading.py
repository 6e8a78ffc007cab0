"""Reading the compacted parts of queues: their records instead of those of the log, and not all of them.

An answer ends where the part does; the next one continues in the log.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import islice, takewhile
from typing import Final

from mqgateway.engine.store.batch_answer import BatchAnswer
from mqgateway.engine.store.batch_consume_queue import BatchConsumeQueue, BatchUnit
from mqgateway.engine.store.batch_records import offsets_of, unit_of
from mqgateway.engine.store.cold import ColdRead
from mqgateway.engine.store.compacted_part import NONE, CompactedPart
from mqgateway.engine.store.results import GetResult, GetStatus

TOGETHER: Final = 32
"""Records that are taken together for an answer."""
BORN: Final = struct.Struct(">40xq")
"""The beginning of a record, with its born timestamp."""
Key = tuple[str, int]
"""Topic and queue id."""


class CompactedReading:
    """Reads `parts`, those of one store. Queues are passed with offsets before their `compacted_end`, so they
    have a part."""

    def __init__(self) -> None:
        self.parts: dict[Key, CompactedPart] = {}

    def of(self, queue: BatchConsumeQueue) -> CompactedPart:
        """Return the part of a queue that has one."""
        return self.parts[queue.topic, queue.queue_id]

    def fill(
        self,
        queue: BatchConsumeQueue,
        offset: int,
        end: int,
        window: int,
        answer: BatchAnswer,
        may_wait: bool,
    ) -> None:
        """Have an answer take up to `window` records of a part from an offset on, and before `end`. Raises
        `ColdRead` and `OSError`."""
        part = self.of(queue)
        records = self._before(part, offset, end, may_wait)
        try:
            while answer.passed < window and not answer.is_full:
                together = min(TOGETHER, window - answer.passed)
                taken = {unit_of(record): record for record in islice(records, together)}
                if not taken:
                    answer.next_offset = max(answer.next_offset, min(part.end, end))
                    return
                answer.take(list(taken), {unit.base_offset: taken[unit] for unit in taken}, may_wait)
        except ColdRead:
            if not answer.has_passed:
                raise

    def _before(self, part: CompactedPart, offset: int, end: int, may_wait: bool) -> Iterator[bytes]:
        """Return the records of a part from an offset on, and before `end`."""
        records = part.records(offset, may_wait)
        return records if part.end <= end else takewhile(lambda record: offsets_of(record)[0] < end, records)

    def records(
        self,
        queue: BatchConsumeQueue,
        offset: int,
        end: int,
        max_count: int,
        max_bytes: int,
        may_wait: bool,
    ) -> GetResult:
        """Return up to `max_count` records of a part before `end` as they are stored, at least one. Raises
        `ColdRead` and `OSError`."""
        part = self.of(queue)
        records, offsets, next_offset = list[bytes](), list[int](), min(part.end, end)
        count = total = 0
        try:
            for record in self._before(part, offset, end, may_wait):
                unit = unit_of(record)
                count += unit.messages
                total += unit.size
                if records and (len(records) >= max_count or total > max_bytes):
                    next_offset = unit.base_offset
                    break
                records.append(record)
                offsets.append(unit.base_offset)
                next_offset = unit.end_offset
        except ColdRead:
            if not records:
                raise
        low, high = queue.min_offset, queue.max_offset
        if not records:
            return GetResult(GetStatus.NO_MATCHED_MESSAGE, next_offset, low, high)
        return GetResult(GetStatus.FOUND, next_offset, low, high, b"", offsets, True, count, 0, records)

    def units(self, queue: BatchConsumeQueue, offset: int, most: int, may_wait: bool) -> list[BatchUnit]:
        """Return units for some records of a part from an offset on. Raises `ColdRead` and `OSError`."""
        return [unit_of(record) for record in islice(self.of(queue).records(offset, may_wait), most)]

    def born_timestamps(
        self, queue: BatchConsumeQueue, offset: int, most: int, may_wait: bool
    ) -> tuple[list[tuple[int, int]], int]:
        """Return offset and born timestamp of some records from an offset on, and the offset to read next.
        Raises `ColdRead` and `OSError`."""
        part, times, next_offset = self.of(queue), list[tuple[int, int]](), offset
        for record in islice(part.records(offset, may_wait), most):
            unit = unit_of(record)
            times.append((unit.base_offset, BORN.unpack_from(record)[0]))
            next_offset = unit.end_offset
        return times, next_offset if len(times) == most else part.end

    def store_time(self, queue: BatchConsumeQueue, offset: int, may_wait: bool) -> int:
        """Return when the first record from an offset on was stored, in ms; -1 if there is none. Raises
        `ColdRead` and `OSError`."""
        units = self.units(queue, offset, 1, may_wait)
        return units[0].store_timestamp if units else NONE

    def offset_by_time(self, queue: BatchConsumeQueue, time: int, upper: bool, may_wait: bool) -> int | None:
        """Return the offset of the first record that was stored at or after a time in ms, or with `upper` of
        the last one at or before it; None if the log has it. Raises `ColdRead` and `OSError`."""
        part = self.of(queue)
        after = part.offset_at(time + 1 if upper else time, may_wait)
        if after >= part.end:
            number = queue.number_of(part.end, may_wait)
            behind = next(queue.units_from(number, 1, may_wait), None)
            if behind is not None and (not upper or behind.store_timestamp <= time):
                return None
        if upper or after >= part.end:
            after = part.last_before(after, may_wait)
        return max(queue.min_offset, after)
