"""A connection that comes before Kafka's modules are loaded: it is not read until then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IHandshakeListener
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer  # type: ignore[import-untyped, unused-ignore]

from mqgateway.gateway.remoting.handshake import Conversing


@implementer(IHandshakeListener)
class LoadingConnection:
    """See `Conversing`. Once `become` was called everything is passed to the connection it was given.

    `say_refused` logs that a peer is not served.
    """

    def __init__(self, say_refused: Callable[[str, str], None]) -> None:
        self._say_refused = say_refused
        self._source: tuple[str, int] | None = None
        self._transport: Any = None
        self._received = b""
        self._is_secure = False
        self._is_lost = False
        self._became: Conversing | None = None

    def become(self, connection: Conversing) -> None:
        """Pass on what was received, and everything from now on."""
        if self._is_lost:
            return
        self._became = connection
        if self._source is not None:
            connection.set_address(*self._source)
        if self._is_secure:
            connection.handshakeCompleted()
        if self._transport is not None:
            self._transport.resumeProducing()
            connection.makeConnection(self._transport)
            received, self._received = self._received, b""
            if received:
                connection.dataReceived(received)

    @property
    def address(self) -> str:
        """See `Conversing`."""
        return "" if self._became is None else self._became.address

    @property
    def is_open(self) -> bool:
        """See `Conversing`."""
        return self._became is not None and self._became.is_open

    @property
    def is_secure(self) -> bool:
        """See `Conversing`."""
        return self._is_secure

    @property
    def last_request(self) -> str:
        """See `Conversing`."""
        return "" if self._became is None else self._became.last_request

    def set_address(self, ip: str, port: int) -> None:
        """See `Conversing`."""
        self._source = ip, port
        if self._became is not None:
            self._became.set_address(ip, port)

    def makeConnection(self, transport: Any) -> None:
        """See `Conversing`."""
        self._transport = transport
        if self._became is None:
            transport.pauseProducing()
        else:
            self._became.makeConnection(transport)

    def dataReceived(self, data: bytes) -> None:
        """See `Conversing`."""
        if self._became is None:
            self._received += data
        else:
            self._became.dataReceived(data)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """See `Conversing`."""
        self._is_lost = True
        if self._became is not None:
            self._became.connectionLost(reason)

    def handshakeCompleted(self) -> None:
        """See `Conversing`."""
        self._is_secure = True
        if self._became is not None:
            self._became.handshakeCompleted()

    def close(self, reason: str) -> None:
        """See `Conversing`."""
        if self._became is not None:
            self._became.close(reason)
        elif self._transport is not None:
            self._transport.abortConnection()

    def is_idle(self, now: float, limit: float) -> bool:
        """See `Conversing`."""
        return self._became is not None and self._became.is_idle(now, limit)

    def quiet(self, now: float) -> float:
        """See `Conversing`."""
        return 0.0 if self._became is None else self._became.quiet(now)

    def settled(self) -> Deferred[None]:
        """See `Conversing`: nothing was accepted yet."""
        return succeed(None) if self._became is None else self._became.settled()

    def say_refused(self, peer: str, reason: str) -> None:
        """See `Conversing`."""
        if self._became is None:
            self._say_refused(peer, reason)
        else:
            self._became.say_refused(peer, reason)
