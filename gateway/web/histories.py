"""Figures of groups and topics over the last hours, in memory: a level, and totals that grow. Pure."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Collection
from typing import Any

STEP_SECONDS = 30
KEPT = 4 * 3600 // STEP_SECONDS
HISTORIES_MAX = 2000
"""Maximum number of names with a history, of 4 KiB for each column. Further names have none."""


class History:
    """Samples of a level and of totals, by time in ms.

    `moved_at` is the time of the last sample in which the level was 0 or the first total had changed.
    """

    __slots__ = ("levels", "moved_at", "times", "totals")

    def __init__(self, totals: int) -> None:
        self.times = array("q")
        self.levels = array("q")
        self.totals = tuple(array("q") for _ in range(totals))
        self.moved_at = 0

    def add(self, time: int, level: int, totals: tuple[int, ...]) -> None:
        """Add a sample; evict the oldest ones in batches."""
        if not level or not self.times or totals[0] != self.totals[0][-1]:
            self.moved_at = time
        columns = (self.times, self.levels, *self.totals)
        for column, value in zip(columns, (time, level, *totals), strict=True):
            column.append(value)
            if len(column) > KEPT + KEPT // 16:
                del column[: len(column) - KEPT]


class Histories:
    """Histories by name of a group or topic. `level` and `totals` name the figures."""

    def __init__(self, level: str, totals: tuple[str, ...]) -> None:
        self._level = level
        self._totals = totals
        self._histories: dict[str, History] = {}

    def note(self, name: str, time: int, level: int, *totals: int) -> None:
        """Add a sample."""
        history = self._histories.get(name)
        if history is None:
            if len(self._histories) >= HISTORIES_MAX:
                return
            history = self._histories[name] = History(len(self._totals))
        history.add(time, level, totals)

    def retain(self, names: Collection[str]) -> None:
        """Remove the histories of all other names."""
        for name in self._histories.keys() - names:
            del self._histories[name]

    def idle_millis(self, name: str) -> int | None:
        """Return for how long the level was above 0 and the first total the same, None without a sample."""
        history = self._histories.get(name)
        return None if history is None else history.times[-1] - history.moved_at

    def since(self, name: str, time: int) -> dict[str, Any]:
        """Return samples from a time on: `time` in s, the level, and the growth of each total a second.

        The rate of a sample is that since the sample before it; a total that was set back has none.
        """
        history = self._histories.get(name) or History(len(self._totals))
        times = history.times
        indices = range(bisect_left(times, time), len(times))
        return {
            "time": [times[at] / 1000 for at in indices],
            self._level: [history.levels[at] for at in indices],
            **{
                total: [_rate(times, column, at) for at in indices]
                for total, column in zip(self._totals, history.totals, strict=True)
            },
        }


def _rate(times: array[int], column: array[int], at: int) -> float:
    if not at:
        return 0.0
    seconds = max(1, times[at] - times[at - 1]) / 1000
    return round(max(0, column[at] - column[at - 1]) / seconds, 2)
