"""Steady time, for stored deadlines: pops, timers, delays, transaction checks.

Such a time was read from the wall clock, which may be set meanwhile. `SteadyClock.now` begins with the wall
clock and then continues by the monotonic one: it neither leaps nor goes back, so durations are exact. Store
timestamps are those of the wall clock. `ahead_at` returns the lead of steady time over it at a log offset, so
that a store timestamp can be converted to steady time. The lead is measured with both clocks on every tick.
After a start both are equal again; a caller that finds an impossible time then corrects it.
"""

from __future__ import annotations

from operator import itemgetter
from typing import NamedTuple

from mqgateway.engine.clock import Clock, elapsed_millis

NOISE_MILLIS = 10
"""Tolerance in ms within which the clocks agree: they are not read in the same moment."""
READS = 5
"""Attempts to read both with less than that between them: the process may lose its processor meanwhile."""
STEPS_MAX = 256
"""Maximum of steps: a drifting wall clock is set again and again. The smallest are dropped."""


class _Step(NamedTuple):
    """The wall clock was set while the log grew from `begin` to `end`; it showed `wall` afterwards."""

    begin: int
    end: int
    before: int
    after: int
    wall: int

    def is_later(self, stored: int) -> bool:
        """Return True if the store timestamp of a record of that part is later than the step."""
        return abs(stored - self.wall) < abs(stored - (self.wall + self.after - self.before))


class SteadyClock:
    """The wall clock at the start, continued by the monotonic one.

    Times are ms since the epoch, positions log
    offsets.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._base = clock.millis() - elapsed_millis(clock)
        self._first = 0
        self._ahead = 0
        self._position = 0
        self._steps: list[_Step] = []

    def now(self) -> int:
        """Return the time that the wall clock would show if it had not been set since the start."""
        return self._base + elapsed_millis(self._clock)

    def continue_from(self, time: int) -> None:
        """Begin no earlier than `time`, reached by an earlier run; called before anything is due."""
        self._base += (more := max(0, time - self.now()))
        self._first += more
        self._ahead += more

    @property
    def ahead(self) -> int:
        """Lead over the wall clock in ms; negative if that was set forward."""
        measured, error = self._measured()
        for _ in range(READS - 1):
            if error <= NOISE_MILLIS:
                break
            measured, error = min((measured, error), self._measured(), key=itemgetter(1))
        return self._ahead if abs(measured - self._ahead) <= NOISE_MILLIS + error else measured

    def _measured(self) -> tuple[int, int]:
        """Return the lead over the wall clock, and by how much it may be too small, in ms."""
        before, wall, after = self.now(), self._clock.millis(), self.now()
        return before - wall, after - before

    def look(self, position: int) -> None:
        """Record a step if the wall clock was set since the last call; `position` is the end of the log."""
        before, after = self._ahead, self.ahead
        if after != before:
            self._ahead = after
            self._steps.append(_Step(self._position, position, before, after, self._clock.millis()))
            if len(self._steps) > STEPS_MAX:
                del self._steps[min(range(STEPS_MAX), key=self._size)]
        self._position = position

    def ahead_at(self, position: int, stored: int) -> int:
        """Return the lead over the wall clock when a record was stored there, by its store timestamp."""
        for step in reversed(self._steps):
            if position >= step.end or (position >= step.begin and step.is_later(stored)):
                return step.after
        return self._first

    def _size(self, index: int) -> int:
        step = self._steps[index]
        return abs(step.after - step.before)
