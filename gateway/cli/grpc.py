"""gRPC beside a broker that a command runs; it is loaded only where there is a port for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqgateway.engine.meters import Meters
from mqgateway.gateway.broker.service import BrokerService
from mqgateway.gateway.cli.observing import Observation
from mqgateway.gateway.cli.settings import BrokerSettings
from mqgateway.gateway.runtime.loop import Reactor

if TYPE_CHECKING:
    from mqgateway.gateway.grpc.door import GrpcDoor


def start_grpc(
    broker: BrokerService,
    settings: BrokerSettings,
    observation: Observation,
    meters: Meters,
    reactor: Reactor,
) -> GrpcDoor | None:
    """The door of a broker that has started, listening; None where its settings want none."""
    if not settings.broker.grpc_server_port:
        return None
    from mqgateway.gateway.grpc.door import GrpcDoor

    door = GrpcDoor(
        broker, reactor=reactor, noted=observation.grpc_times(meters), before=observation.grpc_spans()
    )
    meters.grpc_connections = lambda: door.connection_count
    door.start(settings.remoting.bind_address, settings.broker.grpc_server_port)
    return door
