"""The time by which things are due that were written down with their time: pops, timers, delays, questions.

Such a time was read from the wall clock, and that may be set meanwhile. `SteadyClock.now` begins with the
wall clock and then goes on by the monotonic one: it neither leaps nor goes back, so what it measures lasts as
long as it should. Store timestamps stay those of the wall clock; `ahead_at` says how much steady time was
ahead of it where in the log, so that a store timestamp tells steady time too. It is found by looking at both
clocks with every beat.

After a start both are the same again: who finds a time then that cannot be true corrects it.
"""

from __future__ import annotations

from typing import NamedTuple

from mqgateway.engine.clock import Clock, elapsed_millis

NOISE_MILLIS = 10
"""Up to this the clocks count as going together: they are not read in the same moment."""
STEPS_MAX = 256
"""A wall clock that drifts is set again and again; beyond this the smallest steps are forgotten."""


class _Step(NamedTuple):
    """The wall clock was set while the log grew from `begin` to `end`; it showed `wall` afterwards."""

    begin: int
    end: int
    before: int
    after: int
    wall: int

    def is_later(self, stored: int) -> bool:
        """Whether a record of that part of the log was stored after the step, by its store timestamp."""
        return abs(stored - self.wall) < abs(stored - (self.wall + self.after - self.before))


class SteadyClock:
    """Times are ms since the epoch, positions offsets of the log."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._base = clock.millis() - elapsed_millis(clock)
        self._first = 0
        self._ahead = 0
        self._position = 0
        self._steps: list[_Step] = []

    def now(self) -> int:
        """What the wall clock would show, had nobody set it since the start."""
        return self._base + elapsed_millis(self._clock)

    def go_on_from(self, time: int) -> None:
        """Begin no earlier than where an earlier run had come; for the start, before anything is due."""
        self._base += (more := max(0, time - self.now()))
        self._first += more
        self._ahead += more

    @property
    def ahead(self) -> int:
        """How much it is ahead of the wall clock; less than 0 when that was set forward."""
        measured = self.now() - self._clock.millis()
        return self._ahead if abs(measured - self._ahead) <= NOISE_MILLIS else measured

    def look(self, position: int) -> None:
        """Note whether the wall clock was set since the last look, where the log ends now."""
        before, after = self._ahead, self.ahead
        if after != before:
            self._ahead = after
            self._steps.append(_Step(self._position, position, before, after, self._clock.millis()))
            if len(self._steps) > STEPS_MAX:
                del self._steps[min(range(STEPS_MAX), key=self._size)]
        self._position = position

    def ahead_at(self, position: int, stored: int) -> int:
        """How much it was ahead of the wall clock when a record was stored there, by its store timestamp."""
        for step in reversed(self._steps):
            if position >= step.end or (position >= step.begin and step.is_later(stored)):
                return step.after
        return self._first

    def _size(self, index: int) -> int:
        step = self._steps[index]
        return abs(step.after - step.before)
