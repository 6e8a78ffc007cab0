"""Lease of a master on its own monotonic clock.

The controller elects another master if it has not heard from this one for `controllerHeartBeatTimeoutMills`.
So the lease begins when an answered heartbeat was sent, and ends earlier. A replica in sync that follows this
master cannot follow another, nor be master itself: while all of them are heard from, the controller may be
unreachable. A master that is alone in sync cannot be succeeded at all.

A process that was paused finds older data in its sockets, and would take it for news. So it checks its clock
before it reads: after a gap nothing that was received counts, and connections are reopened. Lease plus gap
are less than the controller's timeout as last announced: a shorter timeout applies from when it is sent, a
longer one once it is answered. RocketMQ has no lease: a paused master continues when it wakes up.
"""

from __future__ import annotations

from collections.abc import Iterable

LEASE_TENTHS = 6
GAP_TENTHS = 3


class Authority:
    """The lease. Times in ms; `timeout` is the controller's. `is_endless` disables it, as in RocketMQ."""

    def __init__(self, timeout: int, now: int, *, is_endless: bool = False) -> None:
        self.timeout = timeout
        self._is_endless = is_endless
        self._shortened = self._until = now
        self._looked = now

    @property
    def lease(self) -> int:
        """Duration of the lease."""
        return self.timeout * LEASE_TENTHS // 10

    @property
    def gap(self) -> int:
        """Maximum pause of this process before received data is discarded."""
        return self.timeout * GAP_TENTHS // 10

    def was_away(self, now: int) -> bool:
        """Return True if this process was paused so long that received data does not count.

        To be called before any data is processed.
        """
        gap, self._looked = now - self._looked, now
        return gap > self.gap and not self._is_endless

    def asks(self, timeout: int, now: int) -> None:
        """Note that this timeout is being announced to the controllers, and may apply from now on."""
        if timeout <= self.timeout:
            self.timeout, self._shortened = timeout, now
            self._until = min(self._until, now + self.lease)

    def heard(self, sent_at: int, timeout: int) -> None:
        """Renew the lease: the active controller has confirmed the timeout, announced at `sent_at`."""
        if timeout > self.timeout and sent_at > self._shortened:
            self.timeout = timeout
        self._until = max(self._until, sent_at + self.lease)

    def holds(self, now: int, in_sync: Iterable[int | None]) -> bool:
        """Return True if this broker is certainly the master.

        `in_sync` has the time of the last data of each other replica in sync, None if it is not connected.
        """
        if self._is_endless or now < self._until:
            return True
        return all(heard is not None and now - heard < self.lease for heard in in_sync)
