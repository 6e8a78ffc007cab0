"""Limit of work that is done at a time; the rest waits in order of arrival."""

from __future__ import annotations

from collections import deque

from twisted.internet.defer import Deferred


class Slots:
    """Semaphore with `count` slots; waiters are served in order of arrival.

    Once `is_closed`, no new work may start: a caller that has entered leaves again.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: deque[Deferred[None]] = deque()
        self._idle: list[Deferred[None]] = []
        self.busy = 0
        self.is_closed = False
        self._is_passing_on = False

    async def enter(self) -> None:
        """Wait for a slot; the caller must `leave` it."""
        if self._free and not self._waiting:
            self._free -= 1
        else:
            turn: Deferred[None] = Deferred()
            self._waiting.append(turn)
            await turn
        self.busy += 1

    def leave(self) -> None:
        """Pass the slot to the next waiter.

        One that leaves again before it waits for anything returns here, to the loop: thousands of waiters
        would be too deep a recursion.
        """
        self.busy -= 1
        self._free += 1
        if self._is_passing_on:
            return
        self._is_passing_on = True
        while self._waiting and self._free:
            self._free -= 1
            self._waiting.popleft().callback(None)
        self._is_passing_on = False
        if not self.busy:
            idle, self._idle = self._idle, []
            for waiter in idle:
                waiter.callback(None)

    def idle(self) -> Deferred[None]:
        """Return a Deferred that fires when no slot is in use."""
        waiter: Deferred[None] = Deferred()
        if self.busy:
            self._idle.append(waiter)
        else:
            waiter.callback(None)
        return waiter
