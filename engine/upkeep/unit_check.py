"""Comparison of a consume queue with the log: the expected units of its records, one after another.

Records of a queue come in the order of its units, so each queue is read once, in chunks. A unit as expected
costs one comparison of bytes; others are analysed. Works for both kinds of queue: units are counted by
number, and their expected bytes come from `queue_check`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

from mqgateway.engine.store.file_queue import FileQueue
from mqgateway.engine.store.unit_queue import BLANK_PLACE, PLACE
from mqgateway.engine.upkeep.findings import Findings, StorePart
from mqgateway.engine.upkeep.layout import REBUILD, place, read

_SCAN = 1 << 18


class LogExtent:
    """State of the store that all queues need: the start of the log, and its damaged ranges.

    `repairs_tail` is True if the next start dispatches missing units at the queues' ends, as after an unclean
    stop.
    """

    def __init__(
        self, log_start: int, is_damaged: Callable[[int], bool], repairs_tail: bool, chunk: int
    ) -> None:
        self.log_start = log_start
        self.is_damaged = is_damaged
        self.repairs_tail = repairs_tail
        self.chunk = chunk
        self.log_end = 1 << 63

    def repairs(self, offset: int) -> bool:
        """Return True if the next start removes a unit with this offset, as the log's end was lost."""
        return self.repairs_tail and offset >= self.log_end


class UnitCheck:
    """One queue.

    `next` is the number of the unit expected for the next record (-1 before the first record), `count` the
    number of correct units. Records before `since` are of a deleted topic of the same name.
    """

    __slots__ = (
        "_base",
        "_data",
        "_findings",
        "_known",
        "_missing",
        "_missing_from",
        "_part",
        "count",
        "files",
        "next",
        "since",
        "unit_size",
    )

    def __init__(
        self, files: FileQueue, part: StorePart, unit_size: int, known: LogExtent, findings: Findings
    ) -> None:
        self.files = files
        self.unit_size = unit_size
        self.next = -1
        self.count = 0
        self._part = part
        self._known = known
        self._findings = findings
        self._data = b""
        self._base = 0
        self._missing_from = 0
        self._missing = 0
        offset, size = PLACE.unpack(self.read(self.first)[: PLACE.size].ljust(PLACE.size, b"\0"))
        self.since = offset if size not in (0, BLANK_PLACE[1]) and offset > known.log_start else -1

    @property
    def first(self) -> int:
        """Number of the first unit that the files can contain."""
        return -(-self.files.starts[0] // self.unit_size) if self.files.starts else 0

    def expect(self, number: int, unit: bytes) -> bool:
        """Compare unit `number`, of the next record, with `unit`; return True if they are equal."""
        at = (number - self._base) * self.unit_size
        if number == self.next and self._data[at : at + len(unit)] == unit and at >= 0:
            self.next = number + 1
            self.count += 1
            return True
        return self._expect_other(number, unit)

    def read(self, number: int) -> bytes:
        """Return a unit's bytes, through the chunk in memory; fewer if there is none."""
        at = (number - self._base) * self.unit_size
        if not 0 <= at < len(self._data):
            self._base, at = number, 0
            self._data = read(self.files, number * self.unit_size, self._known.chunk * self.unit_size)
        return self._data[at : at + self.unit_size]

    def _expect_other(self, number: int, unit: bytes) -> bool:
        if self.next < 0:
            if PLACE.unpack_from(unit)[0] < self.since:
                return False
            self._check_before(number)
        elif number < self.next:
            self._error(
                number,
                f"unit {number} is that of a second record, at {PLACE.unpack_from(unit)[0]} of the log, too",
            )
            return False
        else:
            self._check_without_record(self.next, number)
        self.next = number + 1
        found = self.read(number)
        if found == unit:
            self.count += 1
            self._end_missing(is_last=False)
            return True
        if not found.strip(b"\0"):
            if not self._missing:
                self._missing_from = number
            self._missing += 1
            return False
        self._end_missing(is_last=False)
        self._error(number, f"unit {number} is {found.hex()}, by its record it should be {unit.hex()}")
        return False

    def _check_before(self, number: int) -> None:
        """Check the units before that of the first record in the log: blank, or of deleted records."""
        at, end, log_start = self.first, number, self._known.log_start
        while at < end:
            data = read(self.files, at * self.unit_size, min(end - at, _SCAN) * self.unit_size)
            count = len(data) // self.unit_size
            for n in range(count):
                offset, size = PLACE.unpack_from(data, n * self.unit_size)
                has_gone = size > 0 and (0 <= offset < log_start or self._known.is_damaged(offset))
                if size != BLANK_PLACE[1] and not has_gone:
                    self._report_stray(at + n, offset)
                    return
            if not count:
                count = (
                    self.files.start_of(at * self.unit_size) + self.files.file_size
                ) // self.unit_size - at
            at += count

    def _check_without_record(self, number: int, end: int) -> None:
        """Check the units between those of two consecutive records."""
        while number < end:
            found = self.read(number)
            offset, size = PLACE.unpack_from(found) if len(found) == self.unit_size else (0, 0)
            if size != BLANK_PLACE[1] and not (size > 0 and self._known.is_damaged(offset)):
                self._report_stray(number, offset)
                return
            number += 1

    def finish(self) -> None:
        """Check the units after the last record's."""
        self._end_missing(is_last=True)
        if not self.files.starts:
            return
        if self.next < 0:
            self._check_only_old()
            return
        extra = self.next
        while PLACE.size <= len(found := self.read(extra)) and PLACE.unpack_from(found)[1] > 0:
            offset = PLACE.unpack_from(found)[0]
            if not self._known.is_damaged(offset):
                self._report_stray(extra, offset)
                return
            extra += 1
        self._check_zeros(extra)

    def _report_stray(self, number: int, offset: int) -> None:
        repairs = self._known.repairs(offset)
        self._findings.add(
            not repairs,
            self._part,
            *place(self.files, number * self.unit_size),
            f"unit {number} has offset {offset}, where no record of its queue lies",
            "the next start takes it away" if repairs else REBUILD,
        )

    def _check_only_old(self) -> None:
        """Check a queue without remaining records, or whose units have no records."""
        low, high = self.first, self.files.end // self.unit_size
        numbers = range(low, high)
        end = low + bisect_left(numbers, True, key=lambda number: not self._is_unit(number))
        self._check_before(end)
        self.next = end

    def _is_unit(self, number: int) -> bool:
        found = read(self.files, number * self.unit_size, PLACE.size)
        return len(found) == PLACE.size and PLACE.unpack(found)[1] > 0

    def _check_zeros(self, number: int) -> None:
        """Check that zeros follow the last unit: other bytes mislead the search for the end."""
        files, at = self.files, number * self.unit_size
        for start in files.starts:
            begin, end = max(at, start), start + files.file(start).used()
            data = files.read(begin, end - begin) if begin < end else b""
            if data.count(0) != len(data):
                first = begin + len(data) - len(data.lstrip(b"\0"))
                what = f"there is something after the last unit, {number - 1}"
                self._findings.error(self._part, *place(files, first), what, REBUILD)
                return

    def _end_missing(self, *, is_last: bool) -> None:
        if not self._missing:
            return
        count, self._missing = self._missing, 0
        repaired = is_last and self._known.repairs_tail
        last = self._missing_from + count - 1
        self._findings.add(
            not repaired,
            self._part,
            *place(self.files, self._missing_from * self.unit_size),
            f"units {self._missing_from} to {last} are missing, though the log has their records",
            "the next start writes them" if repaired else REBUILD,
        )

    def _error(self, number: int, what: str) -> None:
        self._findings.error(self._part, *place(self.files, number * self.unit_size), what, REBUILD)
