"""Connections of clients as operations see them, whatever protocol they speak."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

MayUse = Callable[[str], bool]
"""Predicate: True if a caller may use records of this topic as it requests; see `records`."""


class ClientConnection(Protocol):
    """Connection of a client, while it is open; connections are compared by identity.

    `gateway.remoting.call.Peer` is an implementation.
    """

    @property
    def address(self) -> str:
        """`ip:port` in RocketMQ's form; behind a proxy, the client's own address."""
        ...

    @property
    def host_bytes(self) -> bytes:
        """The client's address packed as a message's born host: 4 or 16 bytes of ip, i4 port."""
        ...

    @property
    def is_open(self) -> bool:
        """False from the moment closing has begun."""
        ...

    def close(self, reason: str) -> None:
        """Close the connection after pending output is written; `reason` is logged unless it is empty."""
        ...

    def on_lost(self, callback: Callable[[Any], None]) -> None:
        """Call `callback(connection)` once when the connection is lost; at once if it already is."""
        ...
