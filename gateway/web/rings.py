"""The last 24 hours of a few figures, for charts: one row every 10 seconds, in memory. Pure."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Mapping
from typing import Any

STEP_SECONDS = 10
KEPT = 24 * 3600 // STEP_SECONDS
POINTS_MAX = 1000
"""Maximum number of points in a chart. More rows are reduced to means of adjacent rows."""


class Rings:
    """Series of the same length. Values are numbers; times in s since the epoch."""

    def __init__(self, names: tuple[str, ...], kept: int = KEPT) -> None:
        self.names = names
        self._kept = kept
        self._times = array("d")
        self._values = {name: array("d") for name in names}

    def __len__(self) -> int:
        return len(self._times)

    def add(self, time: float, row: Mapping[str, float]) -> None:
        """Add a row; evict the oldest ones if there are too many."""
        self._times.append(time)
        for name, values in self._values.items():
            values.append(round(row[name], 3))
        if len(self._times) > self._kept + self._kept // 16:  # in batches: each moves the arrays
            surplus = len(self._times) - self._kept
            for column in (self._times, *self._values.values()):
                del column[:surplus]

    def last(self) -> dict[str, float]:
        """Return the newest row; zeros before the first."""
        return {name: values[-1] if values else 0.0 for name, values in self._values.items()}

    def since(self, time: float, most: int = POINTS_MAX) -> dict[str, Any]:
        """Return the rows from a time on, as columns of equal length: `time` and each name.

        More than `most` rows are reduced to means of adjacent rows.
        """
        begin = bisect_left(self._times, time)
        width = -(-(len(self._times) - begin) // most)
        columns = {"time": self._times, **self._values}
        if width <= 1:
            return {name: column[begin:].tolist() for name, column in columns.items()}
        starts = range(begin, len(self._times), width)
        return {name: [_mean(column[at : at + width]) for at in starts] for name, column in columns.items()}


def _mean(values: array[float]) -> float:
    return round(sum(values) / len(values), 3)
