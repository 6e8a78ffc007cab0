"""Servers in memory: ports, limits, idle connections, and the graceful stop."""

import logging
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.error import CannotListenError

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.options import RemotingOptions, TlsMode, TlsOptions
from mqgateway.gateway.codec.codes import V4_9_8
from mqgateway.gateway.codec.command import RemotingCommand, encode_command
from mqgateway.gateway.remoting.call import Call, Peer, Reply
from mqgateway.gateway.remoting.connection_settings import server_settings
from mqgateway.gateway.remoting.dispatch import Dispatcher
from mqgateway.gateway.remoting.server import RemotingServer
from mqgateway.gateway.remoting.server_tls import ServerTls
from tests.gateway.remoting.test_tls import FileShelf, identity
from tests.support.gateway.remoting.pair import Net, Pair, Talker

ECHO, HOLD = 987_301, 987_302


class Scene:
    """Server on port 10911 and a fast port 10909 that supports only ECHO."""

    def __init__(self, tls: ServerTls | None = None, **options: Any) -> None:
        self.net = Net()
        self.events: list[str] = []
        self.held: list[Deferred[Reply]] = []
        clock, given = ManualClock(), RemotingOptions(**options)
        table = {ECHO: self.echo, HOLD: self.hold}
        self.server = RemotingServer(
            self.net,
            Dispatcher(None, table, {}, clock=clock),
            given,
            tls=tls,
            settings=server_settings(given, self.net, lambda: self.events.append("after read")),
            on_connect=lambda peer: self.events.append(f"connect {peer.address}"),
            on_lost=lambda peer: self.events.append(f"lost {peer.address}"),
        )
        self.port = self.server.listen("0.0.0.0", 10911)
        self.server.listen("0.0.0.0", 10909, Dispatcher(None, {ECHO: self.echo}, {}, clock=clock))

    def echo(self, context: None, call: Call) -> Reply:
        return Reply(body=call.body)

    def hold(self, context: None, call: Call) -> Deferred[Reply]:
        self.held.append(Deferred())
        return self.held[-1]

    def connect(self, number: int = 1, port: int = 10911) -> "Guest":
        talker = Talker()
        return Guest(self, talker, self.net.meet(port, talker, ("192.168.1.1", number)))


class Guest:
    """Client driven by hand."""

    def __init__(self, scene: Scene, talker: Talker, pair: Pair) -> None:
        self.scene, self.talker, self.pair = scene, talker, pair

    def ask(self, code: int, version: int | None = None) -> list[RemotingCommand]:
        command = RemotingCommand.request(code, body=b"x")
        if version is not None:
            command.version = version
        self.talker.transport.write(encode_command(command))
        self.scene.net.settle()
        return self.talker.take()


def test_server_serves_connections_and_reports_them() -> None:
    scene = Scene()
    guest = scene.connect()
    assert [answer.body for answer in guest.ask(ECHO)] == [b"x"]
    guest.talker.transport.loseConnection()
    scene.net.settle()
    assert scene.events == ["connect 192.168.1.1:1", "after read", "lost 192.168.1.1:1"]
    assert scene.server.connection_count == 0


def test_fast_port_has_own_functions() -> None:
    scene = Scene()
    assert [answer.code for answer in scene.connect(port=10909).ask(ECHO)] == [0]
    (answer,) = scene.connect(port=10909).ask(HOLD)
    assert answer.code == 3


def test_port_0_listens_on_any_free_port() -> None:
    scene = Scene()
    port = scene.server.listen("0.0.0.0", 0)
    assert [answer.code for answer in scene.connect(port=port.getHost().port).ask(ECHO)] == [0]


def test_other_protocol_listens_on_its_own_port(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    met: Any = Talker()
    with caplog.at_level(logging.INFO):
        port = scene.server.listen_for(lambda: met, "0.0.0.0", 7007, title="echo", setting="echoPort")
    assert port == 7007 and "echo is served at 0.0.0.0:7007" in caplog.text
    talker = Talker()
    scene.net.meet(port, talker, ("192.168.1.1", 1))
    talker.transport.write(encode_command(RemotingCommand.request(ECHO)))
    scene.net.settle()
    assert [command.code for command in met.take()] == [ECHO]


def test_taken_port_of_another_protocol_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    unused: Any = None

    def taken(*_: Any) -> Any:
        raise CannotListenError("", 7007, OSError("taken"))

    scene.net.listenTCP = taken  # type: ignore[method-assign]
    assert scene.server.listen_for(lambda: unused, "0.0.0.0", 7007, title="echo", setting="echoPort") == 0
    assert "the echo port cannot be opened" in caplog.text and "echoPort sets another one" in caplog.text


def test_connections_above_limit_are_refused_with_one_log_line(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene(max_connections=2)
    first = scene.connect(1)
    scene.connect(2, port=10909)
    for _ in range(3):
        with pytest.raises(AssertionError, match="refused"):
            scene.connect(3)
    assert len(caplog.records) == 1
    first.talker.transport.loseConnection()
    scene.net.settle()
    assert scene.connect(4).ask(ECHO)


def test_connections_are_listed_and_closed_by_number() -> None:
    scene = Scene()
    asking, silent = scene.connect(1), scene.connect(2, port=10909)
    scene.net.settle(5)
    asking.ask(ECHO)
    asking.ask(HOLD)
    scene.net.settle(1)
    shown = {one.address: one for one in scene.server.connections()}
    first, second = shown["192.168.1.1:1"], shown["192.168.1.1:2"]
    assert (first.port, first.last_request, first.is_secure) == (10911, str(HOLD), False)
    assert (second.port, second.last_request) == (10909, "")
    assert first.age == second.age == 6 and first.quiet == 0 and 0 < second.quiet <= 6
    assert scene.server.close(second.number, "told so") and not scene.server.close(99, "told so")
    scene.net.settle()
    assert silent.talker.lost is not None and asking.talker.lost is None
    assert [one.number for one in scene.server.connections()] == [first.number]


def test_idle_connections_are_closed() -> None:
    scene = Scene(server_channel_max_idle_time_seconds=120)
    busy, idle, silent = scene.connect(1), scene.connect(2), scene.connect(3)
    idle.ask(ECHO)
    for _ in range(13):
        busy.ask(ECHO)
        scene.net.settle(10)
    assert busy.talker.lost is None
    assert idle.talker.lost is not None
    assert silent.talker.lost is not None
    assert scene.server.connection_count == 1


def test_connection_stays_open_before_idle_time() -> None:
    scene = Scene(server_channel_max_idle_time_seconds=120)
    guest = scene.connect()
    guest.ask(ECHO)
    scene.net.settle(115)
    assert guest.talker.lost is None


def test_closing_connection_is_aborted_when_idle() -> None:
    scene = Scene(server_channel_max_idle_time_seconds=10)
    guest = scene.connect()
    guest.ask(ECHO)
    guest.pair.server.stuck = True
    guest.ask(ECHO)
    scene.net.settle(60)
    assert scene.server.connection_count == 0


def test_changed_certificates_are_reloaded() -> None:
    key, cert = identity("first")
    files = FileShelf(key=key, cert=cert)
    options = TlsOptions(tls_test_mode_enable=False, tls_server_key_path="key", tls_server_cert_path="cert")
    tls = ServerTls(options, files)
    scene = Scene(tls)
    before = tls._context()._context
    files["key"], files["cert"] = identity("second")
    scene.net.settle(6)
    assert tls._context()._context is not before


# Stopping


def stopping(scene: Scene) -> list[object]:
    done: list[object] = []
    scene.server.stop().addCallback(done.append)
    return done


def test_stop_refuses_connections_and_closes_settled_ones() -> None:
    scene = Scene()
    guests = [scene.connect(1), scene.connect(2, port=10909), scene.connect(3)]
    guests[0].ask(ECHO)
    done = stopping(scene)
    scene.net.settle()
    assert scene.net.ports == {}
    assert all(guest.talker.lost is not None for guest in guests)
    assert done == [None]
    assert scene.net.getDelayedCalls() == []


def test_stop_without_connections_completes_at_once() -> None:
    scene = Scene()
    assert stopping(scene) == [None]


def test_stop_waits_for_held_replies() -> None:
    scene = Scene(enable_shutdown_gracefully=True, shutdown_wait_time_seconds=30)
    guest = scene.connect()
    guest.ask(HOLD)
    done = stopping(scene)
    scene.net.settle(20)
    assert done == []
    scene.held[0].callback(Reply(remark="in time"))
    scene.net.settle()
    assert [answer.remark for answer in guest.talker.take()] == ["in time"]
    assert guest.talker.lost is not None
    assert done == [None]
    assert scene.net.getDelayedCalls() == []


def test_stopping_server_sends_new_clients_away_and_serves_old_ones() -> None:
    scene = Scene(enable_shutdown_gracefully=True)
    guest = scene.connect()
    guest.ask(HOLD)
    stopping(scene)
    (answer,) = guest.ask(ECHO)
    assert (answer.code, answer.remark) == (1500, "please go away")
    (answer,) = guest.ask(ECHO, version=V4_9_8)
    assert (answer.code, answer.body) == (0, b"x")


@pytest.mark.parametrize(("patient", "seconds"), [(True, 30), (False, 1)])
def test_stop_waits_up_to_limit(patient: bool, seconds: int) -> None:
    scene = Scene(enable_shutdown_gracefully=patient, shutdown_wait_time_seconds=30)
    guest = scene.connect()
    guest.ask(HOLD)
    done = stopping(scene)
    scene.net.settle(seconds - 0.5)
    assert done == []
    scene.net.settle(1.5)
    assert done == [None]
    assert guest.talker.lost is not None


def test_stop_aborts_peer_that_does_not_read() -> None:
    scene = Scene()
    guest = scene.connect()
    guest.ask(HOLD)
    guest.pair.server.stuck = True
    scene.held[0].callback(Reply(body=bytes(10_000_000)))
    done = stopping(scene)
    scene.net.settle(3)
    assert done == [None]
    assert scene.net.getDelayedCalls() == []


def test_stop_twice_returns_same_deferred() -> None:
    scene = Scene()
    scene.connect().ask(HOLD)
    assert scene.server.stop() is scene.server.stop()


def test_peer_can_be_sent_requests_from_connect() -> None:
    scene = Scene()
    peers: list[Peer] = []
    scene.server._on_connect = peers.append
    guest = scene.connect()
    guest.ask(ECHO)
    peers[0].send_oneway(RemotingCommand.request(40))
    scene.net.settle()
    assert [command.code for command in guest.talker.take()] == [40]


@pytest.mark.parametrize("mode", list(TlsMode))
def test_server_requires_tls_in_enforcing_mode_only(mode: TlsMode) -> None:
    options = TlsOptions(tls_server_mode=mode)
    assert Scene(ServerTls(options, FileShelf())).server.requires_tls is (mode is TlsMode.ENFORCING)
    assert not Scene().server.requires_tls
