"""A broker that a command runs has a door for gRPC where its settings name a port."""

from __future__ import annotations

from pathlib import Path

from mqgateway.engine.meters import Meters
from mqgateway.gateway.cli.grpc import start_grpc
from mqgateway.gateway.cli.observing import Observation
from tests.gateway.cli.test_container_broker import Contained

PORT = 18081


def test_there_is_a_door_where_a_port_is_named_and_its_connections_are_counted(tmp_path: Path) -> None:
    one = Contained(tmp_path)
    one.loop.wait_for(one.service.start())
    options, meters = one.settings.broker, Meters(100)
    observation = Observation(
        options,
        reactor=one.loop,
        clock=one.service.broker.broker.clock,
        disk=one.service.broker.broker.environment.disk,
        bound_to="",
        advertised="",
    )
    parts = (one.service.broker, one.settings, observation, meters, one.loop)
    assert start_grpc(*parts) is None
    options.grpc_server_port = PORT
    door = start_grpc(*parts)
    assert door is not None and PORT in one.loop.ports
    assert meters.grpc_connections is not None and meters.grpc_connections() == 0
    door.stop()
    one.loop.wait_for(one.service.stop())
