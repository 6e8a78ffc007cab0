"""Requests in flight on one connection: waiters by opaque, deadlines and limits; no I/O.

    opaque = exchange.open(now, timeout, done)     send a request
    exchange.settle(reply)                         its answer has arrived
    exchange.expire(now)                           time has passed
    exchange.fail_all(reason)                      the peer is gone
    exchange.hold() ... exchange.release()         a request of the peer waits for its answer

Each request in flight is one registered `Waiter`. It is notified exactly once: with the answer, with
`RequestTimedOut`, or with the reason why the conversation ended. Time is passed in, in seconds of any
monotonic clock.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Final

from mqgateway.gateway.codec.command import RemotingCommand

OPAQUE_LIMIT: Final = 2**31
"""Opaque numbers are signed 32-bit on the wire; they wrap to 0 after the largest."""

Done = Callable[[RemotingCommand | Exception], None]


class RemotingError(Exception):
    """Failure of a request without an answer."""


class PeerGone(RemotingError):
    """The connection ended, or was never established, before the answer arrived."""


class RequestTimedOut(RemotingError):
    """The answer did not arrive in time."""


class TooManyInFlight(RemotingError):
    """The limit of requests in flight to one peer, or of unread bytes, is reached; nothing was sent."""


class Waiter:
    """Request in flight."""

    __slots__ = ("deadline", "done", "timeout")

    def __init__(self, deadline: float, timeout: float, done: Done) -> None:
        self.deadline = deadline
        self.timeout = timeout
        self.done = done


class Exchange:
    """State of one side; `ask_limit` bounds requests in flight to the peer, `hold_limit` those from it."""

    __slots__ = ("_ask_limit", "_earliest", "_ended", "_hold_limit", "_next_opaque", "_waiters", "holding")

    def __init__(self, ask_limit: int, hold_limit: int) -> None:
        self._ask_limit = ask_limit
        self._hold_limit = hold_limit
        self._next_opaque = 0
        self._waiters: dict[int, Waiter] = {}
        self._earliest = inf  # lower bound of the waiters' deadlines
        self._ended: Exception | None = None
        self.holding = 0
        """Number of the peer's requests whose replies are pending."""

    @property
    def waiting(self) -> int:
        """Number of requests in flight to the peer."""
        return len(self._waiters)

    @property
    def next_deadline(self) -> float | None:
        """Time of the next possible expiry; None without waiters."""
        return self._earliest if self._waiters else None

    def open(self, now: float, timeout: float, done: Done) -> int:
        """Register a request and return its opaque.

        Raises TooManyInFlight at the limit, or the reason given to `fail_all` once the conversation has
        ended.
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
        """Return a number that no request in flight has."""
        opaque = self._next_opaque
        while opaque in self._waiters:
            opaque = (opaque + 1) % OPAQUE_LIMIT
        self._next_opaque = (opaque + 1) % OPAQUE_LIMIT
        return opaque

    def settle(self, reply: RemotingCommand) -> bool:
        """Pass a reply to its waiter. Returns False if it has none, because it is late or unsolicited."""
        waiter = self._waiters.pop(reply.opaque, None)
        if waiter is None:
            return False
        waiter.done(reply)
        return True

    def forget(self, opaque: int) -> None:
        """Drop an abandoned request; its reply will be ignored."""
        self._waiters.pop(opaque, None)

    def expire(self, now: float) -> None:
        """Fail every waiter whose deadline is reached."""
        if now < self._earliest:
            return
        late = [opaque for opaque, waiter in self._waiters.items() if waiter.deadline <= now]
        expired = [self._waiters.pop(opaque) for opaque in late]
        self._earliest = min((waiter.deadline for waiter in self._waiters.values()), default=inf)
        for waiter in expired:
            waiter.done(RequestTimedOut(f"no answer within {waiter.timeout:g} s"))

    def fail_all(self, reason: Exception) -> None:
        """End the conversation: fail all waiters with the reason, and all later requests too."""
        self._ended = reason
        waiters, self._waiters = self._waiters, {}
        for waiter in waiters.values():
            waiter.done(reason)

    @property
    def is_full(self) -> bool:
        """True if the peer has reached its limit of requests in flight."""
        return self.holding >= self._hold_limit

    def hold(self) -> None:
        """Count a request of the peer that could not be answered at once."""
        self.holding += 1

    def release(self) -> None:
        """Uncount a held request that was answered, or never will be."""
        self.holding -= 1
