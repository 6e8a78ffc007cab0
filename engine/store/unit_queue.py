"""Units of one length, one for each record of a queue, in the order of the log: base of both kinds of queue.

Every unit begins with its record's place: physical-offset i8, size i4. Unit n is at byte n times the unit's
length. New units stay in memory (`tail`) and are written on the flush interval or beyond a size; they can be
read at once. Units are counted here by number; each kind of queue maps them to queue offsets. RocketMQ:
`ConsumeQueueInterface`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import ClassVar, Final, NamedTuple

from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.store.file_queue import FilePool, FileQueue, file_name

PLACE: Final = struct.Struct(">qi")
"""Physical offset and size of a record, the first two words of any unit."""
PAGE = 4096
BLANK_PLACE: Final = (0, 0x7FFFFFFF)
"""First words of a unit without a record."""


class FirstFile(NamedTuple):
    """The first file of a queue, not created yet, and the units it begins with, if known."""

    directory: str
    start: int
    size: int
    units: bytes


def _believe(_: CorruptFile) -> None:
    """Accept a file length: a queue that is loaded by itself has no others to compare with."""


class UnitQueue:
    """The units of one queue.

    - `next_offset`: the queue offset of the next stored message.
    - `max_offset`: the first offset that cannot be read yet; less than `next_offset` by what was stored but
      not dispatched.
    - `min_offset`: the first offset in the log, or `start` if that is later.
    - `opened_at`: the first offset since the store was opened.
    - `start`: the offset before which a marker deleted the messages (`views.starts`), 0 without one.
    - `tail_start`: the number of the first unit in memory.
    - `was_cut`: True if files were truncated, not durably yet.
    - `is_holed`: True if valid units were behind an invalid one.
    - `doubt`: the log position from which on records of the queue may exist whose units were lost with a
      file; -1 if there is no sign of that. If none is before `doubt_end`, there are none.
    """

    __slots__ = (
        "_files",
        "dirty",
        "doubt",
        "doubt_end",
        "is_holed",
        "min_offset",
        "next_offset",
        "opened_at",
        "queue_id",
        "start",
        "tail",
        "tail_start",
        "topic",
        "was_cut",
    )

    unit_size: ClassVar[int]
    blank: ClassVar[bytes]
    """Placeholder before the first unit of a queue that does not begin with unit 0."""

    def __init__(self, pool: FilePool, directory: str, file_size: int, topic: str, queue_id: int) -> None:
        self.topic = topic
        self.queue_id = queue_id
        self._files = FileQueue(pool, directory, file_size)
        self.next_offset = 0
        self.min_offset = 0
        self.start = 0
        self.tail_start = 0
        self.tail = bytearray()
        self.dirty = False
        self.was_cut = False
        self.opened_at = 0
        self.is_holed = False
        self.doubt = -1
        self.doubt_end = 1 << 63

    @property
    def directory(self) -> str:
        """Directory of the files."""
        return self._files.directory

    @property
    def has_files(self) -> bool:
        """True if there is any file."""
        return bool(self._files.starts)

    def has_all_files(self) -> bool:
        """Return True if every file has a name on the disk; none is opened."""
        directory, exists = self._files.directory, self._files.disk.exists
        return all(exists(f"{directory}/{file_name(start)}") for start in self._files.starts)

    @property
    def end(self) -> int:
        """The number after the last unit."""
        return self.tail_start + len(self.tail) // self.unit_size

    @property
    def first(self) -> int:
        """The number of the first unit that the files can contain."""
        return self._files.starts[0] // self.unit_size if self._files.starts else self.tail_start

    def read(self, number: int, count: int, may_wait: bool = True) -> bytes | bytearray:
        """Return up to `count` units from a number, of those that exist.

        Raises `ColdRead` without `may_wait` for bytes that are not in memory.
        """
        unit_size = self.unit_size
        at = number - self.tail_start
        if at >= 0:
            return self.tail[at * unit_size : (at + count) * unit_size]
        data = self._files.read(number * unit_size, min(count, -at) * unit_size, may_wait)
        if count > -at and len(data) == -at * unit_size:
            data += self.tail[: (count + at) * unit_size]
        return data

    def place(self, number: int) -> tuple[int, int] | None:
        """Return physical offset and size of the record of a unit; None if there is no such unit."""
        data = self.read(number, 1)
        return PLACE.unpack_from(data) if len(data) == self.unit_size else None

    def write_out(self) -> None:
        """Write the tail to its files, without a sync. Raises `OSError`; then the tail is kept."""
        if not self.tail:
            return
        files = self._files
        at = self.tail_start * self.unit_size
        if not files.starts:
            begin = files.start_of(at)
            files.write(begin, self.blank * ((at - begin) // self.unit_size))
        files.write(at, self.tail)
        self.tail_start += len(self.tail) // self.unit_size
        self.tail.clear()

    def first_file(self) -> FirstFile | None:
        """Return the file that `write_out` will create first; None if one exists, or there is no unit."""
        files = self._files
        if files.starts or not self.tail:
            return None
        at = self.tail_start * self.unit_size
        start = files.start_of(at)
        units = bytes(self.tail[: files.file_size]) if start == at else b""
        return FirstFile(files.directory, start, files.file_size, units)

    def begins_with(self, made: FirstFile) -> bool:
        """Return True if the queue still begins, or will begin, with this file."""
        if made.directory != self.directory:
            return False
        if self._files.starts:
            return made.start in self._files.starts
        is_there = bool(self.tail) and self._files.start_of(self.tail_start * self.unit_size) == made.start
        return is_there and self.tail.startswith(made.units)

    def adopt(self, made: FirstFile) -> None:
        """Take the units of a created file as written; `begins_with` must be True for it."""
        if self._files.starts or not made.units:
            return
        self._files.adopt(made.start)
        self.tail_start += len(made.units) // self.unit_size
        del self.tail[: len(made.units)]

    def touched(self, since: int) -> list[int]:
        """Return the starts of the files with units from `since` on."""
        first = self._files.start_of(since * self.unit_size)
        return [start for start in self._files.starts if start >= first]

    def load(
        self, below: int | None, oldest: int = 0, on_damage: Callable[[CorruptFile], None] = _believe
    ) -> None:
        """Find the files and the end of the units in them; `oldest` is the start of the log.

        See `FileQueue.load_derived` for `on_damage`. Units count while they are valid and, with `below`,
        refer to positions before that physical offset. Both hold for a prefix of the queue, so its end is
        found by binary search: mostly in the last page in use, which is all that is read then.
        """
        files = self._files
        hole = files.load_derived(below is not None, on_damage, self.unit_size)
        before = None if hole is None else self._last_before(hole[0])
        if hole is not None and hole[1] < files.end and (before is None or before < oldest):
            # All units before it refer to records that were deleted with the log's first files.
            files.drop_before(hole[1])
            hole = None
        if not files.starts:
            self.doubt = oldest
            return
        is_full = self._find_end(below)
        if hole is not None and hole[1] < files.end:
            self.doubt = oldest if before is None else before
            return
        self._doubt_begin(oldest)
        if self.doubt < 0 and (is_full or hole is not None):
            self._doubt_end(oldest, below is None)

    def _last_before(self, at: int) -> int | None:
        """Return the log position in the last unit before a byte of the files; None if there is none."""
        start = self._files.start_of(at - 1)
        if at <= 0 or start not in self._files.starts:
            return None
        number = at // self.unit_size - 1
        data = self._files.read(number * self.unit_size, PLACE.size)
        place = PLACE.unpack(data) if len(data) == PLACE.size else BLANK_PLACE
        return None if place == BLANK_PLACE or place[1] <= 0 else place[0]

    def _doubt_begin(self, oldest: int) -> None:
        """Suspect lost files at the beginning, unless the first unit's record is the log's oldest."""
        place = self.place(self.first) if self.first else None
        if place is not None and place != BLANK_PLACE and place[1] > 0 and place[0] > oldest:
            self.doubt, self.doubt_end = oldest, place[0]

    def _doubt_end(self, oldest: int, is_clean: bool) -> None:
        """Suspect lost units at the end: a file after a full one, or units that were truncated."""
        place = self.place(self.end - 1) if self.end > self.first else None
        if place is not None and place != BLANK_PLACE:
            self.doubt = max(oldest, place[0])
        elif is_clean:  # or the queue was created when the process ended
            self.doubt = oldest

    def _find_end(self, below: int | None) -> bool:
        """Find the end of the units; return True if all files are full."""
        files, unit_size = self._files, self.unit_size
        first, used = files.starts[0] // unit_size, -(-files.used() // unit_size)
        high = used
        page = max(first, high - PAGE // unit_size)
        data = files.read(page * unit_size, (high - page) * unit_size)

        def counts(number: int) -> bool:
            if number >= page:
                place = PLACE.unpack_from(data, (number - page) * unit_size)
            else:
                place = PLACE.unpack(files.read(number * unit_size, PLACE.size))
            return place[1] > 0 and place[0] >= 0 and (below is None or place[0] < below)

        low = page if page < high and counts(page) else first
        high = high if low == page else page
        while low < high:
            middle = (low + high) // 2
            if counts(middle):
                low = middle + 1
            else:
                high = middle
        if below is not None and low > first and not counts(first):
            low = first  # blanks of a deleted queue, behind units of its successor
        is_full = low == files.end // unit_size
        self.tail_start = files.end // unit_size
        rest = data[(low - page) * unit_size :]
        if low >= page and rest == bytes(len(rest)):
            # Zeros follow already, and truncation would only write them again.
            self.tail_start = low
            self._adjust_ends()
        else:
            self.is_holed = any(counts(number) for number in range(max(low + 1, page), used))
            self.cut_units(low)
        return is_full

    def state(self) -> list[int]:
        """Return queue id, first file, files, units, offsets for `restore`, when nothing is in memory."""
        starts = self._files.starts
        first = starts[0] if starts else 0
        return [self.queue_id, first, len(starts), self.end, self.min_offset, self.next_offset]

    def restore(self, state: list[int]) -> None:
        """Restore the result of `state`."""
        _, first, count, self.tail_start, self.min_offset, self.next_offset = state
        size = self._files.file_size
        self._files.starts = list(range(first, first + count * size, size))

    def cut_units(self, number: int) -> None:
        """Truncate the units from a number on."""
        if number >= self.tail_start:
            del self.tail[(number - self.tail_start) * self.unit_size :]
        else:
            self.tail.clear()
            self._files.cut(number * self.unit_size)
            self.tail_start = number
            self.was_cut = True
        self._adjust_ends()

    def reset(self) -> None:
        """Drop all units, and number the next ones from 0."""
        while self._files.starts:
            self._files.remove_last()
        self.tail.clear()
        self.tail_start = 0
        self.was_cut = True
        self._adjust_ends()

    def _adjust_ends(self) -> None:
        """Adjust the queue offsets to the units, whose end has moved."""
        raise NotImplementedError

    def cut_places_from(self, end: int) -> None:
        """Truncate the units of records at or after `end` of the log."""
        number = self.end
        while number > self.first:
            place = self.place(number - 1)
            if place is None or place[0] < end:
                break
            number -= 1
        if number < self.end:
            self.cut_units(number)

    def cut_places_after(self, physical_offset: int, number: int) -> None:
        """Truncate the units of records after an offset, if unit `number` is the next one or later."""
        if number >= self.end > self.first:
            place = self.place(self.end - 1)
            if place is not None and place[0] > physical_offset:
                self.cut_places_from(physical_offset)

    def cut_at_first(self, bad: Callable[[int], bool]) -> None:
        """Check the units one by one and truncate from the first on whose number is `bad`."""
        for number in range(self.first, self.end):
            if bad(number):
                self.cut_units(number)
                return

    def first_in_log(self, min_physical_offset: int, since: int) -> int:
        """Return the number of the first unit, from `since` on, whose record is still in the log."""
        low, high = max(since, self.first), self.end
        middle = low
        while low < high:
            place = self.place(middle)
            if place is None or (place[0] >= min_physical_offset and place[1] != BLANK_PLACE[1]):
                high = middle
            else:
                low = middle + 1
            middle = (low + high) // 2
        return min(low, self.end)

    def correct_min(self, min_physical_offset: int) -> None:
        """Advance `min_offset` to the first message that is still in the log and not removed by a marker."""
        raise NotImplementedError

    def number_of(self, offset: int, may_wait: bool = True) -> int:
        """Return the number of the unit with the message at a queue offset. See `read` for `may_wait`."""
        raise NotImplementedError

    def begin_at(self, start: int, min_physical_offset: int) -> None:
        """Set `start` to the offset of a marker, 0 for none.

        It may be less than that of a later marker that no longer exists.
        """
        if start < self.start:
            self.min_offset = 0  # messages come back
        self.start = start
        self.correct_min(min_physical_offset)

    def drop_before(self, min_physical_offset: int) -> int:
        """Delete files whose last unit refers to a deleted part of the log; return their number."""
        per_file = self._files.file_size // self.unit_size

        def expired(start: int) -> bool:
            last = self.place(start // self.unit_size + per_file - 1)
            return last is not None and last[0] < min_physical_offset

        count = self._files.count_while(expired)
        self._files.drop_first(count)
        self.correct_min(min_physical_offset)
        return count

    def destroy(self) -> None:
        """Delete all files and units."""
        self._files.destroy()
        self.tail.clear()
