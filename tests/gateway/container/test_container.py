"""Brokers added, removed, crashed and restarted, with fake children instead of processes."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.options import OptionSet, RemotingOptions, Setting, TlsOptions
from mqgateway.engine.options.container import ContainerOptions
from mqgateway.engine.real_disk import RealDisk
from mqgateway.gateway.container.container import Container, NotStarted
from mqgateway.gateway.container.plan import BrokerIdentity, BrokerRejected
from mqgateway.gateway.container.supervision import ChildState
from tests.support.gateway.container.fakes import FakeLaunch

A = BrokerIdentity("DefaultCluster", "a", 0)


class World:
    """Container with its broker files in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = ManualClock()
        self.launch = FakeLaunch()
        self.options = ContainerOptions(namesrv_addr="ns:9876")
        self.settings = OptionSet(self.options, RemotingOptions(listen_port=10811), TlsOptions())
        self.waits: list[float | None] = []
        self.container = Container(
            self.options,
            self.settings,
            clock=self.clock,
            disk=RealDisk(),
            launch=self.launch,
            default_name="host",
            logs={"form": "text"},
            when_due_changes=lambda: self.waits.append(self.container.supervision.wait()),
        )

    def file(self, name: str, more: str = "") -> str:
        path = self.folder / f"{name}.conf"
        path.write_text(f"brokerName={name}\nlistenPort=20911\n{more}")
        return str(path)

    def add(self, name: str = "a") -> list[Any]:
        return results(self.container.add(self.file(name)))

    def up(self, name: str = "a") -> None:
        added = self.add(name)
        self.launch.children[-1].say({"up": "10.0.0.1:20911"})
        assert added[0].identity.name == name


def results(outcome: Deferred[Any]) -> list[Any]:
    """Return a list that receives the result of a Deferred, or the exception of its failure."""
    found: list[Any] = []
    outcome.addCallbacks(found.append, lambda failure: found.append(failure.value))
    return found


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_broker_is_added_once_it_is_up(world: World) -> None:
    added = world.add()
    (child,) = world.launch.children
    assert (added, child.path) == ([], str(world.folder / "a.conf"))
    child.say({"up": "10.0.0.1:20911"})
    assert added[0].identity == A
    charge = world.container.supervision.get(A)
    assert charge is not None
    assert (charge.state, charge.address, charge.pid) == (ChildState.UP, "10.0.0.1:20911", 100)


def test_broker_gets_shared_settings_and_those_the_container_decides(world: World) -> None:
    world.settings.apply([Setting("bindAddress", "127.0.0.1"), Setting("listenPort", "10812")])
    world.settings.apply([Setting("useTLS", "true"), Setting("tls.server.mode", "disabled")])
    world.up()
    first = world.launch.children[0].sent[0]
    assert first["settings"] == [
        ["bindAddress", "127.0.0.1"],
        ["useTLS", "true"],
        ["tls.server.mode", "disabled"],
        ["namesrvAddr", "ns:9876"],
        ["haListenPort", "20912"],
        ["brokerId", "0"],
        ["isInBrokerContainer", "true"],
    ]
    assert (first["name"], first["logging"]) == ("DefaultCluster_a_0", {"form": "text"})


def test_broker_that_fails_to_start_reports_the_reason(world: World) -> None:
    added = world.add()
    world.launch.children[0].say({"failed": "the store is in use"})
    assert added == []
    world.launch.children[0].end("exit code 1")
    assert str(added[0]) == "start broker failed, the store is in use"
    assert len(world.container.supervision) == 0


def test_silent_process_is_reported_by_its_exit_cause(world: World) -> None:
    added = world.add()
    world.launch.children[0].end("killed by SIGKILL")
    assert str(added[0]) == "start broker failed, killed by SIGKILL"


def test_failed_launch_is_reported_and_retried(world: World) -> None:
    world.launch.refusing = True
    assert "Resource temporarily unavailable" in str(world.add()[0])
    world.launch.refusing = False
    world.up()
    world.launch.refusing = True
    world.launch.children[0].end("killed by SIGKILL")
    world.clock.advance(1000)
    world.container.tick()
    assert world.waits[-1] == pytest.approx(2), "it is tried again"


def test_a_crash_is_reported_and_the_broker_started_again(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.up()
    with caplog.at_level(logging.INFO):
        world.launch.children[0].end("killed by SIGKILL")
    text = "DefaultCluster_a_0 ended by itself: killed by SIGKILL; it is started again in 1 s"
    assert text in caplog.messages
    assert world.waits[-1] == pytest.approx(1)
    world.container.tick()
    assert len(world.launch.children) == 1, "not before it is time"
    world.clock.advance(1000)
    world.container.tick()
    assert len(world.launch.children) == 2
    world.launch.children[1].say({"up": "10.0.0.1:20911"})
    charge = world.container.supervision.get(A)
    assert charge is not None
    assert charge.describe() == ("up, process 101, 10.0.0.1:20911, restarts 1, last end: killed by SIGKILL")


def test_failed_restart_keeps_the_reason_and_is_retried(world: World) -> None:
    world.up()
    world.launch.children[0].end("killed by SIGKILL")
    world.clock.advance(1000)
    world.container.tick()
    world.launch.children[1].say({"failed": "no space left"})
    world.launch.children[1].end("exit code 1")
    charge = world.container.supervision.get(A)
    assert charge is not None and charge.last_end == "exit code 1, no space left"
    assert world.waits[-1] == pytest.approx(2)


def test_a_broker_is_removed_once_its_process_has_ended(world: World) -> None:
    world.up()
    first, second = results(world.container.remove(A)), results(world.container.remove(A))
    (child,) = world.launch.children
    assert (first, second, child.stops) == ([], [], 1)
    child.end("exit code 0")
    assert (first, second) == ([True], [True])
    assert results(world.container.remove(A)) == [False]


def test_a_broker_that_does_not_stop_is_killed(world: World) -> None:
    world.up()
    removed = results(world.container.remove(A))
    assert world.waits[-1] == pytest.approx(60)
    world.clock.advance(60_000)
    world.container.tick()
    (child,) = world.launch.children
    assert child.kills == 1
    child.end("killed by SIGKILL")
    assert removed == [True]


def test_a_broker_that_waits_for_its_start_is_removed_at_once(world: World) -> None:
    world.up()
    world.launch.children[0].end("killed by SIGKILL")
    assert results(world.container.remove(A)) == [True]
    world.clock.advance(5000)
    world.container.tick()
    assert len(world.launch.children) == 1


def test_a_broker_that_is_removed_while_it_starts(world: World) -> None:
    added = world.add()
    removed = results(world.container.remove(A))
    world.launch.children[0].end("exit code 0")
    assert str(added[0]) == "start broker failed, it was removed meanwhile"
    assert removed == [True]


def test_all_brokers_of_a_list_are_started_at_once(world: World) -> None:
    listed = results(world.container.add_all([world.file("a"), world.file("b")]))
    first, second = world.launch.children
    first.say({"up": "10.0.0.1:20911"})
    assert listed == []
    second.say({"up": "10.0.0.1:20921"})
    assert len(listed) == 1


def test_broker_that_cannot_be_started_fails_its_list(world: World) -> None:
    listed = results(world.container.add_all([world.file("a"), world.file("b")]))
    world.launch.children[1].end("exit code 2")
    (failure,) = listed
    assert isinstance(failure.subFailure.value, NotStarted)
    assert f"the broker of {world.folder}/b.conf cannot be started" in str(failure.subFailure.value)


def test_stop_stops_all_brokers_and_rejects_new_ones(world: World) -> None:
    world.up("a")
    world.up("b")
    world.launch.children[0].end("killed by SIGKILL")
    stopped = results(world.container.stop())
    assert [child.stops for child in world.launch.children] == [0, 1]
    assert isinstance(world.add("c")[0], BrokerRejected)
    world.launch.children[1].end("exit code 0")
    assert len(stopped) == 1
    assert world.waits[-1] is None


def test_changed_name_servers_reach_running_and_later_brokers(world: World) -> None:
    world.up("a")
    world.settings.set("namesrvAddr", "other:9876")
    world.container.settings_changed(["namesrvAddr", "configBlackList"])
    world.container.settings_changed(["configBlackList"])
    assert world.launch.children[0].sent[1:] == [{"namesrvAddr": "other:9876"}]
    world.up("b")
    assert ["namesrvAddr", "other:9876"] in world.launch.children[1].sent[0]["settings"]
