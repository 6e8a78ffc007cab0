"""Since when offsets of groups have not moved, as far as they were seen. Pure."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

SEEN_MAX = 10_000
"""Maximum number of groups. The one that was seen least recently is evicted."""


class _Sample(NamedTuple):
    lag: int
    consumed: int
    since: int


class Movements:
    """Offsets of groups by broker and group. Times are in ms."""

    def __init__(self) -> None:
        self._samples: OrderedDict[tuple[str, str], _Sample] = OrderedDict()

    def idle_millis(self, key: tuple[str, str], now: int, lag: int, consumed: int) -> int:
        """Note the lag of a group and the sum of its offsets.

        Returns the time for which messages have waited with the same sum, from the first such sample on.
        """
        before = self._samples.pop(key, None)
        is_same = before is not None and before.lag and lag and before.consumed == consumed
        since = before.since if before is not None and is_same else now
        self._samples[key] = _Sample(lag, consumed, since)
        if len(self._samples) > SEEN_MAX:
            self._samples.popitem(last=False)
        return now - since
