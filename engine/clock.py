"""The one door to time: everything that needs to know what time it is takes a `Clock`.

`SystemClock` is the machine's; `ManualClock` is moved by hand, so that no test waits.

Two kinds of time. The wall clock (`Clock.millis`) may be set, back too: it is read for what is written or
shown. How long something takes or may take, and when it is due next, is told by the monotonic one
(`Clock.monotonic`, `elapsed_millis`), which nobody sets. What is due at a time that was written down is told
by `engine.steady_clock`.
"""

import time
from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """Wall time for what is stored and shown, monotonic time for durations."""

    def millis(self) -> int:
        """The wall clock: milliseconds since the epoch, the unit of every timestamp on the wire and on disk.
        It may go back, or leap.
        """
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes back."""
        ...


monotonic_seconds: Callable[[], float] = time.monotonic
"""The machine's monotonic clock, for those who have no `Clock`: the reactor above all."""


def seconds_since_boot() -> float:
    """Seconds since the machine started, asleep or not: what the kernel tells the ages of processes in."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def elapsed_millis(clock: Clock) -> int:
    """The monotonic clock in ms: what deadlines, intervals and ages in memory are measured in."""
    return int(clock.monotonic() * 1000)


class SystemClock:
    """The machine's clock."""

    def millis(self) -> int:
        return time.time_ns() // 1_000_000

    monotonic = staticmethod(time.monotonic)


class ManualClock:
    """A clock that stands still until it is moved."""

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
        """Set the wall clock alone, as an administrator or a time server would."""
        self._millis = millis
