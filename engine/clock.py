"""Time: all code that needs the time takes a `Clock`.

`SystemClock` is the machine's; `ManualClock` is advanced by hand, so that no test waits.

There are two kinds of time. The wall clock (`Clock.millis`) may be set, back too: it is used for stored and
displayed times. Durations and deadlines use the monotonic clock (`Clock.monotonic`, `elapsed_millis`), which
is never set. Deadlines that are stored use `engine.steady_clock`.
"""

import time
from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """Wall time for stored and displayed times, monotonic time for durations."""

    def millis(self) -> int:
        """Return the wall clock in ms since the epoch, the unit of every timestamp on the wire and on disk.

        It may go back, or leap.
        """
        ...

    def monotonic(self) -> float:
        """Return seconds from an arbitrary start; never goes back."""
        ...


monotonic_seconds: Callable[[], float] = time.monotonic
"""The machine's monotonic clock, for code without a `Clock`: the reactor above all."""


def seconds_since_boot() -> float:
    """Return seconds since the machine started, including sleep: the kernel's base for ages of processes."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def elapsed_millis(clock: Clock) -> int:
    """Return the monotonic clock in ms, the unit of deadlines, intervals and ages in memory."""
    return int(clock.monotonic() * 1000)


class SystemClock:
    """The machine's clock."""

    def millis(self) -> int:
        return time.time_ns() // 1_000_000

    monotonic = staticmethod(time.monotonic)


class ManualClock:
    """A clock that moves only when it is advanced."""

    def __init__(self, millis: int = 1_700_000_000_000) -> None:
        self._millis = millis
        self._elapsed_millis = 0

    def millis(self) -> int:
        return self._millis

    def monotonic(self) -> float:
        return self._elapsed_millis / 1000

    def advance(self, millis: int) -> None:
        """Move both kinds of time forward by `millis` milliseconds."""
        self._millis += millis
        self._elapsed_millis += millis

    def set_wall(self, millis: int) -> None:
        """Set the wall clock only, as an administrator or a time server would."""
        self._millis = millis
