"""Connection targets of addresses; links are tested further through the client that owns them."""

import pytest
from twisted.internet.endpoints import HostnameEndpoint
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.testing import MemoryReactorClock

from mqgateway.engine.clock import ManualClock
from mqgateway.gateway.remoting.connection_settings import ConnectionSettings
from mqgateway.gateway.remoting.dispatch import Dispatcher
from mqgateway.gateway.remoting.exchange import PeerGone
from mqgateway.gateway.remoting.link import Link, connects_to
from mqgateway.gateway.remoting.protocol import RemotingConnection
from tests.support.gateway.remoting.pair import Net, Pair, Talker


@pytest.mark.parametrize(
    ("address", "host"),
    [("10.0.0.1:9876", "10.0.0.1"), ("[2001:db8::1]:9876", "2001:db8::1"), ("::1:9876", "::1")],
)
def test_ip_address_is_connected_directly(address: str, host: str) -> None:
    reactor = MemoryReactorClock()
    connects_to(reactor, address, 3.0)(Factory.forProtocol(Protocol))
    (attempt,) = reactor.tcpClients
    assert (attempt[0], attempt[1], attempt[3]) == (host, 9876, 3.0)


@pytest.mark.filterwarnings("ignore:Passing HostnameEndpoint a reactor")
def test_host_name_is_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up: list[HostnameEndpoint] = []
    monkeypatch.setattr(HostnameEndpoint, "connect", lambda endpoint, factory: looked_up.append(endpoint))
    connects_to(MemoryReactorClock(), "name-server:9876", 3.0)(Factory())
    assert repr(looked_up) == "[<HostnameEndpoint name-server:9876>]"


@pytest.mark.parametrize("address", ["", "10.0.0.1", "10.0.0.1:", ":1", "a:b", "10.0.0.1:-1", "10.0.0.1:²"])
def test_invalid_address_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="host:port"):
        connects_to(MemoryReactorClock(), address, 3.0)


def new_link(net: Net, gone: list[Link]) -> Link:
    return Link(
        net,
        "10.0.0.1:9876",
        settings=ConnectionSettings(net, 1 << 20, 8, 8, 1 << 20, 1 << 22),
        dispatcher=Dispatcher(None, {}, {}, clock=ManualClock()),
        tls=None,
        connect_timeout=3.0,
        on_gone=gone.append,
    )


class Host:
    """Accepts any connection."""

    def buildProtocol(self, addr: object) -> Talker:
        return Talker()


def test_link_connects_on_demand_and_ends_with_its_connection() -> None:
    net = Net()
    net.listenTCP(9876, Host())
    gone: list[Link] = []
    link = new_link(net, gone)
    made: list[RemotingConnection] = []
    link.connected().addCallback(made.append)
    link.connected().addCallback(made.append)
    net.settle()
    assert made == [link.connection, link.connection]
    link.connected().addCallback(made.append)
    assert len(made) == 3
    made[0].close("enough")
    net.settle()
    assert gone == [link]
    assert link.connection is None


def test_failed_connection_fails_all_waiters_and_ends_link() -> None:
    net = Net()
    gone: list[Link] = []
    link = new_link(net, gone)
    failures: list[object] = []
    for _ in range(2):
        link.connected().addErrback(lambda failure: failures.append(failure.value))
    net.settle()
    assert [type(failure) for failure in failures] == [PeerGone, PeerGone]
    assert gone == [link]


def test_connection_is_retired_once() -> None:
    net = Net()
    net.listenTCP(9876, Host())
    link = new_link(net, [])
    link.connected()
    net.settle()
    connection = link.connection
    assert connection is not None
    link.retire(connection)
    assert link.connection is None
    assert not connection.is_open
    link.connected()
    net.settle()
    link.retire(connection)
    assert link.connection is not None
    assert link.connection.is_open


def test_connection_of_other_link_is_not_retired() -> None:
    net = Net()
    link = new_link(net, [])
    settings = ConnectionSettings(net, 1 << 20, 8, 8, 1 << 20, 1 << 22)
    stranger = RemotingConnection(settings, Dispatcher(None, {}, {}, clock=ManualClock()), print, print)
    Pair(Talker(), stranger)
    link.retire(stranger)
    assert stranger.is_open
