"""A broker's server in memory, with remoting and gRPC, and those who come to it."""

from __future__ import annotations

from typing import Any

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.options import BrokerOptions, RemotingOptions, TlsOptions
from mqgateway.engine.worker import InlineWorker
from mqgateway.gateway.grpc.call import Methods
from mqgateway.gateway.grpc.server import GrpcServer
from mqgateway.gateway.remoting.call import Call, Reply
from mqgateway.gateway.remoting.connection_settings import server_settings
from mqgateway.gateway.remoting.dispatch import Dispatcher
from mqgateway.gateway.remoting.server import RemotingServer
from mqgateway.gateway.remoting.server_tls import ServerTls
from tests.gateway.remoting.test_tls import FileShelf
from tests.support.gateway.grpc.client import NetClient, Service
from tests.support.gateway.remoting.opening import Before, over_tls
from tests.support.gateway.remoting.pair import Net, Pair

ECHO = 987_401


class Scene:
    """A broker's server with remoting on 10911 and gRPC on 8081."""

    def __init__(self, mode: str | None = "permissive", **options: Any) -> None:
        self.net = Net()
        self.events: list[str] = []
        self.service = Service()
        self.loaded = 0
        remoting = RemotingOptions(
            **{name: options.pop(name) for name in list(options) if not name.startswith("grpc")}
        )
        self.remoting = RemotingServer(
            self.net,
            Dispatcher(None, {ECHO: self.echo}, {}, clock=ManualClock()),
            remoting,
            tls=None if mode is None else ServerTls(TlsOptions(tls_server_mode=mode), FileShelf()),
            settings=server_settings(remoting, self.net, lambda: self.events.append("after read")),
        )
        self.remoting.listen("0.0.0.0", 10911)
        self.grpc = GrpcServer(
            self.remoting, BrokerOptions(**options), self.methods, reactor=self.net, worker=InlineWorker()
        )
        self.grpc.start("0.0.0.0", 8081)

    def echo(self, context: None, call: Call) -> Reply:
        return Reply(body=call.body)

    def methods(self) -> Methods:
        self.loaded += 1
        return self.service.methods()

    def connect(self, port: int = 8081, *, tls: bool = False, before: bytes = b"", **more: Any) -> Guest:
        return Guest(self, port, tls, before, **more)


class Guest(NetClient):
    """A client of the scene."""

    def __init__(self, scene: Scene, port: int, tls: bool, before: bytes, window: int | None = None) -> None:
        super().__init__(scene.net.settle, window)
        self.scene = scene
        outside = over_tls(self) if tls else self
        self.wire: Pair = scene.net.meet(port, Before(before, outside))
        self.pump()
