"""gRPC on ports: its own and the remoting one's, plain and by TLS, behind a proxy; and the end."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.error import CannotListenError

from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.worker import InlineWorker
from mqgateway.gateway.codec.command import RemotingCommand, encode_command
from mqgateway.gateway.grpc.server import GrpcServer
from mqgateway.gateway.grpc.v2 import Resource
from tests.support.gateway.grpc.scene import ECHO, Scene
from tests.support.gateway.remoting.opening import over_tls
from tests.support.gateway.remoting.pair import Talker

PROXY = b"PROXY TCP4 203.0.113.7 10.0.0.1 56324 8081\r\n"


@pytest.mark.parametrize("port", [8081, 10911])
@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("before", [b"", PROXY])
def test_calls_come_by_every_way(port: int, tls: bool, before: bytes) -> None:
    scene = Scene()
    guest = scene.connect(port, tls=tls, before=before)
    assert guest.call("Echo", "hello").names == ["hello"]
    peer = scene.service.calls[0].peer
    assert (peer.host, peer.port) == (("203.0.113.7", 56324) if before else ("192.168.1.1", 54321))
    assert (peer.local_host, peer.local_port, peer.secure) == ("10.0.0.1", port, tls)
    assert scene.grpc.connection_count == 1 and scene.loaded == 1
    talker = Talker()
    scene.net.meet(10911, talker)
    talker.transport.write(encode_command(RemotingCommand.request(ECHO, body=b"x")))
    scene.net.settle()
    assert talker.take()[0].body == b"x"
    guest.transport.loseConnection()
    scene.net.settle()
    assert scene.grpc.connection_count == 0


def test_connections_are_shown_beside_those_of_remoting_and_closed() -> None:
    scene = Scene()
    guest = scene.connect(tls=True)
    guest.call("Echo", "hello")
    [one] = scene.remoting.connections()
    assert (one.address, one.port, one.is_secure) == ("192.168.1.1:54321", 8081, True)
    assert (one.last_request, one.quiet) == ("Echo", 0)
    assert scene.remoting.close(one.number, "told so")
    scene.net.settle()
    assert guest.lost is not None and not scene.remoting.connections()


def test_remoting_over_tls_is_what_it_was() -> None:
    scene = Scene()
    talker = Talker()
    scene.net.meet(10911, over_tls(talker))
    scene.net.settle()
    talker.transport.write(encode_command(RemotingCommand.request(ECHO, body=b"x")))
    scene.net.settle()
    assert talker.take()[0].body == b"x"


def test_tls_may_be_enforced() -> None:
    scene = Scene("enforcing")
    assert scene.connect().lost is not None
    assert scene.connect(tls=True).call("Echo", "x").names == ["x"]


def test_a_port_that_is_taken_is_no_reason_not_to_start(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()

    def taken(*_: Any) -> Any:
        raise CannotListenError("", 8081, OSError("taken"))

    scene.net.listenTCP = taken  # type: ignore[method-assign]
    second = GrpcServer(
        scene.remoting, BrokerOptions(), scene.methods, reactor=scene.net, worker=InlineWorker()
    )
    second.start("0.0.0.0", 8081)
    assert second.port == 0 and "grpcServerPort sets another one" in caplog.text


def test_it_stops_when_calls_have_their_answers() -> None:
    scene = Scene(enable_shutdown_gracefully=True)
    guest, quiet = scene.connect(), scene.connect()
    staying, waiting = guest.call("List", "stay"), guest.call("Wait")
    stopped: list[object] = []
    scene.grpc.stop()
    scene.remoting.stop().addCallback(stopped.append)
    scene.net.settle()
    assert quiet.lost is not None and guest.lost is None and not stopped
    assert guest.goaway is not None
    scene.service.waiting[0].callback(Resource(name="done"))
    scene.net.settle()
    assert guest.lost is not None and stopped and not scene.net.getDelayedCalls()
    assert staying is not waiting
