"""What operations know of who calls them: a client's connection, whatever the protocol it speaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

MayUse = Callable[[str], bool]
"""Whether a caller may do with records of a topic what it asks for; see `records`."""


class ClientConnection(Protocol):
    """A client, as long as its connection lives; connections are compared by identity.

    `gateway.remoting.call.Peer` is one.
    """

    @property
    def address(self) -> str:
        """`ip:port` as the standard prints it; behind a proxy, the client's own address."""
        ...

    @property
    def host_bytes(self) -> bytes:
        """The same address packed as a message's born host: 4 or 16 bytes of ip, i4 port."""
        ...

    @property
    def is_open(self) -> bool:
        """False from the moment closing has begun."""
        ...

    def close(self, reason: str) -> None:
        """Close it after what was said has gone out; the reason is logged, unless it is empty."""
        ...

    def on_lost(self, callback: Callable[[Any], None]) -> None:
        """Call `callback(connection)` once when it is gone; at once if it already is."""
        ...
