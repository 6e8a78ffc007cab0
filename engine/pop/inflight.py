"""Number of messages of a queue that a group has popped and not acknowledged since the start.

The counts throttle groups that do not acknowledge (`enablePopMessageThreshold`); they have no other use.
RocketMQ: `PopInflightMessageCounter`.
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
        """Return the number of messages in flight."""
        return self._counts.get(key, 0)

    def items(self) -> Iterable[tuple[Key, int]]:
        """Return a snapshot of all queues with messages in flight, and their numbers."""
        return list(self._counts.items())

    def add(self, key: Key, number: int) -> None:
        """Count popped messages."""
        if number > 0 and (key in self._counts or len(self._counts) < self._limit):
            self._counts[key] = self._counts.get(key, 0) + number

    def remove(self, key: Key, number: int, pop_time: int) -> None:
        """Subtract messages popped at a time (ms) that were acknowledged, or are visible again."""
        if pop_time < self._started or key not in self._counts:
            return
        self._counts[key] -= number
        if self._counts[key] <= 0:
            del self._counts[key]

    def forget(self, concerns: Callable[[Key], bool]) -> None:
        """Reset the counts of some queues."""
        for key in [key for key in self._counts if concerns(key)]:
            del self._counts[key]
