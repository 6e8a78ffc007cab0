"""A broker and a name server on a net in memory, with their metrics and health."""

import json
from pathlib import Path

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.gateway.cli.observing import Observation
from mqgateway.gateway.cli.services import Both
from mqgateway.gateway.runtime.service import Runtime
from tests.gateway.cli.test_services import Loop, broker_settings, namesrv_settings
from tests.support.gateway.metrics import parsed
from tests.support.gateway.web import Browser


def browser(loop: Loop, port: int) -> Browser:
    return Browser(loop.ports[port].factory)


def test_a_broker_and_its_name_server_on_one_port(tmp_path: Path) -> None:
    loop = Loop()
    settings = broker_settings(tmp_path)
    settings.options.set("metricsExporterType", "PROM")
    both = Both(loop, namesrv_settings(tmp_path), settings, 0.0)
    started = both.start()
    answer = browser(loop, 5557).get("/readyz")
    assert answer.code == 503
    assert "starting" in answer.body.decode()
    loop.wait_for(started)
    loop.settle(1)
    answer = browser(loop, 5557).get("/readyz")
    assert set(json.loads(answer.body)["servers"]) == {"broker", "name server"}
    one = browser(loop, 5557)
    one.ask("/metrics")
    loop.settle(1)
    text = one.responses[-1].body.decode()
    found = parsed(text)
    assert found["rocketmq_broker_permission", ()] == 6
    assert found["mqgateway_namesrv_brokers", (("broker_cluster", "DefaultCluster"),)] == 1
    assert any(name == "mqgateway_namesrv_request_latency_milliseconds_count" for name, _ in found)
    loop.wait_for(both.stop())
    assert 5557 not in loop.ports


def test_a_name_server_alone(tmp_path: Path) -> None:
    loop = Loop()
    settings = namesrv_settings(tmp_path)
    settings.options.set("healthPort", "8081")
    both = Both(loop, settings, None, 0.0)
    loop.wait_for(both.start())
    assert browser(loop, 8081).get("/readyz").code == 200
    assert browser(loop, 8081).get("/metrics").code == 404
    loop.wait_for(both.stop())
    assert not loop.ports


def test_a_controller_beside_a_name_server(tmp_path: Path) -> None:
    loop = Loop()
    settings = namesrv_settings(tmp_path)
    for name, value in (
        ("metricsExporterType", "PROM"),
        ("enableControllerInNamesrv", "true"),
        ("controllerDLegerPeers", "n0-127.0.0.1:9878"),
        ("controllerStorePath", str(tmp_path / "controller")),
    ):
        settings.options.set(name, value)
    both = Both(loop, settings, None, 0.0)
    loop.wait_for(both.start())
    servers = json.loads(browser(loop, 5557).get("/readyz").body)["servers"]
    assert servers["controller"]["role"]["ok"] and set(servers) == {"controller", "name server"}
    one = browser(loop, 5557)
    one.ask("/metrics")
    loop.settle(1)
    assert b'\nrole{address="127.0.0.1:9878"' in one.responses[-1].body
    loop.wait_for(both.stop())
    assert not loop.ports


def test_nothing_is_served_by_default(tmp_path: Path) -> None:
    loop = Loop()
    both = Both(loop, namesrv_settings(tmp_path), None, 0.0)
    loop.wait_for(both.start())
    assert set(loop.ports) == {9876}
    loop.wait_for(both.stop())


def test_spans_are_made_for_front_ends_if_there_is_a_collector() -> None:
    options = BrokerOptions()
    observation = Observation(options, Runtime(Loop(), ManualClock(), CrashDisk()), bound_to="")
    assert observation.broker_hooks(options) == [] and observation.spans is None
    options.traces_grpc_exporter_target = "http://127.0.0.1:4317"
    assert observation.broker_hooks(options) == [observation.spans]
