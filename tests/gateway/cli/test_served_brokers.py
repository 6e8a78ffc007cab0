"""The parent of several brokers, with fake children on a net in memory."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.real_disk import RealDisk
from mqgateway.gateway.cli.numbering import numbered
from mqgateway.gateway.cli.served_brokers import BrokerNotStarted, BrokersNotStopped, ServedBrokers
from mqgateway.gateway.cli.settings import NamesrvSettings
from mqgateway.gateway.codec import headers
from mqgateway.gateway.codec.bodies import KVTable
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand, encode_command
from mqgateway.gateway.runtime.service import Runtime
from tests.gateway.cli.test_numbering import given
from tests.gateway.cli.test_services import NAMESRV_PORT, Loop, broker_settings, namesrv_settings
from tests.support.gateway.container.fakes import FakeChild, FakeLaunch
from tests.support.gateway.remoting.pair import Talker

METRICS_PORT, HEALTH_PORT = 5557, 5558


class World:
    """A parent whose children are driven by the test."""

    def __init__(self, folder: Path, **values: str) -> None:
        self.loop = Loop()
        self.clock = ManualClock()
        self.launch = FakeLaunch()
        namesrv: NamesrvSettings = namesrv_settings(folder)
        broker = broker_settings(folder)
        for name, value in {"brokerName": "n", **values}.items():
            broker.options.set(name, value, "test")
        self.service = ServedBrokers(
            Runtime(self.loop, self.clock, RealDisk()),  # type: ignore[arg-type]
            namesrv,
            broker,
            numbered(broker, 2),
            launch=self.launch,
            first={"given": given(folder, "brokerName=n"), "logging": {}},
            began=self.clock.monotonic(),
        )
        self.started: list[Any] = []

    def start(self) -> None:
        self.service.start().addBoth(self.started.append)
        self.loop.settle()

    def up(self) -> None:
        self.start()
        for number, child in enumerate(self.launch.children):
            say_up(child, number)
        assert self.started == [None]

    def end_all(self) -> None:
        for child in self.launch.children:
            if child.stops:
                child.end("exit code 0")


def say_up(child: FakeChild, number: int) -> None:
    port = 10911 + 10 * number
    child.say({"metrics": 41_000 + number})
    child.say({"frontEnds": {"grpc": f"10.0.0.1:{8081 + 10 * number}"}})
    child.say({"up": f"10.0.0.1:{port}"})


def results(outcome: Deferred[Any]) -> list[Any]:
    found: list[Any] = []
    outcome.addCallbacks(found.append, lambda failure: found.append(failure.value))
    return found


def test_brokers_start_after_the_name_server_with_their_settings(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.start()
    first, second = world.launch.children
    assert world.started == [] and NAMESRV_PORT in world.loop.ports
    assert first.sent[0]["name"] == "n-0" and second.sent[0]["name"] == "n-1"
    assert second.path.endswith("broker-1")
    assert second.sent[0]["settings"]["namesrvAddr"].startswith(f"127.0.0.1:{NAMESRV_PORT}")
    assert second.sent[0]["settings"]["brokerName"] == "n-1"
    assert second.sent[0]["given"] == given(tmp_path, "brokerName=n")
    assert world.service.status == f"name server at port {NAMESRV_PORT}, 0 of 2 brokers up"


def test_summary_names_every_broker(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.up()
    lines = world.service.summary().lines()
    assert "broker       10.0.0.1:10911   (n-0 of DefaultCluster; gRPC 10.0.0.1:8081)" in lines
    assert "broker       10.0.0.1:10921   (n-1 of DefaultCluster; gRPC 10.0.0.1:8091)" in lines
    assert lines[-1].startswith("ready in ")
    document = world.service.summary().as_json()
    assert document["broker"] == "10.0.0.1:10911"
    assert document["brokers"] == [
        {"name": "n-0", "address": "10.0.0.1:10911", "grpc": "10.0.0.1:8081"},
        {"name": "n-1", "address": "10.0.0.1:10921", "grpc": "10.0.0.1:8091"},
    ]
    assert world.service.boot_lines()[0].text.startswith("The Name Server boot success.")
    assert world.service.entries >= 0


def test_summary_names_a_number_that_was_changed_since(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.service._first["given"] |= {"brokers": 3}
    world.up()
    assert any(
        "brokers were removed since: the number is 2 now" in line for line in world.service.summary().lines()
    )


def test_name_server_answers_routes_once_all_brokers_are_up(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.start()
    talker = Talker()
    pair = world.loop.meet(NAMESRV_PORT, talker)
    header = headers.GetRouteInfoRequestHeader(topic="T")
    command = RemotingCommand.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, header)
    talker.transport.write(encode_command(command))
    pair.pump()
    say_up(world.launch.children[0], 0)
    world.loop.settle()
    assert talker.take() == []
    say_up(world.launch.children[1], 1)
    world.loop.settle()
    assert len(talker.take()) == 1


def test_broker_that_cannot_start_fails_the_start(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.start()
    first, second = world.launch.children
    say_up(first, 0)
    second.say({"failed": "port 10921 is in use"})
    second.end("exit code 1")
    assert first.stops == 1
    first.end("exit code 0")
    world.loop.settle(1)
    (failure,) = world.started
    assert isinstance(failure.value, BrokerNotStarted)
    assert str(failure.value) == "n-1 cannot be started: start broker failed, port 10921 is in use"
    assert not world.loop.ports


def test_crashed_broker_is_named_and_started_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    world = World(tmp_path)
    world.up()
    world.launch.children[1].end("killed by SIGKILL")
    assert "DefaultCluster_n-1_0 ended by itself: killed by SIGKILL" in caplog.text
    assert world.service.status.endswith("1 of 2 brokers up")
    world.clock.advance(1000)
    world.loop.settle(1.5)
    assert [child.sent[0]["name"] for child in world.launch.children] == ["n-0", "n-1", "n-1"]


def test_name_server_reports_the_state_of_each_broker(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.up()
    world.launch.children[1].end("killed by SIGKILL")
    answer = world.loop.ask(NAMESRV_PORT, RequestCode.GET_BROKER_RUNTIME_INFO)
    table = KVTable.decode(answer.body).table
    assert table["brokers"] == "2"
    assert table["DefaultCluster_n-0_0"] == "up, process 100, 10.0.0.1:10911, restarts 0"
    assert table["DefaultCluster_n-1_0"].startswith(
        "waiting to be started again, restarts 0, last end: killed"
    )


def test_stop_waits_for_the_processes(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.up()
    stopped = results(world.service.stop())
    world.loop.settle()
    assert [child.stops for child in world.launch.children] == [1, 1] and stopped == []
    world.end_all()
    world.loop.settle(1)
    assert stopped == [None] and not world.loop.ports


def test_drain_stops_the_brokers_and_can_be_cut_short(tmp_path: Path) -> None:
    world = World(tmp_path, drainTimeoutMillis="45000")
    world.up()
    drained = world.service.drain()
    assert world.service.fleet.supervision.wait() == 105
    found = results(drained)
    assert [child.stops for child in world.launch.children] == [1, 1] and found == []
    drained.cancel()
    assert [child.stops for child in world.launch.children] == [2, 2] and len(found) == 1
    assert [child.sent[-1] for child in world.launch.children] == [{"leaving": ["n-0", "n-1"]}] * 2
    assert world.service.fleet.supervision.wait() == 60, "without the time for the drain"
    world.end_all()


def test_stop_fails_with_the_brokers_that_were_not_drained_or_stopped_cleanly(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.up()
    world.service.drain()
    first, second = world.launch.children
    first.say({"shortfall": "producers still sent to it after 9 ms"})
    first.end("exit code 0")
    second.end("killed by SIGKILL")
    (error,) = results(world.service.stop())
    assert isinstance(error, BrokersNotStopped)
    assert str(error) == (
        "n-0 was not drained: producers still sent to it after 9 ms; "
        "n-1 did not stop cleanly: killed by SIGKILL"
    )
    assert not world.loop.ports, "everything else is stopped all the same"


def test_status_has_the_progress_of_brokers_that_start(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.start()
    world.launch.children[1].say({"progress": "recovering, 7% of the log read"})
    assert world.service.status.endswith("0 of 2 brokers up, n-1 recovering, 7% of the log read")


def test_drain_is_over_when_all_processes_have_ended(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.up()
    found = results(world.service.drain())
    world.end_all()
    assert found == [None]


def test_rolling_restart_runs_once_and_reports_its_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    world = World(tmp_path)
    world.up()
    world.service.roll(0)
    world.service.roll(0)
    assert "are being restarted or stopped already" in caplog.text
    for number in (0, 1):
        world.launch.children[number].end("exit code 0")
        world.loop.settle()
        say_up(world.launch.children[-1], number)
    assert "all brokers have been restarted" in caplog.text
    world.service.roll(0)
    world.launch.children[2].end("exit code 0")
    world.loop.settle()
    world.launch.children[-1].end("exit code 1")
    assert "has ended early: DefaultCluster_n-0_0 is not up after its restart" in caplog.text


def test_health_and_metrics_of_all_are_served_here(tmp_path: Path) -> None:
    world = World(
        tmp_path,
        metricsExporterType="PROM",
        metricsPromExporterPort=str(METRICS_PORT),
        healthPort=str(HEALTH_PORT),
        metricsPromExporterHost="127.0.0.1",
    )
    world.up()
    assert {METRICS_PORT, HEALTH_PORT} <= set(world.loop.ports)
    assert world.service._metrics_ports() == {"n-0": 41_000, "n-1": 41_001}
    service = world.service._observation.service
    assert service is not None
    health = service.health()
    assert set(health) == {"name server", "brokers"} and len(health["brokers"]) == 2
    world.launch.children[0].end("killed by SIGKILL")
    assert world.service._metrics_ports() == {"n-1": 41_001}
    assert not service.health()["brokers"]["DefaultCluster_n-0_0"].is_fine
