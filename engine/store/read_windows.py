"""Parts of the log as memory, for records that lie apart: each costs a copy there, and no call of the system.

A part is used only as long as the system says that all of it is in memory: who reads it never waits for the
disk, nor meets an error of the disk, which would end the process. The parts are few and small, as what is
mapped counts as memory of this process.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from mqgateway.engine.clock import monotonic_seconds
from mqgateway.engine.disk import PART_UNIT, File, Part, Slices

PART_SIZE: Final = max(1 << 20, PART_UNIT)
PARTS = 16
FRESH_SECONDS: Final = 1.0
"""How long it is believed that a part is, or is not, in memory."""


class _Window:
    """A part, and how much of it was in memory when that was last asked."""

    def __init__(self, part: Part | None) -> None:
        self.part = part
        self.size = 0
        self.asked = 0.0


class ReadWindows:
    """The parts that were read last."""

    def __init__(self, now: Callable[[], float] = monotonic_seconds) -> None:
        self._now = now
        self._windows: OrderedDict[tuple[tuple[str, int], int], _Window] = OrderedDict()

    def get(
        self, place: tuple[str, int], file: File, offset: int, length: int, file_size: int
    ) -> tuple[Slices, int, int] | None:
        """The bytes around `offset` of a file, and where in it they begin and end; None unless in memory.

        `place` are the file's directory and start; of its bytes the first `length` are looked at.
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
        if now - window.asked > FRESH_SECONDS or offset - begin >= window.size > 0:
            window.size = size if window.part.is_ready(size) else 0
            window.asked = now
        return (window.part.buffer, begin, begin + window.size) if window.size else None

    def forget(self, directory: str, start: int) -> None:
        """Let go of a file that is about to go, or its room would stay taken."""
        for key in [key for key in self._windows if key[0] == (directory, start)]:
            del self._windows[key]

    def clear(self) -> None:
        """Let go of everything."""
        self._windows.clear()
