"""The timer log: one unit of 52 bytes for every timer, in the order of their topic.

A unit points to the message in the commit log and to the previous unit in the same slot of the wheel. Units
are appended in batches (`append`, then `write`); `read` returns one, `scan` all of them from a position on.
Files have one length; a tail ends a full one. RocketMQ: `TimerLog`.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable, Iterator
from typing import NamedTuple

from mqgateway.engine.disk import Disk
from mqgateway.engine.store.file_queue import FilePool, FileQueue, clear_tail

UNIT = struct.Struct(">iqiqiqiiq")
UNIT_SIZE = UNIT.size
TAIL = struct.Struct(">iqI")
MAGIC_BLANK = 0xCBD43194
DEFAULT = 1
ROLL = 2
DELETE = 4
"""Bits of a unit's magic. RocketMQ: MAGIC_DEFAULT, MAGIC_ROLL, MAGIC_DELETE."""
MARK = 1
"""Last word of a unit that delivers nothing, see `enqueue`. RocketMQ writes 0 there."""
_WINDOW = 2048
_SCAN = UNIT_SIZE << 14


class Unit(NamedTuple):
    """One timer: position of the previous one in its slot, kind, times of writing and delay (ms), and the log
    offset of its message.
    """

    previous: int
    magic: int
    written: int
    delay: int
    physical_offset: int
    size: int
    topic_hash: int
    mark: int = 0

    @property
    def time(self) -> int:
        """The time of its slot, in ms since the epoch."""
        return self.written + self.delay


class TimerLog:
    """Appends and reads units. `position` is the start of the next batch."""

    def __init__(self, disk: Disk, directory: str, file_size: int) -> None:
        self.files = FileQueue(FilePool(disk, limit=8), directory, file_size)
        self.position = 0
        self._next = 0
        self._batch: list[tuple[int, bytes]] = []
        self._window = (0, b"")

    def load(self, repair: bool) -> None:
        """Find the files; `open_at` must follow. `repair` as for `FileQueue.load`."""
        self.files.load(repair)

    @property
    def begin(self) -> int:
        """The first position in the log."""
        return self.files.starts[0] if self.files.starts else 0

    def open_at(self, position: int) -> None:
        """Truncate the log at a position, where the next batch is written."""
        self.files.cut(position)
        self.position = self._next = position

    def append(self, unit: Unit) -> int:
        """Add a unit to the batch; return its position."""
        size = self.files.file_size
        at = self._next
        left = size - at % size
        if left < UNIT_SIZE + TAIL.size:
            self._batch.append((at, TAIL.pack(left, 0, MAGIC_BLANK)))
            at += left
        self._batch.append((at, UNIT.pack(UNIT_SIZE, *unit)))
        self._next = at + UNIT_SIZE
        return at

    def write(self) -> None:
        """Write the batch. Raises `OSError`; then the batch is dropped and nothing has moved."""
        batch, self._batch = self._batch, []
        begin = 0
        try:
            while begin < len(batch):
                end = begin + 1
                start = self.files.start_of(batch[begin][0])
                while end < len(batch) and self.files.start_of(batch[end][0]) == start:
                    end += 1
                self.files.write(batch[begin][0], b"".join(data for _, data in batch[begin:end]))
                begin = end
        except OSError:
            self._next = self.position
            start = self.files.start_of(self.position)
            if start in self.files.starts:
                with contextlib.suppress(OSError):
                    clear_tail(self.files.file(start), self.position - start, self.files.file_size)
            raise
        self.position = self._next
        if batch:
            self._window = (0, b"")

    def read(self, position: int) -> Unit | None:
        """Return the unit at a position; None if there is none."""
        start, data = self._window
        if not start <= position <= start + len(data) - UNIT_SIZE:
            if not self.begin <= position < self.position:
                return None
            # Units of one slot are often adjacent, and their chain is walked both ways.
            start = max(position - _WINDOW, self.files.start_of(position))
            data = self.files.read(start, position + UNIT_SIZE + _WINDOW - start)
            self._window = (start, data)
            if len(data) < position + UNIT_SIZE - start:
                return None
        return _decode(data, position - start)

    def read_at(self, position: int) -> Unit | None:
        """Return the unit at a position of the files, whether the log is open or not."""
        data = self.files.read(position, UNIT_SIZE)
        return _decode(data, 0) if len(data) == UNIT_SIZE else None

    def scan(self, position: int) -> Iterator[tuple[int, Unit | None]]:
        """Yield position and unit, starting at a position.

        The last pair has None: the end of the readable units.
        """
        size = self.files.file_size
        while position < self.files.end:
            left = self.files.start_of(position) + size - position
            data = self.files.read(position, min(_SCAN, left))
            at, unit = 0, None
            while at + UNIT_SIZE <= len(data) and (unit := _decode(data, at)) is not None:
                yield position + at, unit
                at += UNIT_SIZE
            position += at
            if unit is None or left - at < UNIT_SIZE:
                if not _is_tail(data[at:]):
                    break
                position += left - at
        yield position, None

    def clean(self, is_gone: Callable[[int], bool]) -> int:
        """Delete files whose last message is gone, by `is_gone` of its log offset; return their number."""
        size = self.files.file_size
        last = (size - TAIL.size) // UNIT_SIZE * UNIT_SIZE - UNIT_SIZE

        def is_over(start: int) -> bool:
            unit = self.read(start + last)
            return unit is not None and is_gone(unit.physical_offset)

        count = self.files.count_while(is_over)
        if count:
            self._window = (0, b"")
            self.files.drop_first(count)
        return count


def _is_tail(data: bytes) -> bool:
    return len(data) >= TAIL.size and bool(TAIL.unpack_from(data)[2] == MAGIC_BLANK)


def _decode(data: bytes, at: int) -> Unit | None:
    size, *fields = UNIT.unpack_from(data, at)
    unit = Unit(*fields)
    is_whole = size == UNIT_SIZE and unit.magic & DEFAULT and unit.magic <= 0xF and unit.size > 0
    return unit if is_whole else None
