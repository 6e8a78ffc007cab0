"""gRPC clients' way to a broker: the service's methods, and the server that carries their calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mqgateway.gateway.broker.service import BrokerService
from mqgateway.gateway.grpc.call import Methods, Peer, Status
from mqgateway.gateway.grpc.server import GrpcServer
from mqgateway.gateway.runtime.loop import Reactor
from mqgateway.gateway.runtime.schedule import Schedule

if TYPE_CHECKING:
    from mqgateway.gateway.grpc.service.messaging import Messaging

MODULES = ("mqgateway.gateway.grpc.service.messaging",)


class GrpcDoor:
    """Serves apache.rocketmq.v2 for a broker that has been started.

    `loads_ahead`: what calls need is loaded as soon as the broker's workers have time, else by the first
    connection. `noted` is told of calls that ended. What stands `before` all methods is given them, and gives
    those that are served.
    """

    def __init__(
        self,
        service: BrokerService,
        *,
        reactor: Reactor,
        loads_ahead: bool = True,
        noted: Callable[[str, Status, float], None] | None = None,
        before: Callable[[Methods], Methods] | None = None,
    ) -> None:
        environment = service.broker.environment
        self._service = service
        self._before = before
        self._schedule = Schedule(reactor)
        self._messaging: Messaging | None = None
        self._server = GrpcServer(
            service.server,
            service.broker.options,
            self._methods,
            reactor=reactor,
            worker=(environment.reader or environment.worker) if loads_ahead else None,
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

    def start(self, host: str, port: int) -> None:
        """Listen; see `GrpcServer`."""
        self._server.start(host, port)

    def abort(self, peer: Peer) -> None:
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

        service = self._service
        self._messaging = messaging = Messaging(service.operations, port=lambda: self._server.port)
        self._schedule.every(TICK_SECONDS, TICK_SECONDS, messaging.tick)
        methods = messaging.methods()
        return methods if self._before is None else self._before(methods)
