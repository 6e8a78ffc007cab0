"""The file `timerwheel`: the pending timers by due time, one slot per step of time.

A slot has the positions in the timer log of its first and its last unit. Slots are numbered by time modulo
the wheel's length, two weeks of seconds by default, and contain their time; so an old slot need not be
cleared. The file is read and written in place and never kept in memory. RocketMQ: `TimerWheel`, `Slot`.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Iterator
from typing import NamedTuple
from zlib import crc32

from mqgateway.engine.disk import Disk, File
from mqgateway.engine.errors import CorruptFile

SLOT = struct.Struct(">qqqii")
SLOT_SIZE = SLOT.size
SLOTS = 7 * 24 * 3600
"""Slots of half the wheel, whatever the precision. RocketMQ: TIMER_WHEEL_TTL_DAY * DAY_SECS."""
NONE = -1
"""The position of no unit."""
_FIRST_CHUNK = 16
_LAST_CHUNK = 1 << 15
_CRC_CHUNK = 1 << 20


class Slot(NamedTuple):
    """The timers of one time (ms): positions of the first and last unit, and their number."""

    time: int
    first: int
    last: int
    total: int


class Wheel:
    """The slots. Times are ms since the epoch; those within one step of `precision` ms share a slot."""

    def __init__(self, disk: Disk, path: str, precision: int, slots: int = SLOTS) -> None:
        self._disk = disk
        self._path = path
        self.precision = precision
        self.slots = 2 * slots
        self.file: File | None = None
        self.is_new = False
        """True if the file did not exist before."""

    def open(self, *, create: bool = True) -> None:
        """Open the file; with `create` a missing one is created.

        Raises `OSError`, and `CorruptFile` for one of another length.
        """
        self.is_new = not self._disk.exists(self._path)
        self.file = self._disk.open(self._path, create)
        size, right = self.file.size(), self.length
        if size == 0 and create:
            self.is_new = True
            self.file.truncate(right)
        elif size != right:
            raise CorruptFile(self._path, size, f"a wheel has {right} bytes")

    @property
    def length(self) -> int:
        """Size of the file in bytes."""
        return self.slots * SLOT_SIZE

    def crc(self) -> int:
        """Return the CRC32 of the whole file. Raises `OSError`."""
        assert self.file is not None
        value = 0
        for at in range(0, self.length, _CRC_CHUNK):
            value = crc32(self.file.read(at, min(_CRC_CHUNK, self.length - at)), value)
        return value

    def misplaced(self) -> Iterator[int]:
        """Yield the numbers of slots that contain data for a time that is not theirs."""
        for number, count in self._runs(0, self.slots):
            for at, step, last, _ in self._filled(number, count):
                if (step or last) and step % self.slots != number + at:
                    yield number + at

    def floor(self, time: int) -> int:
        """Return the time of the slot of a time."""
        return time - time % self.precision

    def get(self, time: int) -> Slot | None:
        """Return the slot of a time; None if nothing was set for it."""
        assert self.file is not None
        step = time // self.precision
        found, first, last, total, _ = SLOT.unpack(
            self.file.read(step % self.slots * SLOT_SIZE, SLOT_SIZE),
        )
        return Slot(step * self.precision, first, last, total) if found == step and last != NONE else None

    def put(self, slot: Slot) -> None:
        """Write a slot, replacing its content."""
        assert self.file is not None
        step = slot.time // self.precision
        data = SLOT.pack(step, slot.first, slot.last, slot.total, 0)
        self.file.write(step % self.slots * SLOT_SIZE, data)

    def clear(self, begin: int, end: int) -> None:
        """Empty the slots of [begin, end), at most all."""
        assert self.file is not None
        for number, count in self._runs(begin // self.precision, end // self.precision):
            self.file.write(number * SLOT_SIZE, bytes(count * SLOT_SIZE))

    def used(self, begin: int, end: int) -> Iterator[Slot]:
        """Yield the used slots of [begin, end), by time; one turn of the wheel at most."""
        step = begin // self.precision
        for number, count in self._runs(step, end // self.precision):
            for at, found, last, data in self._filled(number, count):
                if found == step + at and last != NONE:
                    yield self._slot(data, at)
            step += count

    def beyond(self, position: int) -> list[Slot]:
        """Return the slots, of any time, that refer to units at or after a position of the timer log."""
        return [
            self._slot(data, at)
            for number, count in self._runs(0, self.slots)
            for at, found, last, data in self._filled(number, count)
            if last >= position and found
        ]

    def _filled(self, number: int, count: int) -> Iterator[tuple[int, int, int, bytes]]:
        """Yield for adjacent slots, unless all are zero: number among them, step, last, all bytes."""
        assert self.file is not None
        data = self.file.read(number * SLOT_SIZE, count * SLOT_SIZE)
        if data != bytes(len(data)):
            for at, (found, last) in enumerate(zip(_column(data, 0), _column(data, 2), strict=True)):
                yield at, found, last, data

    def _slot(self, data: bytes, at: int) -> Slot:
        step, first, last, total, _ = SLOT.unpack_from(data, at * SLOT_SIZE)
        return Slot(step * self.precision, first, last, total)

    def _runs(self, step: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield slot numbers and counts that cover the steps [step, end) without crossing the file's end.

        Small ones first, as the slot searched for is often the next.
        """
        left = min(end - step, self.slots)
        chunk = _FIRST_CHUNK
        while left > 0:
            number = step % self.slots
            count = min(left, self.slots - number, chunk)
            yield number, count
            step += count
            left -= count
            chunk = min(2 * chunk, _LAST_CHUNK)


def _column(data: bytes, word: int) -> array[int]:
    """Return one of the 8-byte words of each slot."""
    column = array("q", data)[word :: SLOT_SIZE // 8]
    if sys.byteorder == "little":
        column.byteswap()
    return column
