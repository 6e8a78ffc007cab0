"""Limits of buffered input that is not served yet, and the choice of connections to close above them; no I/O.

Counted are incomplete frames, frames queued behind others of their connection, and the bodies of requests in
progress. Each server has one limit for all of it and one per address. Above a limit, the connections that
buffer the most for the longest are closed: bytes multiplied by seconds. So of two equal ones the older is
closed, and a short frame that arrives slowly is tolerated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

HEAD_ROOM = 1024
"""Bytes of a frame in addition to its message."""


class BufferingConnection(Protocol):
    """Connection that buffers input."""

    def cut_off(self, reason: str) -> None:
        """Discard the input and close the connection."""
        ...


class _Share:
    __slots__ = ("address", "keeper", "since", "size")

    def __init__(self, keeper: BufferingConnection, address: str, since: float) -> None:
        self.keeper = keeper
        self.address = address
        self.since = since
        self.size = 0


class PendingInput:
    """Buffered input of one server; `limit` and `address_limit` in bytes, `seconds` is the clock."""

    def __init__(self, limit: float, address_limit: float, seconds: Callable[[], float]) -> None:
        self._limit = limit
        self._address_limit = address_limit
        self._seconds = seconds
        self._shares: dict[BufferingConnection, _Share] = {}
        self._by_address: dict[str, int] = {}
        self.total = 0
        """Number of bytes currently buffered."""

    @classmethod
    def for_messages(
        cls, limit: float, address_limit: float, seconds: Callable[[], float], message_limit: int
    ) -> PendingInput:
        """Return an instance whose limits allow at least one message of the maximum size, with its header."""
        least = message_limit + HEAD_ROOM
        return cls(max(limit, least), max(address_limit, least), seconds)

    def set(self, keeper: BufferingConnection, address: str, size: int, *, is_new: bool) -> None:
        """Set the bytes buffered by a connection from an ip address; with `is_new`, none of them were before.

        Closes connections that buffer too much, possibly this one.
        """
        share = self._shares.get(keeper)
        if share is None:
            if not size:
                return
            share = self._shares[keeper] = _Share(keeper, address, self._seconds())
        elif is_new:
            share.since = self._seconds()
        self._change(share, size)
        if self.total > self._limit:
            self._cut(None, "", self._limit)
        if self._by_address.get(address, 0) > self._address_limit:
            self._cut(address, "OfPeer", self._address_limit)

    def _change(self, share: _Share, size: int) -> None:
        self.total += size - share.size
        of_address = self._by_address.get(share.address, 0) + size - share.size
        share.size = size
        if of_address:
            self._by_address[share.address] = of_address
        else:
            self._by_address.pop(share.address, None)
        if not size:
            del self._shares[share.keeper]

    def _cut(self, address: str | None, which: str, limit: float) -> None:
        """Close the worst connections, of an address or of all, until the rest is within the limit."""
        now = self._seconds()
        shares = [share for share in self._shares.values() if address is None or share.address == address]
        shares.sort(key=lambda share: ((now - share.since) * share.size, share.size))
        while shares and (self.total if address is None else self._by_address.get(address, 0)) > limit:
            share = shares.pop()
            size, age = share.size, now - share.since
            self._change(share, 0)
            share.keeper.cut_off(
                f"{size} bytes of unfinished requests for {age:.0f} s, when all together are more than the "
                f"{limit:.0f} that maxPendingInput{which} allows"
            )
