"""A killed service has no effects any more."""

from __future__ import annotations

from typing import Any

from twisted.internet.protocol import ClientFactory, Factory, Protocol

from mqgateway.gateway.testing.crashable import MortalReactor
from tests.support.gateway.remoting.pair import Net


class Echo(Protocol):
    def dataReceived(self, data: bytes) -> None:
        assert self.transport is not None
        self.transport.write(data)


class Hearing(Protocol):
    heard = b""
    is_lost = False

    def dataReceived(self, data: bytes) -> None:
        self.heard += data

    def connectionLost(self, reason: Any = None) -> None:
        self.is_lost = True


def served() -> tuple[Any, MortalReactor]:
    net: Any = Net()
    net.callFromThread = lambda function, *args, **kw: function(*args, **kw)
    reactor = MortalReactor(net)
    reactor.listenTCP(1000, Factory.forProtocol(Echo))
    return net, reactor


def test_timers_of_the_dead_do_not_come() -> None:
    net, reactor = served()
    called: list[str] = []
    reactor.callLater(1, called.append, "one")
    net.advance(1)
    later = reactor.callLater(1, called.append, "two")
    reactor.callFromThread(called.append, "now")
    assert reactor.seconds() == 1 and called == ["one", "now"]
    reactor.kill()
    assert later.active()  # a killed service may still cancel its timers
    reactor.callLater(0, called.append, "three")
    reactor.callFromThread(called.append, "four")
    net.advance(5)
    assert called == ["one", "now"]


def test_connections_break_and_ports_close() -> None:
    net, reactor = served()
    hearing = Hearing()
    net.meet(1000, hearing)
    assert hearing.transport is not None
    hearing.transport.write(b"hello")
    net.settle()
    assert hearing.heard == b"hello"
    reactor.kill()
    net.settle()
    assert hearing.is_lost and 1000 not in net.ports


def test_connections_of_its_own_break_too() -> None:
    net, reactor = served()
    made: list[Hearing] = []

    class Remembering(ClientFactory):
        def buildProtocol(self, addr: object) -> Protocol:
            made.append(Hearing())
            return made[-1]

    reactor.connectTCP("10.0.0.1", 1000, Remembering())
    net.settle()
    assert len(made) == 1
    reactor.cut()
    net.settle()
    assert made[0].is_lost


def test_refusing_service_accepts_no_connection() -> None:
    net, reactor = served()
    reactor.refuses = True
    assert net.ports[1000].factory.buildProtocol(None) is None
    reactor.refuses = False
    assert net.ports[1000].factory.buildProtocol(None) is not None
