"""The conversation on one connection, pure: who waits for which opaque, until when, and how many may.

    opaque = exchange.open(now, timeout, done)     a request goes out
    exchange.settle(reply)                         its answer has come
    exchange.expire(now)                           time has passed
    exchange.fail_all(reason)                      the peer is gone
    exchange.hold() ... exchange.release()         a request of the peer waits for its answer

Each request in flight is one registered `Waiter`; it is told exactly once: the answer, `RequestTimedOut`, or
the reason the conversation ended. Time is passed in, in seconds of any clock that does not go back.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Final

from mqgateway.gateway.codec.command import RemotingCommand

OPAQUE_LIMIT: Final = 2**31
"""Opaque numbers are signed 32-bit on the wire; ours start again at 0 behind the largest."""

Done = Callable[[RemotingCommand | Exception], None]


class RemotingError(Exception):
    """Why a request got no answer."""


class PeerGone(RemotingError):
    """The connection ended, or was never made, before the answer came."""


class RequestTimedOut(RemotingError):
    """The answer did not come in time."""


class TooManyInFlight(RemotingError):
    """The limit of requests in flight to one peer, or of unread bytes, is reached; nothing was sent."""


class Waiter:
    """One request in flight."""

    __slots__ = ("deadline", "done", "timeout")

    def __init__(self, deadline: float, timeout: float, done: Done) -> None:
        self.deadline = deadline
        self.timeout = timeout
        self.done = done


class Exchange:
    """One side's view; `ask_limit` bounds our requests in flight, `hold_limit` the peer's."""

    __slots__ = ("_ask_limit", "_earliest", "_ended", "_hold_limit", "_next_opaque", "_waiters", "holding")

    def __init__(self, ask_limit: int, hold_limit: int) -> None:
        self._ask_limit = ask_limit
        self._hold_limit = hold_limit
        self._next_opaque = 0
        self._waiters: dict[int, Waiter] = {}
        self._earliest = inf  # no waiter's deadline is earlier
        self._ended: Exception | None = None
        self.holding = 0
        """Requests of the peer whose replies are still owed."""

    @property
    def waiting(self) -> int:
        """Our requests in flight."""
        return len(self._waiters)

    @property
    def next_deadline(self) -> float | None:
        """When `expire` may next have something to do; None while nobody waits."""
        return self._earliest if self._waiters else None

    def open(self, now: float, timeout: float, done: Done) -> int:
        """Register a request and return its opaque.

        Raises TooManyInFlight at the limit, or what `fail_all` was given once the conversation has ended.
        """
        if self._ended is not None:
            raise self._ended
        if len(self._waiters) >= self._ask_limit:
            raise TooManyInFlight(f"{self._ask_limit} requests are in flight")
        opaque = self.next_opaque()
        deadline = now + timeout
        self._waiters[opaque] = Waiter(deadline, timeout, done)
        self._earliest = min(self._earliest, deadline)
        return opaque

    def next_opaque(self) -> int:
        """A number no request in flight has."""
        opaque = self._next_opaque
        while opaque in self._waiters:
            opaque = (opaque + 1) % OPAQUE_LIMIT
        self._next_opaque = (opaque + 1) % OPAQUE_LIMIT
        return opaque

    def settle(self, reply: RemotingCommand) -> bool:
        """Give a reply to whoever waits for it; false when nobody does (it came late, or was never asked)."""
        waiter = self._waiters.pop(reply.opaque, None)
        if waiter is None:
            return False
        waiter.done(reply)
        return True

    def forget(self, opaque: int) -> None:
        """Drop a request whose asker has lost interest; its reply will be ignored."""
        self._waiters.pop(opaque, None)

    def expire(self, now: float) -> None:
        """Tell every waiter whose deadline is reached that its time is up."""
        if now < self._earliest:
            return
        late = [opaque for opaque, waiter in self._waiters.items() if waiter.deadline <= now]
        expired = [self._waiters.pop(opaque) for opaque in late]
        self._earliest = min((waiter.deadline for waiter in self._waiters.values()), default=inf)
        for waiter in expired:
            waiter.done(RequestTimedOut(f"no answer within {waiter.timeout:g} s"))

    def fail_all(self, reason: Exception) -> None:
        """End the conversation: all waiters are told the reason, and so is everybody who asks later."""
        self._ended = reason
        waiters, self._waiters = self._waiters, {}
        for waiter in waiters.values():
            waiter.done(reason)

    @property
    def is_full(self) -> bool:
        """Whether the peer has as many requests in flight as it may."""
        return self.holding >= self._hold_limit

    def hold(self) -> None:
        """A request of the peer has been taken up that could not be answered at once."""
        self.holding += 1

    def release(self) -> None:
        """A held request has been answered, or never will be."""
        self.holding -= 1
