"""How many messages of a queue a group has popped and not acknowledged, counted since the start.

The counts hold groups back that acknowledge nothing (`enablePopMessageThreshold`); they decide nothing else.
Standard: `PopInflightMessageCounter`.
"""

from collections.abc import Callable, Iterable

Key = tuple[str, str, int]
"""Topic, group and queue."""


class InFlight:
    """The counts; at most `limit` queues are counted."""

    def __init__(self, started: int, limit: int) -> None:
        self._started = started
        self._limit = limit
        self._counts: dict[Key, int] = {}

    def __len__(self) -> int:
        return len(self._counts)

    def count(self, key: Key) -> int:
        """Messages that are out."""
        return self._counts.get(key, 0)

    def items(self) -> Iterable[tuple[Key, int]]:
        """All queues of which messages are out, with how many; as they are now."""
        return list(self._counts.items())

    def add(self, key: Key, number: int) -> None:
        """Messages were popped."""
        if number > 0 and (key in self._counts or len(self._counts) < self._limit):
            self._counts[key] = self._counts.get(key, 0) + number

    def remove(self, key: Key, number: int, pop_time: int) -> None:
        """Messages popped at a time (ms) were acknowledged, or are visible again."""
        if pop_time < self._started or key not in self._counts:
            return
        self._counts[key] -= number
        if self._counts[key] <= 0:
            del self._counts[key]

    def forget(self, concerns: Callable[[Key], bool]) -> None:
        """Begin anew for some queues."""
        for key in [key for key in self._counts if concerns(key)]:
            del self._counts[key]
