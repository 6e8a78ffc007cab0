"""Eager transport on a socket that accepts as much as a test allows."""

import errno
from collections.abc import Sequence
from typing import Any

import pytest
from twisted.internet.endpoints import TCP4ClientEndpoint
from twisted.internet.error import ConnectionDone
from twisted.internet.interfaces import IReactorFDSet
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.selectreactor import SelectReactor
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from zope.interface import implementer

from mqgateway.gateway.remoting import transport
from mqgateway.gateway.remoting.transport import (
    CHUNKS_MAX,
    EagerClient,
    EagerPort,
    EagerTransport,
    connecting,
    listen,
)
from mqgateway.gateway.runtime.loop import use_monotonic_time
from tests.support.gateway.remoting.pair import Net


class Socket:
    """Socket that accepts `room` bytes and records every send."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.taken = b""
        self.sends = 0
        self.broken = False

    def setblocking(self, flag: bool) -> None:
        pass

    def fileno(self) -> int:
        return 7

    def setsockopt(self, *option: object) -> None:
        pass

    def send(self, data: memoryview) -> int:
        self.sends += 1
        if self.broken:
            raise OSError(errno.ECONNRESET, "reset")
        if not self.room:
            raise OSError(errno.EWOULDBLOCK, "full")
        chunk = bytes(data[: self.room])
        self.room -= len(chunk)
        self.taken += chunk
        return len(chunk)

    def sendmsg(self, chunks: Sequence[Any]) -> int:
        assert len(chunks) <= CHUNKS_MAX
        return self.send(memoryview(b"".join(chunks)))

    def shutdown(self, how: int) -> None:
        pass

    def close(self) -> None:
        pass


@implementer(IReactorFDSet)
class Watch(Clock):
    """Reactor that records registrations."""

    def __init__(self) -> None:
        super().__init__()
        self.writers: set[Any] = set()
        self.asked = 0

    def addReader(self, reader: Any) -> None:
        pass

    def removeReader(self, reader: Any) -> None:
        pass

    def addWriter(self, writer: Any) -> None:
        self.asked += 1
        self.writers.add(writer)

    def removeWriter(self, writer: Any) -> None:
        self.writers.discard(writer)

    def turn(self) -> Any:
        """Signal that the socket is writable again."""
        for writer in list(self.writers):
            outcome = writer.doWrite()
            if outcome is not None:
                return outcome
        return None


class Producer:
    def __init__(self) -> None:
        self.events: list[str] = []

    def pauseProducing(self) -> None:
        self.events.append("pause")

    def resumeProducing(self) -> None:
        self.events.append("resume")

    def stopProducing(self) -> None:
        self.events.append("stop")


class Scene:
    def __init__(self, room: int = 1 << 30, spare: int = 100) -> None:
        self.socket = Socket(room)
        self.watch = Watch()
        made: Any = EagerTransport
        self.port = EagerPort(9876, Factory(), 50, "", self.watch)  # type: ignore[no-untyped-call]
        self.port._first_spare = spare
        peer = ("10.0.0.2", 5)
        self.transport: EagerTransport = made(self.socket, Protocol(), peer, self.port, 1, self.watch)


def test_write_sends_at_once_without_event_loop() -> None:
    scene = Scene()
    scene.transport.write(b"one")
    scene.transport.write(b"two")
    assert scene.socket.taken == b"onetwo"
    assert (scene.socket.sends, scene.watch.asked) == (2, 0)


@pytest.mark.parametrize("room", [0, 1, 5, 9])
def test_rest_of_write_follows_in_order(room: int) -> None:
    scene = Scene(room)
    scene.transport.write(b"0123456789")
    scene.transport.write(b"abc")
    assert scene.socket.taken == b"0123456789"[:room]
    scene.socket.room = 100
    scene.watch.turn()
    assert scene.socket.taken == b"0123456789abc"
    assert scene.watch.writers == set()
    scene.transport.write(b"!")
    assert scene.socket.taken == b"0123456789abc!"


def test_write_sequence_is_joined_until_next_turn() -> None:
    scene = Scene()
    for chunk in (b"one", b"two"):
        scene.transport.writeSequence([chunk])
    assert scene.socket.sends == 0
    scene.transport.write(b"three")
    scene.watch.turn()
    assert (scene.socket.taken, scene.socket.sends) == (b"onetwothree", 1)


def test_producer_is_paused_by_buffered_output_and_resumed() -> None:
    scene = Scene(room=300_000)
    producer = Producer()
    scene.transport.registerProducer(producer, True)  # type: ignore[arg-type]
    scene.transport.write(bytes(250_000))
    assert producer.events == []
    scene.transport.write(bytes(250_000))
    assert producer.events == ["pause"]
    scene.socket.room = 1 << 20
    scene.watch.turn()
    assert producer.events == ["pause", "resume"]
    assert len(scene.socket.taken) == 500_000


def test_broken_connection_is_detected_by_event_loop() -> None:
    scene = Scene()
    scene.socket.broken = True
    scene.transport.write(b"lost")
    assert scene.transport.connected
    assert isinstance(scene.watch.turn(), Exception)


def test_offer_leaves_rest_with_producer() -> None:
    scene = Scene(room=5)
    producer = Producer()
    scene.transport.registerProducer(producer, True)  # type: ignore[arg-type]
    chunks = [b"abc", bytearray(b"def"), memoryview(b"ghi")]
    assert scene.transport.offer(chunks) == 5
    assert scene.watch.writers == set()
    assert scene.transport.offer([b"f", chunks[2]]) == 0
    assert scene.transport.offer([b"f", chunks[2]]) == 0
    assert scene.socket.sends == 2  # a full socket is not asked again
    scene.socket.room = 100
    scene.watch.turn()
    assert (producer.events, scene.watch.writers) == (["resume"], set())
    assert scene.transport.offer([b"f", chunks[2]]) == 4
    assert scene.socket.taken == b"abcdefghi"


def test_offer_to_broken_connection_ends_it() -> None:
    scene = Scene()
    scene.socket.broken = True
    assert scene.transport.offer([b"lost"]) == 0
    reason = scene.watch.turn()
    assert isinstance(reason, Exception)
    scene.transport.connectionLost(Failure(reason))
    assert scene.transport.offer([b"lost"]) == 0
    assert scene.watch.writers == set()


def test_offer_after_buffered_write_keeps_order() -> None:
    scene = Scene(room=2)
    producer = Producer()
    scene.transport.registerProducer(producer, True)  # type: ignore[arg-type]
    scene.transport.write(b"0123")
    scene.socket.room = 100
    assert scene.transport.offer([b"45"]) == 0
    scene.watch.turn()
    assert (scene.socket.taken, producer.events) == (b"0123", ["resume"])


def test_close_flushes_output_and_accepts_no_more() -> None:
    scene = Scene(room=2)
    scene.transport.write(b"0123")
    scene.transport.loseConnection()
    scene.socket.room = 100
    reason = scene.watch.turn()
    assert isinstance(reason, ConnectionDone)
    assert scene.socket.taken == b"0123"
    scene.transport.connectionLost(Failure(reason))
    scene.transport.write(b"late")
    assert scene.socket.taken == b"0123"


def test_connection_on_reserved_descriptor_is_closed(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene(spare=7)
    assert scene.transport.connected
    scene.watch.advance(0)
    assert not scene.transport.connected
    assert not scene.port.has_room_for(8) and len(caplog.records) == 1 and "room for 7" in caplog.text
    assert scene.port.has_room_for(6)
    assert not scene.port.has_room_for(7) and len(caplog.records) == 2


def test_number_of_reserved_files(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [transport.spare_files(limit) for limit in (100, 1024, 4096, 65_536)] == [25, 256, 1024, 1024]
    limits = iter([(1024, 1024), (transport.resource.RLIM_INFINITY,) * 2])
    monkeypatch.setattr(transport.resource, "getrlimit", lambda _: next(limits))
    assert transport.first_spare() == 768
    assert transport.first_spare() > 1 << 40


def test_listen_falls_back_to_reactor_without_descriptors() -> None:
    net = Net()
    assert listen(net, 9876, Factory(), 50, "") is net.ports[9876]


def test_listen_uses_eager_port_with_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[EagerPort] = []
    monkeypatch.setattr(transport.EagerPort, "startListening", lambda port: started.append(port))
    watch: Any = Watch()
    port = listen(watch, 9876, Factory(), 50, "")
    assert started == [port]
    assert EagerPort.transport is EagerTransport


def test_outgoing_connection_sends_at_once() -> None:
    """On real sockets: written data reaches the other side before the loop turns."""
    reactor = SelectReactor()
    use_monotonic_time(reactor)
    heard, ended = [], []

    class Other(Protocol):
        def dataReceived(self, data: bytes) -> None:
            heard.append(data)
            reactor.stop()

    class Ours(Protocol):
        def connectionMade(self) -> None:
            assert isinstance(self.transport, EagerClient)
            self.transport.write(b"at once")
            ended.append(self.transport._waits)

    listening = listen(reactor, 0, Factory.forProtocol(Other), 5, "127.0.0.1")
    endpoint = TCP4ClientEndpoint(connecting(reactor), "127.0.0.1", listening.getHost().port)
    endpoint.connect(Factory.forProtocol(Ours))
    reactor.callLater(5, reactor.stop)
    reactor.run(installSignalHandlers=False)
    assert (heard, ended) == ([b"at once"], [False])


def test_connecting_returns_reactor_without_sockets() -> None:
    net: Any = Net()
    assert connecting(net) is net
