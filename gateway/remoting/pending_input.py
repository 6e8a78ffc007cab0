"""How much input of peers is kept that is not served yet, and who is cut off when it is too much. Pure.

That is the beginnings of frames whose ends have not come, frames that wait behind others of their connection,
and the bodies of requests that are worked on in steps. Each server has one bound for all of it and one for
what comes from one address. Above a bound, those are cut off that keep the most for the longest time: bytes
multiplied by seconds, so that of two alike the older goes, and a short frame that comes slowly stays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

HEAD_ROOM = 1024
"""Bytes around a message."""


class Keeper(Protocol):
    """A connection, as far as it keeps input."""

    def cut_off(self, reason: str) -> None:
        """Let go of the input and end the connection."""
        ...


class _Share:
    __slots__ = ("address", "keeper", "since", "size")

    def __init__(self, keeper: Keeper, address: str, since: float) -> None:
        self.keeper = keeper
        self.address = address
        self.since = since
        self.size = 0


class PendingInput:
    """The input that one server keeps; `limit` and `address_limit` in bytes, `seconds` is the time."""

    def __init__(self, limit: float, address_limit: float, seconds: Callable[[], float]) -> None:
        self._limit = limit
        self._address_limit = address_limit
        self._seconds = seconds
        self._shares: dict[Keeper, _Share] = {}
        self._by_address: dict[str, int] = {}
        self.total = 0
        """Bytes that are kept at present."""

    @classmethod
    def for_messages(
        cls, limit: float, address_limit: float, seconds: Callable[[], float], message_limit: int
    ) -> PendingInput:
        """Return one with room for at least a message of the largest size, and its head, in both bounds."""
        least = message_limit + HEAD_ROOM
        return cls(max(limit, least), max(address_limit, least), seconds)

    def set(self, keeper: Keeper, address: str, size: int, *, anew: bool) -> None:
        """A connection from an ip address keeps `size` bytes now; `anew`: none of those it kept before.

        Cuts off whoever keeps too much, this one perhaps.
        """
        share = self._shares.get(keeper)
        if share is None:
            if not size:
                return
            share = self._shares[keeper] = _Share(keeper, address, self._seconds())
        elif anew:
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
        """Cut off the worst, of an address or of all, until what is left is within the bound."""
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
