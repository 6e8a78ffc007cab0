"""Actions that are due at a time, by key. The caller moves time by `run`."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from heapq import heappop, heappush

Action = Callable[[], None]


@dataclass(slots=True)
class _Deadline:
    """`queued` is the time at which the heap has it: at `due`, or earlier."""

    due: int
    queued: int
    action: Action


class Deadlines:
    """Deadlines in ms. A deadline that is put off, as those of heartbeats are, is not queued again."""

    def __init__(self) -> None:
        self._deadlines: dict[Hashable, _Deadline] = {}
        self._heap: list[tuple[int, int, Hashable]] = []
        self._number = 0

    def __len__(self) -> int:
        return len(self._deadlines)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._deadlines

    def set(self, key: Hashable, due: int, action: Action) -> None:
        """Set the deadline of a key, in place of an earlier one."""
        known = self._deadlines.get(key)
        if known is not None and known.queued <= due:
            known.due, known.action = due, action
            return
        self._deadlines[key] = _Deadline(due, due, action)
        self._queue(due, key)

    def cancel(self, key: Hashable) -> None:
        """Remove the deadline of a key, if there is one."""
        self._deadlines.pop(key, None)

    def clear(self) -> None:
        """Remove all deadlines."""
        self._deadlines.clear()
        self._heap.clear()

    def run(self, now: int) -> None:
        """Run the actions that are due. One that an action sets is not run before the next time."""
        last = self._number
        while self._heap and self._heap[0][0] <= now and self._heap[0][1] <= last:
            queued, _, key = heappop(self._heap)
            deadline = self._deadlines.get(key)
            if deadline is None or deadline.queued != queued:
                continue
            if deadline.due > now:
                deadline.queued = deadline.due
                self._queue(deadline.due, key)
                continue
            del self._deadlines[key]
            deadline.action()

    def _queue(self, due: int, key: Hashable) -> None:
        self._number += 1
        heappush(self._heap, (due, self._number, key))
