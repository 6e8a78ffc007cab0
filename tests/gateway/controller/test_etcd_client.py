"""Failover, timeouts, old versions and users of the etcd client, with the bytes of HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.interfaces import IOpenSSLClientConnectionCreator

from mqgateway.engine.controller.key_values import (
    Kept,
    KeyRange,
    Lease,
    Outcome,
    Put,
    Transaction,
    Unanswered,
)
from mqgateway.engine.options import TlsOptions
from mqgateway.gateway.controller.etcd import endpoints_of
from mqgateway.gateway.controller.etcd_client import EtcdClient
from mqgateway.gateway.remoting.tls import ClientTls
from tests.support.engine.controller.etcd_model import EtcdModel
from tests.support.gateway.controller.etcd_server import EtcdServer
from tests.support.gateway.remoting.pair import Net

LOOK = Transaction({}, [KeyRange("a")])


class World:
    """Servers on ports 2379, 2380 and so on with one shared store, and a client."""

    def __init__(self, count: int = 1, user: str = "", **server: Any) -> None:
        self.net, self.model = Net(), EtcdModel()
        ports = range(2379, 2379 + count)
        self.servers = [EtcdServer(self.net, port, self.model, user=user, **server) for port in ports]
        self.client = EtcdClient(
            endpoints_of(";".join(f"http://127.0.0.1:{port}" for port in ports)),
            reactor=self.net,
            seconds=1.25,
            user=user,
            password="secret",
        )
        self.answers: list[Any] = []

    def look(self, seconds: float = 0.0) -> Any:
        """Return the outcome of reading a key, if there is one by then."""
        self.client.transact(LOOK, self.answers.append)
        self.net.settle(seconds)
        return self.answers.pop() if self.answers else None


def test_calls_are_answered_on_one_connection() -> None:
    world = World()
    client, answers = world.client, world.answers
    client.grant(5, answers.append)
    world.net.settle()
    lease = answers.pop()
    assert lease == Lease(101, 5)
    client.transact(Transaction({"a": 0}, [Put("a", b"1", lease.number)], [KeyRange("a")]), answers.append)
    world.net.settle()
    assert answers.pop() == Outcome(True, 2, [], "s0")
    found = world.look()
    assert found.found[0][0][:2] == ("a", b"1")
    client.keep(lease.number, answers.append)
    world.net.settle()
    assert answers.pop() == Kept(5, "s0")
    client.revoke(lease.number, answers.append)
    world.net.settle()
    assert answers.pop() is None
    assert world.look().found == [[]]
    assert len(world.servers[0].connections) == 1
    world.client.close()
    world.net.settle()
    assert not [call for call in world.net.getDelayedCalls() if call.active()]


def test_refused_connection_fails_over_at_once() -> None:
    world = World(3)
    world.servers[0].end()
    world.servers[1].end()
    assert isinstance(world.look(), Outcome)
    assert isinstance(world.look(), Outcome)
    assert len(world.servers[2].asked) == 2
    world.servers[2].end()
    assert isinstance(world.look(), Unanswered)
    refused = world.look()
    assert isinstance(refused, Unanswered) and "127.0.0.1:23" in str(refused)


def test_unanswered_request_times_out_and_is_not_retried() -> None:
    """A request that may have been executed is not repeated."""
    world = World(2)
    world.servers[0].silent = True
    assert world.look(1.0) is None
    world.net.settle(0.5)
    assert str(world.answers.pop()) == "http://127.0.0.1:2379: no answer within 1.25 s"
    assert len(world.servers[0].asked) == 1 and not world.servers[1].asked
    assert isinstance(world.look(), Outcome)
    assert len(world.servers[1].asked) == 1


def test_broken_connection_is_unanswered() -> None:
    world = World(2)
    world.servers[0].closes = True
    assert isinstance(world.look(), Unanswered)
    assert not world.servers[1].asked
    assert isinstance(world.look(), Outcome)


def test_incomplete_answer_is_unanswered() -> None:
    world = World(2)
    world.servers[0].breaks_off = True
    assert world.look(1) is None
    world.net.settle(0.5)
    assert isinstance(world.answers.pop(), Unanswered)
    assert world.servers[0].connections[0].transport.gone  # type: ignore[union-attr]
    world.client._at = 0
    world.client.transact(LOOK, world.answers.append)
    world.net.settle()
    world.servers[0].end()
    world.net.settle()
    assert isinstance(world.answers.pop(), Unanswered)


def test_missing_leader_is_reported() -> None:
    world = World(2)
    world.model.lose_leader()
    refused = world.look()
    assert isinstance(refused, Unanswered)
    assert str(refused) == "http://127.0.0.1:2379: 503 etcdserver: there is no leader"
    world.look()
    assert [len(server.asked) for server in world.servers] == [1, 1]


@pytest.mark.parametrize("text", [b"", b"nonsense", b"[]", b"{}", b'{"error":{"code":14}}'])
def test_malformed_answer_is_unanswered(text: bytes) -> None:
    world = World()
    world.servers[0].says = text
    assert isinstance(world.look(), Unanswered)


def test_old_version_path_is_detected() -> None:
    world = World(version="v3beta")
    assert isinstance(world.look(), Outcome)
    assert isinstance(world.look(), Outcome)
    assert [path for path, _ in world.servers[0].asked] == ["/v3/kv/txn", "/v3beta/kv/txn", "/v3beta/kv/txn"]


def test_server_without_gateway_is_reported() -> None:
    world = World(version="v4")
    assert "404" in str(world.look())


def test_user_is_authenticated_again_after_token_expiry() -> None:
    world = World(user="root")
    (server,) = world.servers
    assert isinstance(world.look(), Outcome)
    assert isinstance(world.look(), Outcome)
    assert server.tokens == ["token0"]
    server.tokens.append("another")
    assert isinstance(world.look(), Outcome)
    assert len(server.tokens) == 3


def test_failed_authentication_is_reported() -> None:
    world = World(user="root")
    world.servers[0].user = "somebody"
    assert "invalid user ID or password" in str(world.look())


def test_https_server_is_connected_with_tls() -> None:
    net = Net()
    hosts: list[str] = []
    tls = ClientTls(TlsOptions(), None, check_host=False)  # type: ignore[arg-type]

    def for_host(host: str) -> IOpenSSLClientConnectionCreator:
        hosts.append(host)
        return tls.for_host(host)

    said: list[bytes] = []

    class Hello:
        noisy = False

        def doStart(self) -> None: ...

        def buildProtocol(self, _: object) -> Any:
            class Inside:
                def makeConnection(self, transport: Any) -> None: ...
                def dataReceived(self, data: bytes) -> None:
                    said.append(data)

                def connectionLost(self, reason: Any) -> None: ...

            return Inside()

    net.listenTCP(2379, Hello())
    client = EtcdClient(endpoints_of("https://etcd-a:2379"), reactor=net, seconds=1.25, tls=for_host)
    answers: list[Any] = []
    client.transact(LOOK, answers.append)
    net.settle(2)
    assert hosts == ["etcd-a"] and isinstance(answers[0], Unanswered)
    assert said and said[0][:2] == b"\x16\x03", "no hello of TLS"
