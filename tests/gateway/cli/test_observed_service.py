import json
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.options.container import ContainerOptions
from mqgateway.engine.real_disk import RealDisk
from mqgateway.gateway.cli.observed_service import ObservedService
from mqgateway.gateway.cli.observing import Observation
from mqgateway.gateway.container.plan import BrokerIdentity, BrokerPlan
from mqgateway.gateway.container.supervision import Charge, ChildState
from mqgateway.gateway.runtime.service import Runtime, Service
from tests.support.gateway.remoting.pair import Net
from tests.support.gateway.web import Browser, Response


class OneBroker(Service):
    """A container with one broker, whose start the test completes."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(runtime)
        self.started: Deferred[Any] = Deferred()
        self.charge = Charge(BrokerPlan(BrokerIdentity("C", "a", 0), "/a.conf", 10911))
        self.container: Any = type("C", (), {"supervision": [self.charge]})

    def _begin(self) -> Deferred[Any]:
        return self.started


def test_it_is_ready_when_its_brokers_are(tmp_path: Path) -> None:
    net = Net()
    runtime = Runtime(net, ManualClock(), RealDisk())
    service = OneBroker(runtime)
    options = ContainerOptions(health_port=8081)
    observation = Observation(options, runtime, bound_to="0.0.0.0")
    observation.fleet(service.container.supervision)
    running = ObservedService(runtime, service, observation)
    running.start()

    def ask() -> Response:
        return Browser(net.ports[8081].factory).get("/readyz")

    assert ask().code == 503
    service.started.callback(None)
    assert json.loads(ask().body)["servers"]["container"]["C_a_0"]["ok"] is False
    service.charge.state = ChildState.UP
    assert ask().code == 200
    running.stop()
    assert service.is_ending
    assert not net.ports
