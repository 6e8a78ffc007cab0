"""Lag and progress of consumer groups over the last hours, in memory. Pure."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Collection
from typing import Any

STEP_SECONDS = 30
KEPT = 4 * 3600 // STEP_SECONDS
GROUPS_MAX = 2000
"""Maximum number of groups with a history, about 12 KiB each. Further ones have a state without it."""


class GroupHistory:
    """Lag of a group and the sum of its offsets, by time in ms. `moved_at` is the time of the last sample in
    which nothing waited or the offsets differed from those before."""

    __slots__ = ("consumed", "lags", "moved_at", "times")

    def __init__(self) -> None:
        self.times = array("q")
        self.lags = array("q")
        self.consumed = array("q")
        self.moved_at = 0

    def add(self, time: int, lag: int, consumed: int) -> None:
        """Add a sample; evict the oldest ones in batches."""
        if not lag or not self.times or consumed != self.consumed[-1]:
            self.moved_at = time
        for column, value in ((self.times, time), (self.lags, lag), (self.consumed, consumed)):
            column.append(value)
            if len(column) > KEPT + KEPT // 16:
                del column[: len(column) - KEPT]


class GroupLags:
    """Histories of the groups that have members or offsets."""

    def __init__(self) -> None:
        self._histories: dict[str, GroupHistory] = {}

    def note(self, group: str, time: int, lag: int, consumed: int) -> None:
        """Add a sample of a group. `consumed` is the sum of its offsets."""
        history = self._histories.get(group)
        if history is None:
            if len(self._histories) >= GROUPS_MAX:
                return
            history = self._histories[group] = GroupHistory()
        history.add(time, lag, consumed)

    def retain(self, groups: Collection[str]) -> None:
        """Remove the histories of all other groups."""
        for group in self._histories.keys() - groups:
            del self._histories[group]

    def idle_millis(self, group: str) -> int | None:
        """Return for how long messages wait and offsets have not moved, None if no sample is known."""
        history = self._histories.get(group)
        return None if history is None else history.times[-1] - history.moved_at

    def since(self, group: str, time: int) -> dict[str, Any]:
        """Return the samples of a group from a time on: `time` in s, `lag`, and messages `consumed` a second.

        The rate of a sample is that since the sample before it; offsets that were set back count as none.
        """
        history = self._histories.get(group, _NONE)
        begin = bisect_left(history.times, time)
        indices = range(begin, len(history.times))
        return {
            "time": [history.times[at] / 1000 for at in indices],
            "lag": [history.lags[at] for at in indices],
            "consumed": [_rate(history, at) for at in indices],
        }


_NONE = GroupHistory()


def _rate(history: GroupHistory, at: int) -> float:
    if not at:
        return 0.0
    seconds = max(1, history.times[at] - history.times[at - 1]) / 1000
    return round(max(0, history.consumed[at] - history.consumed[at - 1]) / seconds, 2)
