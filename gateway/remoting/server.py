"""Remoting server: listening ports, their connections, and a graceful stop.

    server = RemotingServer(reactor, dispatcher, options)
    server.listen(host, port)
    server.listen(host, port - 2, fast_dispatcher)      # the VIP port: same connections, other functions
    server.stop()                                       # a Deferred

A stopping server accepts no new connections, sends clients away that understand it, and closes each
connection once no answer is pending. The others are closed after `shutdown_wait_time_seconds`, or after a
second if `enable_shutdown_gracefully` is off. RocketMQ: `NettyRemotingServer`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from itertools import count
from typing import NamedTuple

from twisted.internet.defer import Deferred, DeferredList, maybeDeferred
from twisted.internet.error import CannotListenError
from twisted.internet.protocol import Factory

from mqgateway.engine.options import RemotingOptions
from mqgateway.gateway.remoting.addresses import format_address, host_and_port
from mqgateway.gateway.remoting.call import Peer
from mqgateway.gateway.remoting.connection_settings import ConnectionSettings, server_settings
from mqgateway.gateway.remoting.dispatch import Dispatcher
from mqgateway.gateway.remoting.handshake import Conversing, Handshake
from mqgateway.gateway.remoting.protocol import RemotingConnection
from mqgateway.gateway.remoting.server_tls import ServerTls
from mqgateway.gateway.remoting.transport import listen
from mqgateway.gateway.runtime.loop import ListeningPort, Reactor, Timer
from mqgateway.gateway.runtime.schedule import Schedule, ScheduledCall

log = logging.getLogger(__name__)

SWEEP_SECONDS = 5.0
"""Interval of the sweep for idle connections and changed certificates."""

LAST_WORDS_SECONDS = 1.0
"""Time in which closing connections of a stopping server can flush pending writes."""


def _nothing(peer: Peer) -> None:
    """Do nothing."""


class OpenConnection(NamedTuple):
    """State of an open connection.

    `number` is unique among the connections of the server, `port` is the local port. `age` and `quiet`, the
    time since it was opened and since its last activity, are in seconds.
    """

    number: int
    address: str
    port: int
    is_secure: bool
    last_request: str
    age: float
    quiet: float


class RemotingServer:
    """Connections of one service, on one or several ports.

    Without `settings` they are derived from the options. `on_connect` is called with each peer when its
    connection is ready for requests, `on_lost` when the connection has ended.
    """

    def __init__(
        self,
        reactor: Reactor,
        dispatcher: Dispatcher,
        options: RemotingOptions,
        *,
        tls: ServerTls | None = None,
        settings: ConnectionSettings | None = None,
        on_connect: Callable[[Peer], None] = _nothing,
        on_lost: Callable[[Peer], None] = _nothing,
    ) -> None:
        self._reactor = reactor
        self._dispatcher = dispatcher
        self._options = options
        self._tls = tls
        self.settings = server_settings(options, reactor, None) if settings is None else settings
        """Settings shared by its connections, including those of other protocols."""
        self._recognised: dict[bytes, Callable[[], Conversing]] = {}
        self._on_connect = on_connect
        self._on_lost = on_lost
        self._ports: list[ListeningPort] = []
        self._dispatchers: set[Dispatcher] = {dispatcher}
        self._handshakes: set[Handshake] = set()
        self._numbers = count(1)
        self._was_full = False
        self._schedule = Schedule(reactor)
        self._sweeper: ScheduledCall | None = None
        self._stopped: Deferred[None] | None = None
        self._stop_timer: Timer | None = None

    @property
    def connection_count(self) -> int:
        """Number of open connections, including silent ones."""
        return len(self._handshakes)

    @property
    def requires_tls(self) -> bool:
        """Return True if plain connections are refused."""
        return self._tls is not None and self._tls.mode == "enforcing"

    @property
    def verifies_clients(self) -> bool:
        """Return True if the certificates that clients present are verified."""
        return self._tls is not None and self._tls.verifies_clients

    def connections(self) -> list[OpenConnection]:
        """Return all open connections, including silent ones."""
        now = self._reactor.seconds()
        return [_shown(handshake, now) for handshake in self._handshakes]

    def close(self, number: int, reason: str) -> bool:
        """Close a connection after pending writes are flushed. Returns False if the number is unknown."""
        handshake = next((handshake for handshake in self._handshakes if handshake.number == number), None)
        if handshake is not None:
            handshake.end(reason)
        return handshake is not None

    def listen(self, host: str, port: int, dispatcher: Dispatcher | None = None) -> ListeningPort:
        """Accept connections on a port (0: any free one).

        `dispatcher` serves them instead of the default one. Raises
        `twisted.internet.error.CannotListenError`.
        """
        served_by = self._dispatcher if dispatcher is None else dispatcher
        self._dispatchers.add(served_by)

        def connection() -> Conversing:
            return RemotingConnection(self.settings, served_by, self._on_connect, self._on_lost)

        return self._listen(host, port, connection, self._recognised)

    def listen_for(
        self, make: Callable[[], Conversing], host: str, port: int, *, title: str, setting: str
    ) -> int:
        """Accept connections on a port (0: any free one) for another protocol only; return the port in use.

        `make` returns the protocol of a new connection, which comes after a PROXY header and TLS. `title` is
        the protocol's name in the log. If the port cannot be opened, a warning that names its `setting` is
        logged and 0 is returned, so that the start continues.
        """
        try:
            opened: int = self._listen(host, port, make, {}).getHost().port
        except CannotListenError as error:
            log.warning("the %s port cannot be opened: %s; %s sets another one", title, error, setting)
            return 0
        log.info("%s is served at %s", title, format_address(host, opened))
        return opened

    def recognise(self, first_bytes: bytes, make: Callable[[], Conversing]) -> None:
        """Pass connections that begin with these bytes, on the ports of `listen`, to what `make` returns."""
        self._recognised[first_bytes] = make

    def _listen(
        self,
        host: str,
        port: int,
        make: Callable[[], Conversing],
        recognised: Mapping[bytes, Callable[[], Conversing]],
    ) -> ListeningPort:
        factory = _PortFactory(self, make, recognised)
        listening = listen(self._reactor, port, factory, self._options.server_socket_backlog, host)
        self._ports.append(listening)
        if self._sweeper is None:
            self._sweeper = self._schedule.every(SWEEP_SECONDS, SWEEP_SECONDS, self._sweep)
        return listening

    def stop(self) -> Deferred[None]:
        """Stop gracefully, as described in the module; fires when every connection is gone."""
        if self._stopped is not None:
            return self._stopped
        stopped: Deferred[None] = Deferred()
        self._stopped = stopped
        for dispatcher in self._dispatchers:
            dispatcher.stopping = True
        self._schedule.stop()
        closed = DeferredList([maybeDeferred(port.stopListening) for port in self._ports])
        closed.addCallback(lambda _: self._stop_connections())
        return stopped

    # Callbacks of ports

    def open_connection(
        self, make: Callable[[], Conversing], recognised: Mapping[bytes, Callable[[], Conversing]]
    ) -> Handshake | None:
        """Return the protocol for a new connection; None if there are too many."""
        if len(self._handshakes) >= self._options.max_connections:
            if not self._was_full:
                log.warning("connections are refused: %d are open", len(self._handshakes))
            self._was_full = True
            return None
        self._was_full = False
        patience = self._options.handshake_timeout_millis / 1000
        handshake = Handshake(
            make(), self._reactor, self._tls, patience, self._handshake_gone, recognised, next(self._numbers)
        )
        self._handshakes.add(handshake)
        return handshake

    def _handshake_gone(self, handshake: Handshake) -> None:
        self._handshakes.discard(handshake)
        self._check_stopped()

    # Timers

    def _sweep(self) -> None:
        if self._tls is not None:
            self._tls.reload()
        now = self._reactor.seconds()
        limit = self._options.server_channel_max_idle_time_seconds
        for handshake in [
            handshake for handshake in self._handshakes if handshake.connection.is_idle(now, limit)
        ]:
            handshake.end(f"idle for {limit} s")

    def _stop_connections(self) -> None:
        self._ports.clear()
        for handshake in list(self._handshakes):
            if handshake.connection.is_open:
                handshake.connection.settled().addCallback(_end, handshake)
            else:
                handshake.end("the server stops")
        if self._handshakes:
            options = self._options
            patient = options.enable_shutdown_gracefully
            wait = options.shutdown_wait_time_seconds if patient else LAST_WORDS_SECONDS
            self._stop_timer = self._reactor.callLater(wait, self._close_all)
        self._check_stopped()

    def _close_all(self) -> None:
        for handshake in list(self._handshakes):
            if handshake.connection.is_open:
                handshake.end("the server stops")
        self._stop_timer = self._reactor.callLater(LAST_WORDS_SECONDS, self._abort_all)

    def _abort_all(self) -> None:
        self._stop_timer = None
        for handshake in list(self._handshakes):
            handshake.end("the server stops")

    def _check_stopped(self) -> None:
        if self._stopped is None or self._stopped.called or self._ports or self._handshakes:
            return
        if self._stop_timer is not None:
            self._stop_timer.cancel()
            self._stop_timer = None
        self._stopped.callback(None)


def _end(_: None, handshake: Handshake) -> None:
    handshake.end("the server stops")


def _shown(handshake: Handshake, now: float) -> OpenConnection:
    connection = handshake.connection
    return OpenConnection(
        handshake.number,
        connection.address or format_address(*host_and_port(handshake.transport.getPeer())),
        host_and_port(handshake.transport.getHost())[1],
        connection.is_secure,
        connection.last_request,
        now - handshake.opened_at,
        connection.quiet(now),
    )


class _PortFactory(Factory):
    """Protocol factory of one port."""

    noisy = False

    def __init__(
        self,
        server: RemotingServer,
        make: Callable[[], Conversing],
        recognised: Mapping[bytes, Callable[[], Conversing]],
    ) -> None:
        self._server = server
        self._make = make
        self._recognised = recognised

    def buildProtocol(self, addr: object) -> Handshake | None:
        return self._server.open_connection(self._make, self._recognised)
