"""Calls that wait for messages, each for a limited time."""

from __future__ import annotations

from collections import deque

from twisted.internet.defer import Deferred

from mqgateway.gateway.runtime.schedule import Schedule


class Waiters:
    """Those of one consumer, in the order in which they came."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._waiting: deque[Deferred[None]] = deque()

    def wait(self, seconds: float) -> Deferred[None]:
        """Fires when it is woken, or time is up."""
        waiter: Deferred[None] = Deferred()
        self._waiting.append(waiter)

        def give_up() -> None:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
                waiter.callback(None)

        call = self._schedule.later(seconds, give_up)

        def over(_: None) -> None:
            call.cancel()

        return waiter.addCallback(over)

    def wake_one(self) -> None:
        """Wake the one that has waited longest."""
        if self._waiting:
            self._waiting.popleft().callback(None)

    def wake_all(self) -> None:
        """Wake all waiters."""
        while self._waiting:
            self._waiting.popleft().callback(None)
