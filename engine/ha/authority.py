"""Until when a master knows that it is the master: a lease on its own monotonic clock.

The controller makes another one master when it has not heard of this one for
`controllerHeartBeatTimeoutMills`. So this one counts from when it sent what the controller answered, and
stops before. Who is in sync and follows this master cannot be another one's, nor be one itself: as long as
all of them are heard of, the controller may be away. And who is in sync alone cannot be succeeded by anybody.

A process that did not run for a while finds what came before in its sockets, and would take it for news.
So it looks at its clock before it listens: after a gap nothing that was heard counts, and connections are
made anew. Lease and gap together are less than the controller's time-out. That is what the controller was
told last: a shorter one counts from the moment it is sent, a longer one once it is answered. The standard has
no lease: a master that was frozen goes on when it wakes up.
"""

from __future__ import annotations

from collections.abc import Iterable

LEASE_TENTHS = 6
GAP_TENTHS = 3


class Authority:
    """Times in ms; `timeout` is the controller's. With `is_endless` there is no lease, as in the standard."""

    def __init__(self, timeout: int, now: int, *, is_endless: bool = False) -> None:
        self.timeout = timeout
        self._is_endless = is_endless
        self._shortened = self._until = now
        self._looked = now

    @property
    def lease(self) -> int:
        """How long a word counts."""
        return self.timeout * LEASE_TENTHS // 10

    @property
    def gap(self) -> int:
        """How long this process may not run without losing what it has heard."""
        return self.timeout * GAP_TENTHS // 10

    def was_away(self, now: int) -> bool:
        """Whether this process did not run for so long that nothing it hears counts. To be asked before
        anything is taken for heard."""
        gap, self._looked = now - self._looked, now
        return gap > self.gap and not self._is_endless

    def asks(self, timeout: int, now: int) -> None:
        """The controllers are told to wait so long, and may do so from now on."""
        if timeout <= self.timeout:
            self.timeout, self._shortened = timeout, now
            self._until = min(self._until, now + self.lease)

    def heard(self, asked: int, timeout: int) -> None:
        """The controller that leads has answered that it waits so long, which it was told at a time."""
        if timeout > self.timeout and asked > self._shortened:
            self.timeout = timeout
        self._until = max(self._until, asked + self.lease)

    def holds(self, now: int, in_sync: Iterable[int | None]) -> bool:
        """Whether this broker is the master beyond doubt. `in_sync` says when each of the others was heard
        of, None of who is not connected."""
        if self._is_endless or now < self._until:
            return True
        return all(heard is not None and now - heard < self.lease for heard in in_sync)
