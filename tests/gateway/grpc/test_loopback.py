"""Real gRPC client on a real connection: TLS and plain, all kinds of calls, health and reflection."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from mqgateway.engine.clock import SystemClock
from mqgateway.engine.options import BrokerOptions, RemotingOptions, TlsOptions
from mqgateway.gateway.client.loop import Loop
from mqgateway.gateway.grpc.health_v1 import HealthCheckRequest, HealthCheckResponse
from mqgateway.gateway.grpc.reflection_v1 import ServerReflectionRequest, ServerReflectionResponse
from mqgateway.gateway.grpc.server import GrpcServer
from mqgateway.gateway.grpc.v2 import Resource
from mqgateway.gateway.remoting.dispatch import Dispatcher
from mqgateway.gateway.remoting.server import RemotingServer
from mqgateway.gateway.remoting.server_tls import ServerTls
from mqgateway.gateway.remoting.tls import self_signed
from tests.gateway.remoting.test_tls import FileShelf, identity
from tests.support.gateway.grpc.client import Service

grpc = pytest.importorskip("grpc")

PATIENCE = 20


class Scene:
    """Server on a free port of this machine, in a thread."""

    def __init__(self) -> None:
        self.loop = Loop()
        self.loop.start()
        self.service = Service()
        key, certificate = identity("localhost")
        self.certificate = certificate
        files = FileShelf({"/key": key, "/cert": certificate})
        tls = TlsOptions(tls_test_mode_enable=False, tls_server_key_path="/key", tls_server_cert_path="/cert")
        self.remoting = RemotingServer(
            self.loop.reactor,
            Dispatcher(None, {}, {}, clock=SystemClock()),
            RemotingOptions(),
            tls=ServerTls(tls, files),
        )
        self.grpc = GrpcServer(
            self.remoting, BrokerOptions(), self.service.methods, reactor=self.loop.reactor, worker=None
        )
        self.loop.do(self.grpc.start, "127.0.0.1", 0)

    def channel(self, *, secure: bool = False, **options: Any) -> Any:
        target = f"localhost:{self.grpc.port}"
        if secure:
            return grpc.secure_channel(target, grpc.ssl_channel_credentials(self.certificate))
        return grpc.insecure_channel(target, options=list(options.items()))

    def stop(self) -> None:
        self.loop.do(self.grpc.stop)
        self.loop.call(self.remoting.stop)
        self.loop.stop()


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    made = Scene()
    yield made
    made.stop()


def unary(channel: Any, method: str) -> Any:
    return channel.unary_unary(f"/test.S/{method}", Resource.SerializeToString, Resource.FromString)


@pytest.mark.parametrize("secure", [False, True])
def test_calls_of_all_sizes_are_answered(scene: Scene, secure: bool) -> None:
    with scene.channel(secure=secure) as channel:
        echo = unary(channel, "Echo")
        for size in (0, 1, 16_384, 100_000, 3_000_000):
            name = "x" * size
            assert echo(Resource(name=name), timeout=PATIENCE, metadata=[("x-a", "1")]).name == name
        assert scene.service.calls[-1].peer.secure is secure
        assert scene.service.calls[-1].metadata["x-a"] == "1"
        remaining = scene.service.calls[-1].remaining()
        assert remaining is not None and 0 < remaining < PATIENCE + 1, "the client rounds up what it says"


def test_concurrent_calls_are_answered(scene: Scene) -> None:
    with scene.channel() as channel:
        echo = unary(channel, "Echo")
        futures = [echo.future(Resource(name=str(number)), timeout=PATIENCE) for number in range(300)]
        assert [future.result().name for future in futures] == [str(number) for number in range(300)]


def test_errors_have_status_and_text(scene: Scene) -> None:
    with scene.channel() as channel:
        for method, code, text in (
            ("Fail", grpc.StatusCode.NOT_FOUND, "no x: 100 % \u00e4"),
            ("Nothing", grpc.StatusCode.UNIMPLEMENTED, "Method test.S/Nothing is unimplemented"),
        ):
            with pytest.raises(grpc.RpcError) as caught:
                unary(channel, method)(Resource(name="x"), timeout=PATIENCE)
            assert (caught.value.code(), caught.value.details()) == (code, text)


def test_compressed_requests_are_answered(scene: Scene) -> None:
    with scene.channel() as channel:
        echo = unary(channel, "Echo")
        name = "z" * 50_000
        assert echo(Resource(name=name), timeout=PATIENCE, compression=grpc.Compression.Gzip).name == name
        with pytest.raises(grpc.RpcError) as caught:
            echo(Resource(name=name), timeout=PATIENCE, compression=grpc.Compression.Deflate)
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_streams_are_answered(scene: Scene) -> None:
    with scene.channel() as channel:
        listing = channel.unary_stream("/test.S/List", Resource.SerializeToString, Resource.FromString)
        assert [one.name for one in listing(Resource(name="abc"), timeout=PATIENCE)] == ["a", "b", "c"]
        talk = channel.stream_stream("/test.S/Talk", Resource.SerializeToString, Resource.FromString)
        said = iter([Resource(name="1"), Resource(name="2")])
        assert [one.name for one in talk(said, timeout=PATIENCE)] == ["re 1", "re 2"]


def test_client_cancellation_is_detected(scene: Scene) -> None:
    with scene.channel() as channel:
        waiting = unary(channel, "Wait").future(Resource(name="x"), timeout=PATIENCE)
        ended = threading.Event()

        def watch() -> bool:
            if not scene.service.waiting:
                return False
            scene.service.calls[-1].on_end(lambda _: ended.set())
            return True

        while not scene.loop.do(watch):
            pass
        waiting.cancel()
        assert ended.wait(PATIENCE)


def test_health_service_is_answered(scene: Scene) -> None:
    with scene.channel() as channel:
        check = channel.unary_unary(
            "/grpc.health.v1.Health/Check",
            HealthCheckRequest.SerializeToString,
            HealthCheckResponse.FromString,
        )
        for service in ("", "test.S", "grpc.health.v1.Health"):
            assert check(HealthCheckRequest(service=service), timeout=PATIENCE).status == 1
        with pytest.raises(grpc.RpcError) as caught:
            check(HealthCheckRequest(service="other"), timeout=PATIENCE)
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
def test_reflection_service_is_answered(scene: Scene, version: str) -> None:
    with scene.channel() as channel:
        ask = channel.stream_stream(
            f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
            ServerReflectionRequest.SerializeToString,
            ServerReflectionResponse.FromString,
        )
        questions = iter([ServerReflectionRequest(list_services="")])
        [answer] = ask(questions, timeout=PATIENCE)
        names = [one.name for one in answer.list_services_response.service]
        assert "test.S" in names and f"grpc.reflection.{version}.ServerReflection" in names


def test_client_with_other_trust_does_not_connect(scene: Scene) -> None:
    """The server presents the certificate of its files."""
    _, other = self_signed("localhost")
    from cryptography.hazmat.primitives.serialization import Encoding

    credentials = grpc.ssl_channel_credentials(other.public_bytes(Encoding.PEM))
    with (
        grpc.secure_channel(f"localhost:{scene.grpc.port}", credentials) as channel,
        pytest.raises(grpc.RpcError) as caught,
    ):
        unary(channel, "Echo")(Resource(), timeout=PATIENCE)
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
