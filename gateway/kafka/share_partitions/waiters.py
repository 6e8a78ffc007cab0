"""Fetches that wait at share partitions: for a change of their state, or for the end of their time. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from mqgateway.gateway.kafka.coordinator.deadlines import Deadlines
from mqgateway.gateway.kafka.share_partitions.records import ShareKey

_FOREVER: Final = 2**63
Wake = Callable[[bool], None]
"""Resumes a fetch; called with True at the end of its time."""
HasNews = Callable[[ShareKey], bool]
"""Returns True if a share partition has changed in a way that a fetch waits for."""


class ShareWaiter:
    """A fetch that waits at some share partitions."""

    __slots__ = ("has_news", "keys", "wake")

    def __init__(self, keys: Iterable[ShareKey], has_news: HasNews, wake: Wake) -> None:
        self.keys = tuple(keys)
        self.has_news = has_news
        self.wake = wake


class ShareWaiters:
    """The fetches that wait. A fetch is removed when it is woken."""

    def __init__(self) -> None:
        self._at: dict[ShareKey, dict[ShareWaiter, None]] = {}
        self._deadlines = Deadlines()
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._deadlines)

    def hold(self, waiter: ShareWaiter, deadline: int) -> None:
        """Let a fetch wait until a deadline, ms of the steady clock. It is woken at once after `close`."""
        if self._is_closed:
            waiter.wake(True)
            return
        for key in waiter.keys:
            self._at.setdefault(key, {})[waiter] = None
        self._deadlines.set(waiter, deadline, lambda: self._end(waiter, True))

    def forget(self, waiter: ShareWaiter) -> None:
        """Remove a fetch; no-op if it does not wait."""
        self._deadlines.cancel(waiter)
        for key in waiter.keys:
            waiting = self._at.get(key)
            if waiting is not None:
                waiting.pop(waiter, None)
                if not waiting:
                    del self._at[key]

    def wake(self, key: ShareKey) -> None:
        """Wake the fetches at a share partition that may find records there now."""
        for waiter in tuple(self._at.get(key, ())):
            if waiter in self._deadlines and waiter.has_news(key):
                self._end(waiter, False)

    def run(self, now: int) -> None:
        """Wake the fetches whose time is up."""
        self._deadlines.run(now)

    def close(self) -> None:
        """Wake all fetches, as if their time were up, and let none wait any more."""
        self._is_closed = True
        self._deadlines.run(_FOREVER)

    def _end(self, waiter: ShareWaiter, is_late: bool) -> None:
        self.forget(waiter)
        waiter.wake(is_late)
