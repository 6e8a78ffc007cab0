"""Protocol detection by the first bytes of a connection: PROXY header, TLS or plain, frames or others.

A frame starts with the top byte of its length, which is 0 or 1 below every sane limit. So a PROXY header, a
TLS hello (0x16) and HTTP/2's preface ("PRI ") cannot be mistaken for one. Once the protocol is known, bytes
go straight to it, without the handshake. RocketMQ: `TlsModeHandler` and
`NettyRemotingServer.HandshakeHandler`; the proxy's `Http2ProtocolProxyHandler`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from typing import Protocol as Interface

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IHandshakeListener
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer  # type: ignore[import-untyped, unused-ignore]

from mqgateway.gateway.codec.errors import ProtocolError
from mqgateway.gateway.remoting.addresses import format_address, host_and_port
from mqgateway.gateway.remoting.proxy_header import Incomplete, read_proxy_header
from mqgateway.gateway.remoting.server_tls import ServerTls
from mqgateway.gateway.runtime.loop import Clockwork, Timer, Transport

TLS_HELLO = 0x16


class Conversing(Interface):
    """Protocol of an incoming connection: a Twisted protocol that a server can observe and close."""

    @property
    def address(self) -> str:
        """`ip:port` of the peer; empty until it is known."""
        ...

    @property
    def is_open(self) -> bool:
        """True after the protocol has started and until it ends."""
        ...

    @property
    def is_secure(self) -> bool:
        """True after a TLS handshake."""
        ...

    @property
    def last_request(self) -> str:
        """Name of the peer's last request; empty if there was none."""
        ...

    def set_address(self, ip: str, port: int) -> None:
        """Set the peer's address as reported by a proxy."""
        ...

    def makeConnection(self, transport: Any) -> None:
        """Start the protocol."""
        ...

    def dataReceived(self, data: bytes) -> None:
        """Handle received bytes."""
        ...

    def connectionLost(self, reason: Failure = ...) -> None:
        """Handle the end of the connection."""
        ...

    def handshakeCompleted(self) -> None:
        """Handle the end of the TLS handshake."""
        ...

    def close(self, reason: str) -> None:
        """Close after pending writes are flushed."""
        ...

    def is_idle(self, now: float, limit: float) -> bool:
        """Return True if the connection has been idle for `limit` seconds; called by a periodic sweep."""
        ...

    def quiet(self, now: float) -> float:
        """Return for how many seconds the connection has been idle, to the precision of the sweeps."""
        ...

    def settled(self) -> Deferred[None]:
        """Return a Deferred that fires once no answer is pending; called when the server stops."""
        ...

    def say_refused(self, peer: str, reason: str) -> None:
        """Log that a peer is refused, unless the same was just logged for another."""
        ...


class Handshake(Protocol):
    """Handshake of an incoming connection, which leads to `connection`, through TLS if the peer speaks it.

    If the first bytes are `recognised`, the connection is passed to the protocol that their function returns.
    A PROXY header and a TLS handshake together may take `patience` seconds from the first byte. Without
    `tls`, a TLS hello is refused, as in mode disabled. `on_gone` is called when the connection has ended, in
    any state. `number` is unique among the connections of a server.
    """

    transport: Transport  # type: ignore[assignment]  # set before any call

    def __init__(
        self,
        connection: Conversing,
        reactor: Clockwork,
        tls: ServerTls | None,
        patience: float,
        on_gone: Callable[[Handshake], None],
        recognised: Mapping[bytes, Callable[[], Conversing]] | None = None,
        number: int = 0,
    ) -> None:
        self.connection = connection
        self.number = number
        self.opened_at = reactor.seconds()
        self._recognised = {} if recognised is None else recognised
        self._source: tuple[str, int] | None = None  # the client behind a proxy
        self._reactor = reactor
        self._tls = tls
        self._patience = patience
        self._timer: Timer | None = None
        self._on_gone = on_gone
        self._first = b""
        self._beyond_proxy = False
        self._inside: Protocol | Conversing | None = None

    def dataReceived(self, data: bytes) -> None:
        self._first += data
        try:
            rest = self._first if self._beyond_proxy else self._pass_proxy_header()
        except ProtocolError as error:
            self._refuse(str(error))
            return
        if rest:
            self._first = b""
            self._enter(rest)
        elif self._timer is None:
            self._timer = self._reactor.callLater(self._patience, self._out_of_patience)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._stop_timer()
        try:
            if self._inside is not None:
                self._inside.connectionLost(reason)
        finally:
            self._on_gone(self)

    def end(self, reason: str) -> None:
        """Close the connection; abort it if it is closing already or the protocol has not started."""
        if self.connection.is_open:
            self.connection.close(reason)
        else:
            self.transport.abortConnection()

    def choose(self, first: bytes) -> Conversing:
        """Return the protocol for the first bytes, decrypted if the peer speaks TLS."""
        for first_bytes, make in self._recognised.items():
            if first_bytes.startswith(first[: len(first_bytes)]):
                is_secure = self.connection.is_secure
                self.connection = make()
                if self._source is not None:
                    self.connection.set_address(*self._source)
                if is_secure:
                    self.connection.handshakeCompleted()
                break
        return self.connection

    def _pass_proxy_header(self) -> bytes:
        """Return the bytes after the PROXY header; empty until it is complete."""
        header = read_proxy_header(self._first)
        if isinstance(header, Incomplete):
            return b""
        self._beyond_proxy = True
        if header is None:
            return self._first
        if header.source is not None:
            self._source = header.source
            self.connection.set_address(*header.source)
        self._first = self._first[header.size :]
        return self._first

    def _enter(self, first: bytes) -> None:
        tls = self._tls
        inside: Protocol | Conversing
        if first[0] == TLS_HELLO:
            if tls is None or tls.mode == "disabled":
                self._refuse("it speaks TLS, which is disabled (tls.server.mode)")
                return
            if not tls.is_ready:
                self._refuse("it speaks TLS, for which there is no usable certificate")
                return
            inside = tls.wrap(_BehindTls(self) if self._recognised else self.connection)
            if self._timer is None:
                self._timer = self._reactor.callLater(self._patience, self._out_of_patience)
        elif tls is not None and tls.mode == "enforcing":
            self._refuse("it does not speak TLS, which is enforced")
            return
        else:
            inside = self.choose(first)
            self._stop_timer()
        self._inside = inside
        inside.makeConnection(self.transport)
        self.dataReceived = inside.dataReceived  # type: ignore[method-assign]
        inside.dataReceived(first)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _out_of_patience(self) -> None:
        self._timer = None
        if not self.connection.is_secure:
            self._refuse("its PROXY header or TLS handshake takes too long")

    def _refuse(self, reason: str) -> None:
        peer = self.connection.address or format_address(*host_and_port(self.transport.getPeer()))
        self.connection.say_refused(peer, reason)
        self.dataReceived = _ignore  # type: ignore[method-assign]
        self.transport.abortConnection()


@implementer(IHandshakeListener)
class _BehindTls(Protocol):
    """Protocol that waits for the first decrypted bytes and is replaced by the protocol they belong to."""

    transport: Any

    def __init__(self, handshake: Handshake) -> None:
        self._handshake = handshake

    def handshakeCompleted(self) -> None:
        """Forward the end of the TLS handshake."""
        self._handshake.connection.handshakeCompleted()

    def dataReceived(self, data: bytes) -> None:
        chosen = self._handshake.choose(data)
        self.transport.wrappedProtocol = chosen
        chosen.makeConnection(self.transport)
        chosen.dataReceived(data)


def _ignore(data: bytes) -> None:
    """Ignore bytes after a refusal."""
