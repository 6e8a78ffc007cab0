from typing import Any

import pytest
from twisted.internet.error import CannotListenError

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.options.container import ContainerOptions
from mqgateway.engine.options.metrics import HealthOptions
from mqgateway.engine.steps import Steps
from mqgateway.gateway.broker.admin.health import Check, Health
from mqgateway.gateway.metrics.metric import MetricKind
from mqgateway.gateway.metrics.points import Family, Point
from mqgateway.gateway.metrics.service import MetricsService
from tests.support.gateway.metrics import parsed
from tests.support.gateway.remoting.pair import Net
from tests.support.gateway.web import Browser


class Server:
    """Server whose scrape takes `steps` steps, of 1 ms if there is a clock; step 5000 fails."""

    name = "broker"
    is_started = True

    def __init__(self, steps: int = 1, clock: ManualClock | None = None) -> None:
        self.steps = steps
        self.scrapes = 0
        self.clock = clock

    def health(self) -> Health:
        return {"store": Check(True, "open")}

    def write(self, metrics: str, text: list[bytes], truncated: list[str]) -> Steps[None]:
        self.scrapes += 1
        for step in range(self.steps):
            if step == 5000:
                raise ValueError("that many")
            if self.clock is not None:
                self.clock.advance(1)
            yield
        text.append(f"of_{metrics} 1\n".encode())

    def points(self) -> Steps[list[Family]]:
        yield
        return [Family("of_points", MetricKind.GAUGE, "", "", (), [Point({}, 1)])]


class Listening(Net):
    """Net that records its listeners and delayed calls, and refuses the ports that are taken."""

    def __init__(self) -> None:
        super().__init__()
        self.at: dict[tuple[str, int], Any] = {}
        self.taken: set[int] = set()
        self.later_calls = 0

    def callLater(self, delay: float, callable: Any, *args: Any, **kw: Any) -> Any:
        self.later_calls += 1
        return super().callLater(delay, callable, *args, **kw)

    def listenTCP(self, port: int, factory: Any, backlog: int = 50, interface: str = "") -> Any:
        if port in self.taken:
            raise CannotListenError(interface, port, OSError("in use"))
        self.at[interface, port] = factory
        return super().listenTCP(port, factory, backlog, interface)


def service(
    options: HealthOptions, net: Listening, server: Server | None = None, clock: ManualClock | None = None
) -> MetricsService:
    return MetricsService(
        options, [server or Server()], reactor=net, clock=clock or ManualClock(), host="10.0.0.1"
    )


def test_nothing_is_served_by_default() -> None:
    for options in (BrokerOptions(), ContainerOptions()):
        net = Listening()
        service(options, net).start()
        assert not net.at


def test_metrics_and_health_are_served_at_their_own_ports() -> None:
    net = Listening()
    options = BrokerOptions(metrics_exporter_type="PROM", health_port=8081)
    one = service(options, net)
    one.start()
    assert set(net.at) == {("10.0.0.1", 5557), ("0.0.0.0", 8081)}
    assert Browser(net.at["0.0.0.0", 8081]).get("/metrics").code == 404
    text = Browser(net.at["10.0.0.1", 5557]).get("/metrics").body.decode()
    assert text.endswith("target_info 1\n")
    assert parsed(text)["of_standard", ()] == 1
    one.stop()
    assert not net.ports


def test_the_host_may_be_set() -> None:
    net = Listening()
    options = BrokerOptions(
        metrics_exporter_type="PROM", metrics_prom_exporter_host="127.0.0.1", metrics_prom_exporter_port=9
    )
    service(options, net).start()
    assert set(net.at) == {("127.0.0.1", 9)}


def test_a_port_that_is_taken_is_an_error_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    net = Listening()
    net.taken = {5557}
    service(BrokerOptions(metrics_exporter_type="PROM"), net).start()
    assert "metrics cannot be served" in caplog.text
    assert not net.at


def test_pushed_metrics_open_no_port(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "mqgateway.metrics")
    net, clock = Listening(), ManualClock()
    one = service(BrokerOptions(metrics_exporter_type="LOG"), net, clock=clock)
    one.start()
    assert not net.at
    net.advance(10)
    assert '"name":"of_points"' in caplog.text
    one.stop()
    assert not net.getDelayedCalls()


def test_scrape_yields_and_concurrent_requests_share_it() -> None:
    net, clock = Listening(), ManualClock()
    server = Server(10, clock)
    one = service(BrokerOptions(), net, server, clock)
    found: list[list[bytes]] = []
    one.scrape("exporter").addCallback(found.append)
    one.scrape("exporter").addCallback(found.append)
    assert not found
    net.advance(0)
    assert net.later_calls == 5  # ten steps of 1 ms each, in slices of 2 ms
    assert found == [[b"of_exporter 1\n"]] * 2
    assert server.scrapes == 1
    one.scrape("exporter")
    assert server.scrapes == 2


def test_failed_scrape_raises_and_the_next_one_starts_again() -> None:
    net = Listening()
    server = Server(6000)
    one = service(BrokerOptions(), net, server)
    failures: list[Any] = []
    one.scrape("exporter").addErrback(failures.append)
    for _ in range(10):
        net.advance(0)
    assert [str(failure.value) for failure in failures] == ["that many"]
    server.steps = 1
    found: list[list[bytes]] = []
    one.scrape("exporter").addCallback(found.append)
    assert found


def test_the_lag_of_the_loop_is_measured() -> None:
    net, clock = Listening(), ManualClock()
    one = service(BrokerOptions(metrics_exporter_type="PROM"), net, clock=clock)
    one.start()
    clock.advance(530)
    net.advance(0.5)
    assert one.loop_lag.table[()].sum == 30
    one.stop()
    assert not net.getDelayedCalls()
