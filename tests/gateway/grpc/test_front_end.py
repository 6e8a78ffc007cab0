"""gRPC as it is declared: its start, with spans and faults before its methods."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.engine.meters import FrontEndMeter
from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.front_end import FrontEndEnvironment
from mqgateway.gateway.grpc import front_end
from mqgateway.gateway.grpc.front_end import GRPC
from mqgateway.gateway.metrics.spans import MessageSpans
from mqgateway.gateway.testing.faults import Faults
from tests.fuzz.world import World

SEND, ROUTE = (f"/apache.rocketmq.v2.MessagingService/{name}" for name in ("SendMessage", "QueryRoute"))


def methods(world: World, **more: Any) -> Any:
    service = world.service
    around = FrontEndEnvironment(
        operations=service.operations,
        server=service.server,
        reactor=world.net,
        clock=world.clock,
        host="10.0.0.1",
        port=18081,
        advertised="10.0.0.1",
        meter=FrontEndMeter(has_latency=True),
        **more,
    )
    running: Any = front_end.start(around)
    assert running.port == 18081 and around.meter.connections is not None
    try:
        return running._methods()
    finally:
        running.stop()


@pytest.mark.parametrize("kind", ["spans", "faults"])
def test_spans_and_faults_wrap_the_methods_that_they_are_for(kind: str) -> None:
    wrapping: dict[str, Any] = {
        "spans": MessageSpans(BrokerOptions(traces_grpc_exporter_target="http://127.0.0.1:4317")),
        "faults": Faults(lambda seconds: None, lambda: None),  # type: ignore[arg-type,return-value]
    }
    with World() as world:
        plain, wrapped = methods(world), methods(world, **{kind: wrapping[kind]})
    assert plain.keys() == wrapped.keys()

    def function(found: Any, path: str) -> str:
        name: str = found[path].answer.__qualname__
        return name

    assert function(plain, SEND) != function(wrapped, SEND)
    assert (function(plain, ROUTE) != function(wrapped, ROUTE)) is (kind == "faults")


def test_the_port_is_that_of_its_setting() -> None:
    assert GRPC.port_in(BrokerOptions()) == 0
    assert GRPC.port_in(BrokerOptions(grpc_server_port=8081)) == 8081
