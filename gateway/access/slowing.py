"""Who signs wrongly again and again is answered more and more slowly, and then loses the connection.

Counted is by address, whatever connections and names are used; a network of version 6 (64 bits) is one. A
right signature is never slowed down, so that nobody can lock others out who come from the same address.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable

from twisted.internet.defer import Deferred

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.gateway.remoting.call import Peer

Pause = Callable[[float], "Deferred[None]"]
"""A Deferred that fires after so many seconds."""

ADDRESSES_MAX = 10_000
"""Addresses that are remembered; of more, those that were wrong longest ago are forgotten."""
AT_ONCE = 20
"""Refusals that an address is given without a wait."""
MILLIS_BETWEEN = 100
"""Between two refusals after those."""
WAIT_MAX_MILLIS = 1000
"""Instead of an answer that waits longer the connection ends."""


class LateRefusals:
    """When those are refused who are not who they say they are; `pause` is for refusals given later."""

    def __init__(self, clock: Clock, pause: Pause) -> None:
        self._clock = clock
        self._pause = pause
        self._slowing = Slowing()

    def __len__(self) -> int:
        return len(self._slowing)

    def until(self, peer: Peer) -> Deferred[None] | None:
        """When the next refusal of a peer's address may be given, None for at once. Instead of one that would
        wait too long the connection ends."""
        wait = self._slowing.refused(ip_of(peer), elapsed_millis(self._clock))
        if wait is None:
            peer.close("too many requests of its address were signed wrongly")
        return self._pause(wait / 1000) if wait else None


def ip_of(peer: Peer) -> str:
    """The address of a peer without its port."""
    return peer.address.rpartition(":")[0].strip("[]")


class Slowing:
    """When the next refusal of each address may be given."""

    def __init__(self) -> None:
        self._paid_off: dict[str, int] = {}  # in the order of the last refusal

    def __len__(self) -> int:
        return len(self._paid_off)

    def refused(self, ip: str, now: int) -> int | None:
        """How many ms the refusal of this address waits at `now` (ms); None where that is too long."""
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
