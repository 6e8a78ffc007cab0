"""State shared by the members of one client: routes, heartbeats, periodic tasks."""

from __future__ import annotations

import logging
import ssl
from types import SimpleNamespace
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.gateway.client.client import Client, _tls, together
from mqgateway.gateway.client.errors import BadArgument, ClientError, NoBroker, Unreachable
from mqgateway.gateway.client.lite_pull import LitePullConsumer
from mqgateway.gateway.client.message import Message
from mqgateway.gateway.client.options import ClientOptions, made
from mqgateway.gateway.client.producer import Producer
from mqgateway.gateway.client.push import PushConsumer
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.remoting.ssl_context import ContextTls
from mqgateway.gateway.remoting.tls import ClientTls
from tests.fuzz.world import BROKER_PORT, NAMESRV_PORT
from tests.gateway.client.test_pop_consumption import set_mode
from tests.gateway.remoting.test_tls import FileShelf, Handshake, identity, mutual
from tests.support.gateway.client.cluster import Cluster, requests_seen, topics_asked_for

B_PORT = 20911
HEARTBEAT = RequestCode.HEART_BEAT


def test_a_heartbeat_every_30_seconds() -> None:
    with Cluster() as cluster:
        producer = cluster.producer()
        cluster.run(producer.send(Message("T", "x")))
        cluster.settle(2.0)
        seen = requests_seen(cluster)
        cluster.settle(90.0)
        assert len([one for one in seen if one.code == HEARTBEAT]) == 3


def test_a_new_connection_is_greeted_at_once() -> None:
    with Cluster() as cluster:
        producer = cluster.producer()
        cluster.run(producer.send(Message("T", "x")))
        cluster.settle(2.0)
        for pair in cluster.net.pairs:
            if pair.server.host.port == BROKER_PORT:
                pair.client.abortConnection()
        cluster.settle()
        assert not cluster.broker.clients.producer_groups
        seen = requests_seen(cluster)
        cluster.run(producer.send(Message("T", "y")))
        assert [one.code for one in seen][:2] == [HEARTBEAT, RequestCode.SEND_MESSAGE_V2]
        assert "Producers" in cluster.broker.clients.producer_groups


def test_a_broker_that_does_not_answer_is_only_logged(caplog: pytest.LogCaptureFixture) -> None:
    with Cluster() as cluster:
        producer = cluster.producer()
        cluster.run(producer.send(Message("T", "x")))
        cluster.cut(BROKER_PORT)
        with caplog.at_level(logging.WARNING):
            cluster.run(Deferred.fromCoroutine(producer.client.heartbeat()))
        assert "was not told that we are there" in caplog.text
        cluster.mend(BROKER_PORT)


def test_concurrent_route_queries_share_one_request() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T")
        client = cluster.client()
        cluster.settle(1.0)
        asked = topics_asked_for(cluster)
        lookups = [Deferred.fromCoroutine(client.update_route("T")) for _ in range(5)]
        assert [cluster.run(one) for one in lookups] == [True] * 5
        assert asked() == ["T"]
        cluster.cut(NAMESRV_PORT)
        lookups = [Deferred.fromCoroutine(client.update_route("T")) for _ in range(3)]
        for one in lookups:
            with pytest.raises(Unreachable):
                cluster.run(one)
        cluster.mend(NAMESRV_PORT)


def test_unregistered_brokers_are_removed() -> None:
    with Cluster() as cluster:
        other = cluster.add_broker("broker-b", B_PORT)
        cluster.make_topic("T")
        cluster.make_topic("T", port=B_PORT)
        producer = cluster.producer()
        cluster.run(producer.send(Message("T", "x")))
        assert {one.broker_name for one in producer.client.routes.members()} == {"broker-a", "broker-b"}
        stopped = other.stop()
        cluster.settle(65.0)
        cluster.run(stopped)
        del cluster.others["broker-b"]
        assert {one.broker_name for one in producer.client.routes.members()} == {"broker-a"}


def test_finds_a_broker_of_topic_or_raises() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T")
        client = cluster.client()
        any_broker = Deferred.fromCoroutine(client.any_broker("T"))
        assert cluster.run(any_broker) == f"10.0.0.1:{BROKER_PORT}"
        with pytest.raises(NoBroker):
            cluster.run(Deferred.fromCoroutine(client.any_broker("Nowhere")))


def test_a_client_without_name_servers_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NAMESRV_ADDR", raising=False)
    with Cluster() as cluster, pytest.raises(BadArgument, match="NAMESRV_ADDR"):
        Client(ClientOptions(), cluster.around)


def test_versions_of_brokers_are_known_from_heartbeats() -> None:
    with Cluster() as cluster:
        producer = cluster.producer()
        cluster.run(producer.send(Message("T", "x")))
        cluster.settle(2.0)
        assert producer.client.versions[f"10.0.0.1:{BROKER_PORT}"] > 400


def test_failures_of_background_tasks_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def fail(error: Exception) -> None:
        raise error

    with Cluster() as cluster:
        client = cluster.client()
        with caplog.at_level(logging.WARNING):
            client.spawn(fail(ClientError("expected")))
        assert "expected" in caplog.text
        with caplog.at_level(logging.ERROR):
            client.spawn(fail(ValueError("a mistake")))
        assert cluster.watch.complaints.pop().startswith("<coroutine")


def test_concurrent_tasks_end_together() -> None:
    done: list[int] = []

    async def work(number: int, wait: Deferred[None]) -> None:
        await wait
        done.append(number)
        if number == 1:
            raise ClientError("one failed")

    waits: list[Deferred[None]] = [Deferred() for _ in range(3)]
    ended: list[object] = []
    Deferred.fromCoroutine(together(work(n, wait) for n, wait in enumerate(waits))).addBoth(ended.append)
    for wait in reversed(waits):
        assert not ended
        wait.callback(None)
    assert done == [2, 1, 0]
    assert ended[0].check(ClientError)  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", ["push", "pop", "lite", "producer"])
def test_a_clean_stop_is_quiet(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    """A pull that waits at the broker ends with its connection, and nothing of that is worth a line."""
    with Cluster() as cluster:
        cluster.make_topic("T", queues=1)
        given = cluster.settings({"consume_from_where": "CONSUME_FROM_FIRST_OFFSET"})
        member: Any
        if kind == "producer":
            member = Producer("P", cluster.around, **cluster.settings({}))
        elif kind == "lite":
            member = LitePullConsumer("G", cluster.around, **given)
        else:
            given["client_rebalance"] = kind == "push"
            if kind == "pop":
                set_mode(cluster)
            member = PushConsumer("G", cluster.around, lambda *_: None, **given)
        if kind != "producer":
            cluster.run(member.subscribe("T"))
        cluster.run(member.start())
        if kind == "producer":
            cluster.run(member.send(Message("T", "x")))
        cluster.settle(3.0)
        with caplog.at_level("INFO"):
            caplog.clear()
            cluster.run(member.close())
            cluster.settle(3.0)
        ours = ("mqgateway.gateway.client", "mqgateway.gateway.remoting")
        assert [one.getMessage() for one in caplog.records if one.name.startswith(ours)] == []


def test_requests_that_the_close_cuts_off_are_no_warnings(caplog: pytest.LogCaptureFixture) -> None:
    with Cluster() as cluster:
        producer = cluster.producer()
        cluster.run(producer.send(Message("T", "x")))
        cluster.settle(2.0)
        client, outcomes = producer.client, []
        for request in (client.update_route("T"), client.heartbeat()):
            Deferred.fromCoroutine(request).addBoth(outcomes.append)
        with caplog.at_level(logging.DEBUG):
            caplog.clear()
            cluster.run(client.close())
            cluster.settle()
        assert outcomes[0].check(Unreachable) and outcomes[1] is None
        texts = [(one.levelname, one.getMessage()) for one in caplog.records if one.levelno != logging.INFO]
        for text in ("does not answer", "was not told that we are there"):
            assert [level for level, message in texts if text in message] == ["DEBUG"]


def test_authorities_are_read_only_where_host_names_are_to_be_checked() -> None:
    settings = {"use_tls": True, "tls_client_trust_cert_path": "/nowhere"}
    with Cluster() as cluster:
        cluster.producer(**settings)
        with pytest.raises(BadArgument, match="tls_client_trust_cert_path=/nowhere: cannot be used"):
            cluster.producer(**settings, check_host_name=True, instance_name="other")


def test_client_certificate_of_the_settings_is_shown() -> None:
    key, certificate = identity("client")
    around: Any = SimpleNamespace(disk=FileShelf(key=key, cert=certificate))
    server = mutual("require", True, certificate)
    settings = {"namesrv_addr": "a:1", "use_tls": True}
    assert not Handshake(server, tls_of(settings, around)).succeeded
    settings |= {"tls_client_cert_path": "cert", "tls_client_key_path": "key"}
    assert Handshake(server, tls_of(settings, around)).succeeded
    with pytest.raises(
        BadArgument, match="tls_client_cert_path=cert, tls_client_key_path=none: cannot be used"
    ):
        tls_of({**settings, "tls_client_key_path": "none"}, around)


def test_context_of_the_program_is_used_without_further_settings() -> None:
    around: Any = SimpleNamespace(disk=FileShelf())
    context = ssl.create_default_context()
    assert isinstance(tls_of({"namesrv_addr": "a:1", "ssl_context": context}, around), ContextTls)
    assert _tls(made(ClientOptions, {"namesrv_addr": "a:1"}), None, around) is None


def tls_of(settings: dict[str, Any], around: Any) -> ClientTls:
    tls = _tls(made(ClientOptions, settings), None, around)
    assert tls is not None
    return tls
