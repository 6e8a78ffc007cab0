"""Two ends joined in memory, with a manual clock.

`Wire` is the transport of one end: output waits until `Pair.pump` carries it over, or for ever while the wire
is `stuck`, like the socket of a peer that does not read. `Net` is a reactor whose `connectTCP` reaches its
own listeners, so that servers and clients meet without sockets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from twisted.internet.address import IPv4Address
from twisted.internet.error import (
    CannotListenError,
    ConnectionAborted,
    ConnectionDone,
    ConnectionRefusedError,
)
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from mqgateway.gateway.codec.command import RemotingCommand, decode_command
from mqgateway.gateway.codec.frame import FrameCutter
from mqgateway.gateway.remoting.call import Peer


class Wire:
    """Transport of one end; `other` is that of the other end."""

    BUFFER = 64 * 1024  # from this much on the producer is told to pause, as Twisted's sockets do

    def __init__(self, host: IPv4Address, peer: IPv4Address) -> None:
        self.host, self.peer = host, peer
        self.protocol: Any = None
        self.other: Wire
        self.pending: list[bytes] = []
        self.writes = 0
        self.stuck = False  # the other side has stopped taking bytes
        self.reading = True
        self.producer: Any = None
        self.producer_paused = False
        self.disconnecting = False
        self.gone = False
        self.aborted = False

    @property
    def pending_size(self) -> int:
        return sum(map(len, self.pending))

    def write(self, data: bytes) -> None:
        assert type(data) is bytes
        if self.gone:
            return
        self.writes += 1
        self.pending.append(data)
        if self.pending_size > self.BUFFER and self.producer is not None and not self.producer_paused:
            self.producer_paused = True
            self.producer.pauseProducing()

    def writeSequence(self, data: Iterable[bytes]) -> None:
        self.write(b"".join(data))

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        assert streaming and self.producer is None
        self.producer = producer

    def unregisterProducer(self) -> None:
        self.producer = None

    def pauseProducing(self) -> None:
        self.reading = False

    def resumeProducing(self) -> None:
        self.reading = True

    def loseConnection(self) -> None:
        self.disconnecting = True

    def abortConnection(self) -> None:
        self.aborted = True
        self.pending.clear()

    def setTcpNoDelay(self, enabled: bool) -> None:
        """Do nothing, because output is not delayed here."""

    def getHost(self) -> IPv4Address:
        return self.host

    def getPeer(self) -> IPv4Address:
        return self.peer

    # Called by the pair

    def lose(self, reason: Exception) -> None:
        if not self.gone:
            self.gone = True
            self.protocol.connectionLost(Failure(reason))

    def carry(self) -> bool:
        """Carry output to the other end; return True if anything happened."""
        if self.gone:
            return False
        if self.aborted:
            self.lose(ConnectionAborted())
            self.other.lose(ConnectionDone())
            return True
        if self.stuck or not self.other.reading:
            return False
        data, self.pending = b"".join(self.pending), []
        if data and not self.other.gone and not self.other.disconnecting:
            self.other.protocol.dataReceived(data)
        if not self.pending:
            if self.producer_paused:
                self.producer_paused = False
                if self.producer is not None:
                    self.producer.resumeProducing()
            if self.disconnecting and not self.pending:
                self.lose(ConnectionDone())
                self.other.lose(ConnectionDone())
                return True
        return bool(data)


class Pair:
    """Both ends of a connection. `pump` carries bytes until nothing moves."""

    def __init__(
        self,
        client: Any,
        server: Any,
        client_address: tuple[str, int] = ("192.168.1.1", 54321),
        server_address: tuple[str, int] = ("10.0.0.1", 10911),
    ) -> None:
        here, there = IPv4Address("TCP", *client_address), IPv4Address("TCP", *server_address)
        self.client, self.server = Wire(here, there), Wire(there, here)
        self.client.other, self.server.other = self.server, self.client
        self.client.protocol, self.server.protocol = client, server
        server.makeConnection(self.server)
        client.makeConnection(self.client)

    def pump(self) -> bool:
        """Carry bytes until nothing moves; return True if anything did."""
        for count in range(10_000):
            moved = [wire.carry() for wire in (self.client, self.server)]
            if not any(moved):
                return count > 0
        raise AssertionError("the two ends never stop talking")


class Net(Clock):
    """In-memory reactor: manual time, listening ports, connections carried by pairs."""

    def __init__(self) -> None:
        super().__init__()
        self.ports: dict[int, NetPort] = {}
        self.pairs: list[Pair] = []
        self.attempts = 0
        self.unreachable: set[int] = set()  # ports that do not even refuse
        self.taken: set[int] = set()  # ports that other processes listen on

    def listenTCP(self, port: int, factory: Any, backlog: int = 50, interface: str = "") -> NetPort:
        if port in self.taken:
            raise CannotListenError(interface, port, OSError("in use"))
        listening = NetPort(self, port or 40_000 + len(self.ports), factory)
        self.ports[listening.port] = listening
        return listening

    def connectTCP(
        self, host: str, port: int, factory: Any, timeout: float = 30, bindAddress: object = None
    ) -> NetConnector:
        self.attempts += 1
        connector = NetConnector(self, host, port, factory)
        factory.doStart()
        factory.startedConnecting(connector)
        if port not in self.unreachable:
            self.callLater(0, connector.reach)
        return connector

    def meet(self, port: int, client: Any, client_address: tuple[str, int] = ("192.168.1.1", 54321)) -> Pair:
        """Connect a test's own protocol to the listener on the port."""
        server = self.ports[port].factory.buildProtocol(IPv4Address("TCP", *client_address))
        assert server is not None, "refused"
        pair = Pair(client, server, client_address, ("10.0.0.1", port))
        self.pairs.append(pair)
        return pair

    def settle(self, seconds: float = 0.0) -> None:
        """Advance the time in small steps and carry all bytes meanwhile."""
        for _ in range(max(1, round(seconds / 0.5))):
            for _ in range(8):
                was_due = self._is_due()
                self.advance(0)
                if not (self.pump_pairs() or was_due):
                    break
            if seconds:
                self.advance(0.5)
        self.pump_pairs()

    def pump_pairs(self) -> bool:
        """Carry the bytes of all connections; return True if anything happened."""
        moved = [pair.pump() for pair in list(self.pairs)]
        return any(moved)

    def _is_due(self) -> bool:
        return any(call.getTime() <= self.seconds() for call in self.calls)


class NetPort:
    """Listening port of a `Net`."""

    def __init__(self, net: Net, port: int, factory: Any) -> None:
        self.net, self.port, self.factory = net, port, factory

    def getHost(self) -> IPv4Address:
        return IPv4Address("TCP", "10.0.0.1", self.port)

    def stopListening(self) -> None:
        self.net.ports.pop(self.port, None)


class NetConnector:
    """Connection attempt within a `Net`."""

    def __init__(self, net: Net, host: str, port: int, factory: Any) -> None:
        self.net, self.host, self.port, self.factory = net, host, port, factory
        self.over = False

    def reach(self) -> None:
        if self.over:
            return
        self.over = True
        listening = self.net.ports.get(self.port)
        server = listening and listening.factory.buildProtocol(IPv4Address("TCP", "10.0.0.2", 50_000))
        if not server:
            self.factory.clientConnectionFailed(self, Failure(ConnectionRefusedError()))
            return
        client = self.factory.buildProtocol(IPv4Address("TCP", self.host, self.port))
        self.net.pairs.append(Pair(client, server, ("10.0.0.2", 50_000), (self.host, self.port)))

    def getDestination(self) -> IPv4Address:
        return IPv4Address("TCP", self.host, self.port)

    def stopConnecting(self) -> None:
        self.over = True
        self.factory.clientConnectionFailed(self, Failure(ConnectionAborted()))

    def disconnect(self) -> None:
        self.stopConnecting()


class Talker:
    """Other end of a conversation, driven by hand: sends raw bytes and keeps received commands."""

    def __init__(self) -> None:
        self.transport: Any = None
        self.cutter = FrameCutter()
        self.heard: list[RemotingCommand] = []
        self.lost: Failure | None = None

    def makeConnection(self, transport: Any) -> None:
        self.transport = transport

    def dataReceived(self, data: bytes) -> None:
        self.heard += [decode_command(payload) for payload in self.cutter.feed(data)]

    def connectionLost(self, reason: Failure) -> None:
        self.lost = reason

    def take(self) -> list[RemotingCommand]:
        """Return the commands received since the last call."""
        heard, self.heard = self.heard, []
        return heard


class StillPeer:
    """Passive peer."""

    host_bytes = bytes([10, 0, 0, 7, 0, 0, 0, 5])
    local_address = "10.0.0.1:10911"
    is_open = True

    def __init__(self, address: str = "10.0.0.7:5") -> None:
        self.address = address

    def request(self, command: RemotingCommand, timeout: float) -> Any:
        raise AssertionError("nothing is asked of a still peer")

    def send_oneway(self, command: RemotingCommand) -> None:
        raise AssertionError("nothing is told to a still peer")

    def send_reply(self, request: RemotingCommand, reply: object) -> None:
        raise AssertionError("nothing is answered to a still peer")

    def close(self, reason: str) -> None:
        raise AssertionError("a still peer is not closed")

    def on_lost(self, callback: Callable[[Peer], None]) -> None:
        raise AssertionError("a still peer is not lost")
