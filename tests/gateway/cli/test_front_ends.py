"""A broker that a command runs starts the front ends for which its settings name a port."""

from __future__ import annotations

from pathlib import Path

from mqgateway.engine.meters import Meters
from mqgateway.gateway.cli.front_ends import start_front_ends
from mqgateway.gateway.cli.observing import Observation
from mqgateway.gateway.front_end import Running
from mqgateway.gateway.front_ends import FRONT_ENDS
from mqgateway.gateway.runtime.service import Runtime
from tests.gateway.cli.test_container_broker import Contained

GRPC_PORT, CONSOLE_PORT = 18081, 18088


def test_front_ends_with_a_port_are_started_in_order_and_grpc_is_measured(tmp_path: Path) -> None:
    one = Contained(tmp_path)
    one.loop.wait_for(one.service.start())
    options, meters, broker = one.settings.broker, Meters(100), one.service.broker
    runtime = Runtime(one.loop, broker.broker.clock, broker.broker.environment.disk)
    observation = Observation(options, runtime, bound_to="", advertised="127.0.0.1")

    def started() -> dict[str, Running]:
        return start_front_ends(FRONT_ENDS, broker, one.settings, observation, meters, runtime)

    assert started() == {} and not meters.front_ends
    options.grpc_server_port, options.console_port = GRPC_PORT, CONSOLE_PORT
    running = started()
    assert list(running) == ["grpc", "console"] and {GRPC_PORT, CONSOLE_PORT} <= set(one.loop.ports)
    assert running["grpc"].endpoint("10.0.0.7") == f"10.0.0.7:{GRPC_PORT}"
    assert str(running["console"].endpoint("10.0.0.7")).startswith(f"http://127.0.0.1:{CONSOLE_PORT}/")
    connections = meters.front_ends["grpc"].connections
    assert connections is not None and connections() == 0
    assert meters.front_ends["console"].connections is None
    for front_end in running.values():
        front_end.stop()
    one.loop.wait_for(one.service.stop())
