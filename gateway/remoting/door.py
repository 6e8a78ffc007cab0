"""The first bytes of a connection, and where they lead: a PROXY header, then TLS or plain frames.

A frame starts with the top byte of its length, which is 0 or 1 below every sane limit, so neither a PROXY
header nor a TLS hello (0x16) can be taken for one. Once the way is known the handshake steps aside: bytes go
straight to what it has led to. Standard: `NettyRemotingServer.HandshakeHandler`, `TlsModeHandler`.
"""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure

from mqgateway.gateway.codec.errors import CodecError
from mqgateway.gateway.remoting.addresses import format_address, host_and_port
from mqgateway.gateway.remoting.protocol import Connection
from mqgateway.gateway.remoting.proxy_header import Incomplete, read_proxy_header
from mqgateway.gateway.remoting.tls import ServerTls
from mqgateway.gateway.runtime.loop import Clockwork, Timer, Transport

TLS_HELLO = 0x16


class Handshake(Protocol):
    """Leads an incoming connection to `connection`, through TLS if that is what it speaks.

    Once it has begun to speak, a PROXY header and a TLS handshake may together take `patience` seconds.
    Without `tls` a TLS hello is refused, as it is in mode disabled. `on_gone` is called when the connection
    has ended, wherever it had come to.
    """

    transport: Transport  # type: ignore[assignment]  # there is one whenever we are called

    def __init__(
        self,
        connection: Connection,
        reactor: Clockwork,
        tls: ServerTls | None,
        patience: float,
        on_gone: Callable[[Handshake], None],
    ) -> None:
        self.connection = connection
        self._reactor = reactor
        self._tls = tls
        self._patience = patience
        self._timer: Timer | None = None
        self._on_gone = on_gone
        self._first = b""
        self._beyond_proxy = False
        self._inside: Protocol | Connection | None = None

    def dataReceived(self, data: bytes) -> None:
        self._first += data
        try:
            rest = self._first if self._beyond_proxy else self._pass_proxy_header()
        except CodecError as error:
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
        """Close the conversation; what is closing already, or has not begun, is cut off."""
        if self.connection.is_open:
            self.connection.close(reason)
        else:
            self.transport.abortConnection()

    def _pass_proxy_header(self) -> bytes:
        """What follows the PROXY header; empty until that is known."""
        header = read_proxy_header(self._first)
        if isinstance(header, Incomplete):
            return b""
        self._beyond_proxy = True
        if header is None:
            return self._first
        if header.source is not None:
            self.connection.set_address(*header.source)
        self._first = self._first[header.size :]
        return self._first

    def _enter(self, first: bytes) -> None:
        tls = self._tls
        inside: Protocol | Connection = self.connection
        if first[0] == TLS_HELLO:
            if tls is None or tls.mode == "disabled":
                self._refuse("it speaks TLS, which is disabled (tls.server.mode)")
                return
            if not tls.is_ready:
                self._refuse("it speaks TLS, for which there is no usable certificate")
                return
            inside = tls.wrap(self.connection)
            if self._timer is None:
                self._timer = self._reactor.callLater(self._patience, self._out_of_patience)
        elif tls is not None and tls.mode == "enforcing":
            self._refuse("it does not speak TLS, which is enforced")
            return
        else:
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


def _ignore(data: bytes) -> None:
    """What comes after a refusal."""
