"""gRPC front end of a broker: port, timers and deferred loading.

HTTP/2 and protobuf modules are not loaded before the broker is ready: a worker loads them afterwards, or the
first connection does. Connections belong to the remoting server, which also accepts gRPC on its own ports:
TLS, PROXY protocol, the connection limit, and a stop that closes each connection once no answer is pending.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from mqgateway.engine.options.grpc import GrpcOptions
from mqgateway.engine.worker import Worker
from mqgateway.gateway.grpc import FIRST_BYTES
from mqgateway.gateway.remoting.handshake import Conversing
from mqgateway.gateway.remoting.pending_input import PendingInput
from mqgateway.gateway.remoting.server import RemotingServer
from mqgateway.gateway.runtime.loop import Reactor
from mqgateway.gateway.runtime.schedule import Schedule

if TYPE_CHECKING:
    from mqgateway.gateway.grpc.call import Methods, RpcPeer, Status
    from mqgateway.gateway.grpc.connection import GrpcConnection, GrpcConnectionSettings

TICK_SECONDS = 1.0
MODULES = ("connection", "reflection", "health")


class GrpcServer:
    """gRPC methods on a remoting server's connections; `make_methods` creates them on first use.

    `modules` are loaded in advance by the worker, if there is one. `noted` is called at the end of calls: see
    `conversation.Terms`.
    """

    def __init__(
        self,
        server: RemotingServer,
        options: GrpcOptions,
        make_methods: Callable[[], Methods],
        *,
        reactor: Reactor,
        worker: Worker | None,
        modules: tuple[str, ...] = (),
        noted: Callable[[str, Status, float], None] | None = None,
    ) -> None:
        self._server = server
        self._options = options
        self._make_methods = make_methods
        self._noted = noted
        self._worker = worker
        self._modules = (*(f"{__package__}.{name}" for name in MODULES), *modules)
        self._schedule = Schedule(reactor)
        self._settings: GrpcConnectionSettings | None = None
        self._connections: set[GrpcConnection] = set()
        self.port = 0
        """Port in use; 0 without a port of its own."""

    @property
    def connection_count(self) -> int:
        """Number of gRPC connections."""
        return len(self._connections)

    def start(self, host: str, port: int) -> None:
        """Accept gRPC on the server's ports, and on this one (0: any free one) if it can be opened."""
        self._server.recognise(FIRST_BYTES, self._connection)
        self.port = self._server.listen_for(
            self._connection, host, port, title="gRPC", setting="grpcServerPort"
        )
        self._schedule.every(TICK_SECONDS, TICK_SECONDS, self._tick)
        self._schedule.later(0, self._load, 0)  # once the server is ready, to not delay it

    def abort(self, peer: RpcPeer) -> None:
        """Abort a peer's connection."""
        for connection in list(self._connections):
            if connection.address == peer.address:
                connection.abort()

    def stop(self) -> None:
        """Stop the timers; the remoting server closes the connections."""
        self._schedule.stop()

    def _load(self, index: int) -> None:
        """Load one module after the other, so that other work of the worker is not delayed."""
        if self._worker is not None and index < len(self._modules):
            name = self._modules[index]
            self._worker.run(lambda: import_module(name), lambda _: self._load(index + 1))

    def _connection(self) -> Conversing:
        from mqgateway.gateway.grpc.connection import GrpcConnection

        if self._settings is None:
            self._settings = self._make_settings()
        return GrpcConnection(self._settings, self._connections.add, self._connections.discard)

    def _make_settings(self) -> GrpcConnectionSettings:
        from mqgateway.gateway.grpc.connection import GrpcConnectionSettings
        from mqgateway.gateway.grpc.conversation import CallSettings
        from mqgateway.gateway.grpc.health import health
        from mqgateway.gateway.grpc.http2 import Http2Limits
        from mqgateway.gateway.grpc.reflection import reflection

        options, remoting = self._options, self._server.settings
        methods = dict(self._make_methods())
        methods |= health(methods)
        methods |= reflection(methods)
        limits = Http2Limits(
            options.grpc_max_calls, options.grpc_max_metadata_size, options.grpc_max_idle_frames
        )
        message_limit = options.grpc_max_inbound_message_size
        calls = CallSettings(methods, limits, message_limit, remoting.reactor.seconds, self._noted)
        pending = PendingInput.for_messages(
            remoting.pending_limit, remoting.address_pending_limit, remoting.reactor.seconds, message_limit
        )
        return GrpcConnectionSettings(calls, remoting, pending, options.grpc_client_idle_time_mills / 1000)

    def _tick(self) -> None:
        now = self._schedule.seconds()
        for connection in list(self._connections):
            connection.tick(now)
