"""One connection of the line protocol: a `Conversing` of the broker's server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred, maybeDeferred, succeed
from twisted.internet.interfaces import IHandshakeListener
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer  # type: ignore[import-untyped, unused-ignore]

from mqgateway.engine.message import pack_host
from mqgateway.gateway.remoting.addresses import format_address, host_and_port
from mqgateway.gateway.remoting.turn import Turn


@implementer(IHandshakeListener)
class LineConnection:
    """Lines in, lines out; also the `ClientConnection` of its requests, with the user of `LINE`."""

    transport: Any

    def __init__(
        self,
        answer: Callable[[str, LineConnection], str | Deferred[str]],
        turn: Turn,
        connections: set[LineConnection],
    ) -> None:
        self._answer = answer
        self._turn = turn
        self._connections = connections
        self._buffer = b""
        self._lost: list[Callable[[Any], None]] = []
        self._source = ("", 0)
        self.user: str | None = None
        self.password = ""
        self.address = ""
        self.host_bytes = b"\0" * 8
        self.is_open = self.is_secure = False
        self.last_request = ""

    def set_address(self, ip: str, port: int) -> None:
        """See `Conversing`."""
        self.address, self.host_bytes = format_address(ip, port), pack_host(ip, port)

    def handshakeCompleted(self) -> None:
        """See `Conversing`."""
        self.is_secure = True

    def makeConnection(self, transport: Any) -> None:
        """See `Conversing`."""
        self.transport = transport
        if not self.address:
            self.set_address(*host_and_port(transport.getPeer()))
        self.is_open = True
        self._connections.add(self)

    def dataReceived(self, data: bytes) -> None:
        """Answer each line; the answers of one read are written after its turn."""
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        is_ours = self._turn.begin()
        try:
            for line in lines:
                self.last_request = line.decode().partition(" ")[0]
                maybeDeferred(self._answer, line.decode(), self).addCallback(self._say)
        finally:
            if is_ours:
                self._turn.end()

    def _say(self, text: str) -> None:
        if self.is_open:
            self.transport.write(text.encode() + b"\n")

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """See `Conversing`."""
        self.is_open = False
        self._connections.discard(self)
        for callback in self._lost:
            callback(self)

    def on_lost(self, callback: Callable[[Any], None]) -> None:
        """See `ClientConnection`."""
        self._lost.append(callback)

    def close(self, reason: str) -> None:
        """See `Conversing`."""
        self.is_open = False
        self.transport.loseConnection()

    def is_idle(self, now: float, limit: float) -> bool:
        """See `Conversing`."""
        return False

    def quiet(self, now: float) -> float:
        """See `Conversing`."""
        return 0.0

    def settled(self) -> Deferred[None]:
        """See `Conversing`."""
        return succeed(None)

    def say_refused(self, peer: str, reason: str) -> None:
        """See `Conversing`."""
