"""Protocol detection by the first bytes: PROXY headers, TLS or plain, in each mode."""

import logging
from typing import Any

import pytest
from twisted.internet.task import Clock

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.options import TlsOptions
from mqgateway.gateway.codec.command import RemotingCommand, encode_command
from mqgateway.gateway.remoting.call import Peer, Reply
from mqgateway.gateway.remoting.connection_settings import ConnectionSettings
from mqgateway.gateway.remoting.dispatch import Dispatcher
from mqgateway.gateway.remoting.handshake import Handshake
from mqgateway.gateway.remoting.protocol import RemotingConnection
from mqgateway.gateway.remoting.proxy_header import V2_SIGNATURE
from mqgateway.gateway.remoting.server_tls import ServerTls
from tests.gateway.remoting.test_tls import FileShelf
from tests.support.gateway.remoting.opening import PROXY_V1, PROXY_V2, over_tls
from tests.support.gateway.remoting.pair import Pair, Talker

ECHO = 987_201
V2_LOCAL = V2_SIGNATURE + b"\x20\x00\x00\x00"


class Scene:
    """Handshake and its peer, which speaks TLS or plain."""

    def __init__(self, mode: str | None = "permissive", *, speaks_tls: bool = False) -> None:
        self.clock = Clock()
        self.events: list[str] = []
        tls = None if mode is None else ServerTls(TlsOptions(tls_server_mode=mode), FileShelf())
        settings = ConnectionSettings(self.clock, 1 << 24, 8, 8, 1 << 20, 1 << 26)
        dispatcher = Dispatcher(None, {ECHO: self.echo}, {}, clock=ManualClock())
        connection = RemotingConnection(
            settings, dispatcher, self.made, lambda peer: self.events.append("gone")
        )
        self.handshake = Handshake(
            connection, self.clock, tls, 10.0, lambda handshake: self.events.append("closed")
        )
        self.talker = Talker()
        self.outside: Any = over_tls(self.talker) if speaks_tls else self.talker
        self.pair = Pair(Before(b""), self.handshake)

    def greet(self, proxy: bytes = b"") -> None:
        """Connect the peer, behind a PROXY header if there is one."""
        wire = self.pair.client
        if proxy:
            wire.write(proxy)
        wire.protocol = self.outside
        self.outside.makeConnection(wire)
        self.pair.pump()

    def made(self, peer: Peer) -> None:
        self.events.append(f"made {peer.address}")

    def echo(self, context: None, call: Any) -> Reply:
        return Reply(body=call.body, remark=call.peer.address)

    def ask(self, body: bytes) -> list[RemotingCommand]:
        self.talker.transport.write(encode_command(RemotingCommand.request(ECHO, body=body)))
        self.pair.pump()
        return self.talker.take()


class Before:
    """Address used before the peer sends anything."""

    def __init__(self, heard: bytes) -> None:
        self.heard = heard
        self.lost = False

    def makeConnection(self, transport: object) -> None:
        pass

    def dataReceived(self, data: bytes) -> None:
        self.heard += data

    def connectionLost(self, reason: object) -> None:
        self.lost = True


@pytest.mark.parametrize("mode", [None, "disabled", "permissive"])
def test_plain_frames_are_served(mode: str | None) -> None:
    scene = Scene(mode)
    scene.greet()
    assert scene.events == []
    (answer,) = scene.ask(b"one")
    assert (answer.body, answer.remark) == (b"one", "192.168.1.1:54321")
    assert [answer.body for answer in scene.ask(b"two")] == [b"two"]
    assert scene.events == ["made 192.168.1.1:54321"]
    assert scene.clock.getDelayedCalls() == []


@pytest.mark.parametrize("mode", ["permissive", "enforcing"])
def test_tls_connection_is_served(mode: str) -> None:
    scene = Scene(mode, speaks_tls=True)
    scene.greet()
    assert [answer.body for answer in scene.ask(b"one")] == [b"one"]
    assert [answer.body for answer in scene.ask(bytes(300_000))] == [bytes(300_000)]
    assert scene.handshake.connection.is_secure
    scene.clock.advance(60)
    assert [answer.body for answer in scene.ask(b"two")] == [b"two"]


def test_tls_connection_is_closed_cleanly_by_server() -> None:
    scene = Scene(speaks_tls=True)
    scene.greet()
    scene.ask(b"one")
    scene.handshake.end("enough")
    scene.pair.pump()
    assert scene.talker.lost is not None
    assert scene.events[1:] == ["gone", "closed"]


@pytest.mark.parametrize("mode", [None, "disabled"])
def test_tls_hello_is_refused_in_disabled_mode(mode: str | None, caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene(mode, speaks_tls=True)
    scene.greet()
    assert scene.pair.client.gone
    assert scene.events == ["closed"]
    (record,) = caplog.records
    assert (
        record.getMessage()
        == "192.168.1.1:54321 is refused: it speaks TLS, which is disabled (tls.server.mode)"
    )


def test_plain_frames_are_refused_in_enforcing_mode(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene("enforcing")
    scene.greet()
    assert scene.ask(b"one") == []
    assert scene.events == ["closed"]
    assert "it does not speak TLS, which is enforced" in caplog.text


def test_tls_hello_is_refused_without_certificate(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    missing = TlsOptions(tls_test_mode_enable=False, tls_server_key_path="k", tls_server_cert_path="c")
    scene.handshake._tls = ServerTls(missing, FileShelf())
    scene.pair.client.write(b"\x16\x03\x01\x00\x05hello")
    scene.pair.pump()
    assert scene.events == ["closed"]
    assert "no usable certificate" in caplog.text


@pytest.mark.parametrize("proxy", [PROXY_V1, PROXY_V2], ids=["v1", "v2"])
@pytest.mark.parametrize("speaks_tls", [False, True], ids=["plain", "tls"])
def test_proxy_header_sets_peer_address(proxy: bytes, speaks_tls: bool) -> None:
    scene = Scene(speaks_tls=speaks_tls)
    scene.greet(proxy)
    (answer,) = scene.ask(b"one")
    assert answer.remark == "203.0.113.7:56324"
    connection = scene.handshake.connection
    assert connection.host_bytes == bytes([203, 0, 113, 7]) + (56324).to_bytes(4, "big")
    assert scene.events == ["made 203.0.113.7:56324"]


def test_local_proxy_header_keeps_address() -> None:
    scene = Scene()
    scene.greet(V2_LOCAL)
    (answer,) = scene.ask(b"one")
    assert answer.remark == "192.168.1.1:54321"


@pytest.mark.parametrize("start", [b"", PROXY_V1, PROXY_V2, V2_LOCAL], ids=["none", "v1", "v2", "local"])
def test_first_bytes_may_arrive_one_by_one(start: bytes) -> None:
    scene = Scene()
    scene.greet()
    for byte in start + encode_command(RemotingCommand.request(ECHO, body=b"slow")):
        scene.pair.client.write(bytes([byte]))
        scene.pair.pump()
    assert [answer.body for answer in scene.talker.take()] == [b"slow"]
    assert scene.clock.getDelayedCalls() == []


def test_malformed_proxy_header_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    scene.pair.client.write(b"PROXY WHAT ")
    scene.pair.pump()
    scene.pair.client.write(b"IS THIS\r\n" + encode_command(RemotingCommand.request(ECHO)))
    scene.pair.pump()
    assert scene.events == ["closed"]
    assert "192.168.1.1:54321 is refused: a PROXY line" in caplog.text


@pytest.mark.parametrize("start", [b"PROXY", PROXY_V2[:20], b"\x16", b"\x16\x03\x01\x02\x00\x01"])
def test_incomplete_handshake_times_out(start: bytes, caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    scene.pair.client.write(start)
    scene.pair.pump()
    scene.clock.advance(9.9)
    scene.pair.pump()
    assert not scene.pair.client.gone
    scene.clock.advance(0.1)
    scene.pair.pump()
    assert scene.pair.client.gone
    assert scene.events[-1] == "closed"
    assert "takes too long" in caplog.text


def test_silent_connection_has_no_handshake_timeout() -> None:
    scene = Scene()
    scene.clock.advance(100)
    assert scene.clock.getDelayedCalls() == []
    scene.greet()
    assert len(scene.ask(b"one")) == 1


def test_invalid_tls_handshake_closes_connection() -> None:
    scene = Scene()
    scene.pair.client.write(b"\x16" + bytes(100))
    scene.pair.pump()
    assert scene.pair.client.gone
    assert scene.events[-1] == "closed"
    assert scene.clock.getDelayedCalls() == []


def test_silent_disconnect_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    with caplog.at_level(logging.DEBUG):
        scene.pair.client.loseConnection()
        scene.pair.pump()
    assert scene.events == ["closed"]
    assert caplog.records == []


def test_end_before_first_bytes_aborts_connection() -> None:
    scene = Scene()
    scene.handshake.end("idle")
    assert scene.pair.server.aborted
