"""Mapped parts of the log, for scattered records: reading one costs a copy, and no system call.

A part is used only while the system reports that all of it is in memory. A reader then never waits for the
disk, nor gets an I/O error, which would kill the process. The parts are few and small, as mapped memory
counts as memory of this process.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from mqgateway.engine.clock import monotonic_seconds
from mqgateway.engine.disk import PART_UNIT, File, MappedRegion, Slices

PART_SIZE: Final = max(1 << 20, PART_UNIT)
PARTS = 16
FRESH_SECONDS: Final = 1.0
"""Time in seconds for which the residency of a part is cached."""


class _Window:
    """A part, and the number of bytes that were in memory at the last check."""

    def __init__(self, part: MappedRegion | None) -> None:
        self.part = part
        self.size = 0
        self.read_at = 0.0


class ReadWindows:
    """Cache of the parts that were read last."""

    def __init__(self, now: Callable[[], float] = monotonic_seconds) -> None:
        self._now = now
        self._windows: OrderedDict[tuple[tuple[str, int], int], _Window] = OrderedDict()

    def get(
        self, place: tuple[str, int], file: File, offset: int, length: int, file_size: int
    ) -> tuple[Slices, int, int] | None:
        """Return the bytes around `offset` of a file, with their begin and end in it; None unless in memory.

        `place` is the file's directory and start. Only the first `length` bytes of the file are used.
        """
        begin = offset - offset % PART_SIZE
        key = (place, begin)
        window = self._windows.get(key)
        if window is None:
            part = file.part(begin, min(file_size - begin, PART_SIZE))
            window = self._windows[key] = _Window(part)
            if len(self._windows) > PARTS:
                self._windows.popitem(last=False)
        else:
            self._windows.move_to_end(key)
        if window.part is None:
            return None
        now, size = self._now(), min(length - begin, PART_SIZE)
        if now - window.read_at > FRESH_SECONDS or offset - begin >= window.size > 0:
            window.size = size if window.part.is_ready(size) else 0
            window.read_at = now
        return (window.part.buffer, begin, begin + window.size) if window.size else None

    def forget(self, directory: str, start: int) -> None:
        """Unmap a file that will be deleted, or its space would stay in use."""
        for key in [key for key in self._windows if key[0] == (directory, start)]:
            del self._windows[key]

    def clear(self) -> None:
        """Unmap everything."""
        self._windows.clear()
