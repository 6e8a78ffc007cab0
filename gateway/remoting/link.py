"""Connection of a client to one address: opened on demand, forgotten when it ends."""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from twisted.internet.defer import Deferred, succeed
from twisted.internet.protocol import ClientCreator, Factory
from twisted.python.failure import Failure

from mqgateway.gateway.remoting.call import Peer
from mqgateway.gateway.remoting.connection_settings import ConnectionSettings
from mqgateway.gateway.remoting.dispatch import Dispatcher
from mqgateway.gateway.remoting.exchange import PeerGone
from mqgateway.gateway.remoting.protocol import RemotingConnection
from mqgateway.gateway.remoting.transport import connecting
from mqgateway.gateway.runtime.loop import Reactor

if TYPE_CHECKING:
    from mqgateway.gateway.remoting.tls import ClientTls

log = logging.getLogger(__name__)

Connect: TypeAlias = Callable[[Any], Deferred[Any]]
"""Function that connects a protocol of the given factory.

Its Deferred fires when connected and can be cancelled.
"""


def connects_to(reactor: Reactor, address: str, timeout: float) -> Connect:
    """Return the function that connects to `ip:port`, `[ipv6]:port` or `name:port`. Raises ValueError."""
    host, separator, port = address.rpartition(":")
    if not separator or not host or not port.isdecimal():
        raise ValueError(f"{address!r} is not host:port")
    host = host.removeprefix("[").removesuffix("]")
    try:
        ipaddress.ip_address(host)
    except ValueError:
        from twisted.internet.endpoints import HostnameEndpoint  # imported late for a faster start

        return HostnameEndpoint(reactor, host, int(port), timeout).connect
    connector = connecting(reactor)

    def connect(factory: Any) -> Deferred[Any]:
        creator = ClientCreator(connector, factory.buildProtocol, None)  # type: ignore[no-untyped-call]
        made: Deferred[Any] = creator.connectTCP(host, int(port), timeout)  # type: ignore[no-untyped-call]
        return made

    return connect


class Link:
    """Link to one address.

    `on_gone(link)` is called when it has neither a connection nor an attempt left. `on_made(address)` is
    called for a new connection, before its waiters are notified.
    """

    def __init__(
        self,
        reactor: Reactor,
        address: str,
        *,
        settings: ConnectionSettings,
        dispatcher: Dispatcher,
        tls: ClientTls | None,
        connect_timeout: float,
        on_gone: Callable[[Link], None],
        on_made: Callable[[str], None] | None = None,
    ) -> None:
        self.address = address
        self.connection: RemotingConnection | None = None
        """Current connection; check its `is_open` before use."""
        self._reactor = reactor
        self._connect = connects_to(reactor, address, connect_timeout)
        factory = _Connections(settings, dispatcher, self)
        self._factory = factory if tls is None else tls.wrap_factory(factory, address.rpartition(":")[0])
        self._on_gone = on_gone
        self._on_made = on_made
        self._waiters: list[Deferred[RemotingConnection]] = []
        self._attempt: Deferred[Any] | None = None

    def connected(self) -> Deferred[RemotingConnection]:
        """Return an open connection, established on demand; fails with `PeerGone`."""
        if self.connection is not None and self.connection.is_open:
            return succeed(self.connection)
        waiter: Deferred[RemotingConnection] = Deferred()
        self._waiters.append(waiter)
        if self._attempt is None:
            self._attempt = self._connect(self._factory)
            self._attempt.addErrback(self._attempt_failed)
        return waiter

    def retire(self, connection: RemotingConnection) -> None:
        """Retire a connection on the peer's request.

        Nothing more is sent on it, and it is closed after the pending answers.
        """
        if connection is not self.connection:
            return
        self.connection = None
        connection.settled().addCallback(lambda _: connection.close("the peer asked us to go away"))

    def close(self, reason: str, *, is_said: bool = True) -> Deferred[None]:
        """Close the connection; fires when it is gone. With `is_said`, the reason is logged."""
        attempt, self._attempt = self._attempt, None
        self._fail_waiters(PeerGone(f"{self.address}: {reason}"))
        gone: Deferred[None] = Deferred()
        connection = self.connection
        if connection is None:
            gone.callback(None)
        else:
            connection.on_lost(lambda _: gone.callback(None))
            connection.close(reason if is_said else "")
        if attempt is not None:
            attempt.cancel()
        return gone

    # Callbacks of connections

    def connection_made(self, peer: Peer) -> None:
        """Pass a new connection to the waiters."""
        assert isinstance(peer, RemotingConnection)
        self.connection = peer
        self._attempt = None
        if self._on_made is not None:
            self._on_made(self.address)
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter.callback(peer)

    def connection_gone(self, peer: Peer) -> None:
        """Handle the end of a connection."""
        if peer is self.connection:
            self.connection = None
        self._check_gone()

    def _attempt_failed(self, failure: Failure) -> None:
        self._attempt = None
        self._fail_waiters(PeerGone(f"{self.address} cannot be reached: {failure.getErrorMessage()}"))
        self._check_gone()

    def _fail_waiters(self, reason: PeerGone) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter.errback(reason)

    def _check_gone(self) -> None:
        if self.connection is None and self._attempt is None:
            self._on_gone(self)


class _Connections(Factory):
    """Protocol factory of an endpoint."""

    noisy = False

    def __init__(self, settings: ConnectionSettings, dispatcher: Dispatcher, link: Link) -> None:
        self._settings = settings
        self._dispatcher = dispatcher
        self._link = link

    def buildProtocol(self, addr: object) -> Any:
        return RemotingConnection(
            self._settings, self._dispatcher, self._link.connection_made, self._link.connection_gone
        )
