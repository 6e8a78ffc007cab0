"""Throttling of failed authentication: repeated failures are answered more slowly, then disconnected.

Failures are counted by address, across connections and user names; an IPv6 network (64 bits) counts as one. A
valid signature is never throttled, so that one client cannot lock out others at the same address.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable

from twisted.internet.defer import Deferred

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.gateway.remoting.call import Peer

Pause = Callable[[float], "Deferred[None]"]
"""Function that returns a Deferred which fires after a number of seconds."""

ADDRESSES_MAX = 10_000
"""Maximum number of addresses; that with the oldest failure is evicted."""
AT_ONCE = 20
"""Number of refusals per address without a delay."""
MILLIS_BETWEEN = 100
"""Interval of the following refusals, in ms."""
WAIT_MAX_MILLIS = 1000
"""Maximum delay of a refusal, in ms; instead of a longer one the connection is closed."""


class LateRefusals:
    """Delays of authentication refusals; `pause` creates the delays."""

    def __init__(self, clock: Clock, pause: Pause) -> None:
        self._clock = clock
        self._pause = pause
        self._throttle = Throttle()

    def __len__(self) -> int:
        return len(self._throttle)

    def until(self, peer: Peer) -> Deferred[None] | None:
        """Return the delay of the next refusal to a peer's address, None for none.

        Instead of a delay over the maximum, the connection is closed.
        """
        wait = self._throttle.refused(ip_of(peer), elapsed_millis(self._clock))
        if wait is None:
            peer.close("too many requests of its address were signed wrongly")
        return self._pause(wait / 1000) if wait else None

    def until_for(self, ip: str) -> Deferred[None] | None:
        """Return the delay for a connection that stays open: at most the maximum.

        It stays open because other callers may share it.
        """
        wait = self._throttle.refused(ip, elapsed_millis(self._clock))
        wait = WAIT_MAX_MILLIS if wait is None else wait
        return self._pause(wait / 1000) if wait else None


def ip_of(peer: Peer) -> str:
    """Return the address of a peer without its port."""
    return peer.address.rpartition(":")[0].strip("[]")


class Throttle:
    """Throttle state by address."""

    def __init__(self) -> None:
        self._paid_off: dict[str, int] = {}  # ordered by the last refusal

    def __len__(self) -> int:
        return len(self._paid_off)

    def refused(self, ip: str, now: int) -> int | None:
        """Record a refusal at `now` (ms) and return its delay in ms; None if it exceeds the maximum."""
        name = _network(ip)
        paid_off = max(self._paid_off.pop(name, now), now)
        wait = paid_off + MILLIS_BETWEEN - now - AT_ONCE * MILLIS_BETWEEN
        if wait <= WAIT_MAX_MILLIS:
            paid_off += MILLIS_BETWEEN
        if len(self._paid_off) >= ADDRESSES_MAX:
            del self._paid_off[next(iter(self._paid_off))]
        self._paid_off[name] = paid_off
        return None if wait > WAIT_MAX_MILLIS else max(0, wait)


def _network(ip: str) -> str:
    try:
        address = ipaddress.ip_address(ip)
    except ValueError:
        return ip
    if address.version == 4:
        return ip
    return str(address.ipv4_mapped or ipaddress.ip_network((int(address), 64), strict=False))
