"""gRPC clients' way to a broker: the service's methods, and the server that carries their calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mqgateway.engine.worker import Worker
from mqgateway.gateway.broker.operations import Operations
from mqgateway.gateway.grpc.server import GrpcServer
from mqgateway.gateway.remoting.server import RemotingServer
from mqgateway.gateway.runtime.loop import Reactor
from mqgateway.gateway.runtime.schedule import Schedule

if TYPE_CHECKING:
    from mqgateway.gateway.grpc.call import Methods, RpcPeer, Status
    from mqgateway.gateway.grpc.service.messaging import Messaging

MODULES = ("mqgateway.gateway.grpc.service.messaging",)


class GrpcListener:
    """Serves apache.rocketmq.v2 for a broker that has been started.

    `worker` imports what calls need as soon as it has time; without one the first connection does. `noted` is
    notified of calls that ended. `before` is given all methods, and returns those that are served.
    """

    def __init__(
        self,
        operations: Operations,
        server: RemotingServer,
        *,
        reactor: Reactor,
        worker: Worker | None = None,
        noted: Callable[[str, Status, float], None] | None = None,
        before: Callable[[Methods], Methods] | None = None,
    ) -> None:
        self._operations = operations
        self._before = before
        self._schedule = Schedule(reactor)
        self._messaging: Messaging | None = None
        self._server = GrpcServer(
            server,
            operations.options,
            self._methods,
            reactor=reactor,
            worker=worker,
            modules=MODULES,
            noted=noted,
        )

    @property
    def port(self) -> int:
        """The port in use; 0 when there is none of its own."""
        return self._server.port

    @property
    def connection_count(self) -> int:
        """Connections of gRPC, on whichever port."""
        return self._server.connection_count

    def endpoint(self, advertised: str) -> str | None:
        """See `front_end.Running`."""
        return f"{advertised}:{self.port}" if self.port else None

    def start(self, host: str, port: int) -> None:
        """Listen; see `GrpcServer`."""
        self._server.start(host, port)

    def abort(self, peer: RpcPeer) -> None:
        """Break a peer's connection."""
        self._server.abort(peer)

    def stop(self) -> None:
        """Let clients go elsewhere; to be followed by the end of the broker, which ends the connections."""
        self._schedule.stop()
        if self._messaging is not None:
            self._messaging.stop()
        self._server.stop()

    def _methods(self) -> Methods:
        from mqgateway.gateway.grpc.service.messaging import TICK_SECONDS, Messaging

        self._messaging = messaging = Messaging(self._operations, port=lambda: self._server.port)
        self._schedule.every(TICK_SECONDS, TICK_SECONDS, messaging.tick)
        methods = messaging.methods()
        return methods if self._before is None else self._before(methods)
