"""Port for slaves, and their connections: the log is sent as it grows.

`engine.ha` decides what to send and tracks what was acknowledged; this module reads and writes bytes. A
connection sends while its socket accepts bytes; arrivals in the store, the slave's reports and ticks wake it.
While no slave is connected the store does not call this module. RocketMQ:
`DefaultHAService.AcceptSocketService`, `DefaultHAConnection`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.python.failure import Failure

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.engine.ha.feed import Feed
from mqgateway.engine.ha.frames import StreamBroken
from mqgateway.engine.ha.replicas import Replicas
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.store.message_store import ColdRead, MessageStore
from mqgateway.gateway.broker.replication.streams import ReplicationStream
from mqgateway.gateway.runtime.loop import ListeningPort, Reactor, Transport

log = logging.getLogger(__name__)

SETTLE_MILLIS = 3000
"""Milliseconds a stopping broker waits until its slaves have everything."""
COMPLAINTS_MAX = 100
"""Number of reasons for refusing a slave that are remembered, so that each is logged once."""


class SlaveConnection(Protocol):
    """Connection of one slave."""

    transport: Transport  # type: ignore[assignment]  # there is one whenever we are called
    feed: Feed

    def __init__(self, server: SlaveServer) -> None:
        self._server = server
        self._is_paused = False
        self._waits_for_disk = False
        self.is_lost = False

    def connectionMade(self) -> None:
        peer = self.transport.getPeer()
        self.transport.setTcpNoDelay(True)
        self.feed = self._server.connected(self, f"{peer.host}:{peer.port}")
        self.transport.registerProducer(self, True)

    def dataReceived(self, data: bytes) -> None:
        if self.is_lost:
            return
        try:
            more = self.feed.receive(data, self._server.now())
        except StreamBroken as reason:
            self._server.refuse(self, str(reason))
            return
        if more:
            self._server.replicas.acknowledged()
        self.pump()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.is_lost = True
        self._server.gone(self)

    def pauseProducing(self) -> None:
        """Pause: the socket accepts no more bytes for now."""
        self._is_paused = True

    def resumeProducing(self) -> None:
        """Resume: the socket accepts bytes again."""
        self._is_paused = False
        self.pump()

    def stopProducing(self) -> None:
        """Stop sending: the connection has ended."""
        self._is_paused = True

    def pump(self) -> None:
        """Send pending data, as long as the socket accepts it and no read waits for the disk."""
        while not (self._is_paused or self._waits_for_disk or self.is_lost):
            outgoing = self.feed.take(self._server.now())
            if outgoing is None:
                return
            header = self.feed.header(outgoing)
            if not outgoing.size:
                self._write(header)
                return
            try:
                body = self._server.store.raw.read(*outgoing)
            except ColdRead as cold:
                self.feed.give_back(outgoing)
                self._waits_for_disk = True
                self._server.store.bring(cold, self._brought)
                return
            except OSError as error:
                self._server.refuse(self, f"the log cannot be read: {error}")
                return
            self._write(header + body)

    def _brought(self) -> None:
        self._waits_for_disk = False
        self.pump()

    def _write(self, data: bytes) -> None:
        self.transport.write(data)

    def abort(self) -> None:
        """End the connection at once."""
        self.is_lost = True
        self.transport.abortConnection()


class SlaveServer(Factory):
    """All connections of slaves; inactive before `listen`."""

    noisy = False

    def __init__(
        self,
        options: StoreOptions,
        store: MessageStore,
        replicas: Replicas,
        clock: Clock,
        reactor: Reactor,
        stream: ReplicationStream,
    ) -> None:
        self._options = options
        self._stream = stream
        self._departure_watchers: list[Callable[[], None]] = []
        self.store = store
        self.replicas = replicas
        self._clock = clock
        self._reactor = reactor
        self._port: ListeningPort | None = None
        self.listener: Factory = self
        """Factory that accepts connections first; it passes those of slaves to this one."""
        self.connections: list[SlaveConnection] = []
        self._complaints: set[tuple[str, str]] = set()
        self._settled: Deferred[None] | None = None
        self._settle_until = 0

    def now(self) -> int:
        """Return the time in ms of a monotonic clock."""
        return elapsed_millis(self._clock)

    def watch_departures(self, callback: Callable[[], None]) -> None:
        """Call back when a slave's connection has ended."""
        self._departure_watchers.append(callback)

    def listen(self, host: str, port: int) -> None:
        """Accept connections. Raises `twisted.internet.error.CannotListenError`."""
        self._port = self._reactor.listenTCP(port, self.listener, 50, host)

    def settle(self) -> Deferred[None]:
        """Return a Deferred that fires when slaves have acknowledged everything, or time is up."""
        self._settled = Deferred()
        self._settle_until = self.now() + SETTLE_MILLIS
        settled = self._settled
        self.tick()
        return settled

    def _check_settled(self) -> None:
        end, settled = self.store.raw.position, self._settled
        if settled is None:
            return
        lacking = [feed for feed in self.replicas.feeds if feed.is_in_sync() and feed.ack_offset < end]
        if not lacking or self.now() >= self._settle_until:
            self._settled = None
            settled.callback(None)

    def stop(self) -> Deferred[None]:
        """Accept no more connections, end existing ones; fires when the port is closed."""
        port, self._port = self._port, None
        closed = maybeDeferred(port.stopListening) if port is not None else maybeDeferred(lambda: None)
        self.drop_all()
        self.replicas.give_up()
        return closed.addCallback(lambda _: None)

    def drop_all(self) -> None:
        """End all connections: slaves of this master connect again."""
        for connection in list(self.connections):
            connection.abort()

    def buildProtocol(self, addr: object) -> SlaveConnection | None:
        if not self._stream.is_open:
            return None
        if len(self.connections) >= self._options.ha_max_slaves:
            self.complain(str(addr), f"{len(self.connections)} slaves are connected already (haMaxSlaves)")
            return None
        return SlaveConnection(self)

    def pump(self) -> None:
        """Send pending data to every slave."""
        for connection in list(self.connections):
            connection.pump()

    def tick(self) -> None:
        """Expire sends that waited too long, drop silent slaves, send keep-alives."""
        now = self.now()
        if self.replicas.waiting:
            self.replicas.expire(now)
        for connection in list(self.connections):
            if connection.feed.is_expired(now):
                self.refuse(connection, "it was silent for too long")
            else:
                connection.pump()
        self._check_settled()

    # Called by connections

    def connected(self, connection: SlaveConnection, address: str) -> Feed:
        """Register a connected slave, and return its feed."""
        now = self.now()
        feed = self._stream.feed(address, now)
        self.connections.append(connection)
        self.replicas.add(feed, now)
        log.info("slave %s has connected", address)
        return feed

    def gone(self, connection: SlaveConnection) -> None:
        """Remove a slave whose connection has ended."""
        if connection not in self.connections:
            return
        self.connections.remove(connection)
        self.replicas.remove(connection.feed)
        feed = connection.feed
        log.info("slave %s disconnected, it had all data before offset %d", feed.address, feed.ack_offset)
        for callback in self._departure_watchers:
            callback()

    def refuse(self, connection: SlaveConnection, reason: str) -> None:
        """End a connection, and log the reason."""
        self.complain(connection.feed.address, reason)
        connection.abort()

    def complain(self, address: str, reason: str) -> None:
        """Log a refusal, once for each host and reason: a slave reconnects every few seconds."""
        complaint = address.rpartition(":")[0], reason
        if complaint not in self._complaints:
            if len(self._complaints) >= COMPLAINTS_MAX:
                self._complaints.clear()
            self._complaints.add(complaint)
            log.error("slave %s is not served: %s", address, reason)
