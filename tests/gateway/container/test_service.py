"""The container on its ports, with a reactor in memory and children that are no processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.error import CannotListenError

from mqgateway.engine.options import OptionSet, RemotingOptions, TlsMode, TlsOptions
from mqgateway.engine.options.container import ContainerOptions
from mqgateway.engine.real_disk import RealDisk
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand, encode_command
from mqgateway.gateway.codec.fields import Header
from mqgateway.gateway.codec.headers import AddBrokerRequestHeader
from mqgateway.gateway.container.container import NotStarted
from mqgateway.gateway.container.service import ContainerService
from mqgateway.gateway.runtime.service import Runtime
from tests.support.gateway.container.fakes import FakeLaunch
from tests.support.gateway.namesrv.world import NetClock
from tests.support.gateway.remoting.pair import Net, Talker

PORT = 10811


class World:
    """A container on a net, and its brokers' files in a folder."""

    def __init__(self, folder: Path, *names: str, net: Net | None = None) -> None:
        self.net = net or Net()
        self.launch = FakeLaunch()
        self.folder = folder
        for name in (*names, "later"):
            (folder / f"{name}.conf").write_text(f"brokerName={name}\n")
        paths = " : ".join(str(folder / f"{name}.conf") for name in names)
        self.service = ContainerService(
            OptionSet(
                ContainerOptions(broker_config_paths=paths),
                RemotingOptions(listen_port=PORT),
                TlsOptions(tls_server_mode=TlsMode.DISABLED),
            ),
            Runtime(self.net, NetClock(self.net), RealDisk()),
            launch=self.launch,
            default_name="host",
        )
        self.started = self._watch(self.service.start())
        self.net.settle()

    def _watch(self, outcome: Deferred[Any]) -> list[Any]:
        found: list[Any] = []
        outcome.addCallbacks(lambda _: found.append("done"), lambda failure: found.append(failure.value))
        return found

    def all_up(self) -> World:
        for child in self.launch.children:
            child.say({"up": "10.0.0.1:10911"})
        return self

    def stop(self) -> list[Any]:
        stopped = self._watch(self.service.stop())
        self.net.settle()
        return stopped

    def talk(self, port: int, code: int, header: Header | None = None) -> Talker:
        talker = Talker()
        self.net.meet(port, talker)
        talker.transport.write(encode_command(RemotingCommand.request(code, header)))
        self.net.settle()
        return talker


def test_it_serves_on_both_ports_once_its_brokers_are_up(tmp_path: Path) -> None:
    world = World(tmp_path, "a", "b")
    assert set(world.net.ports) == {PORT, PORT - 2}
    assert world.started == []
    assert world.all_up().started == ["done"]
    assert world.service.port == PORT
    assert world.service.brokers() == {
        "DefaultCluster_a_0": "10.0.0.1:10911",
        "DefaultCluster_b_0": "10.0.0.1:10911",
    }
    for port in world.net.ports:
        (answer,) = world.talk(port, RequestCode.GET_BROKER_RUNTIME_INFO).take()
        assert answer.code == 0
        (answer,) = world.talk(port, RequestCode.SEND_MESSAGE).take()
        assert answer.code == 3


def test_a_container_without_brokers_waits_for_some(tmp_path: Path) -> None:
    world = World(tmp_path)
    assert world.started == ["done"]
    talker = world.talk(
        PORT, RequestCode.ADD_BROKER, AddBrokerRequestHeader(config_path=str(tmp_path / "later.conf"))
    )
    assert talker.take() == []
    world.all_up()
    world.net.settle()
    (answer,) = talker.take()
    assert answer.code == 0


def test_a_broker_that_cannot_be_started_ends_the_start_and_all_others(tmp_path: Path) -> None:
    world = World(tmp_path, "a", "b")
    first, second = world.launch.children
    second.end("exit code 2")
    assert (world.started, first.stops) == ([], 1)
    first.end("exit code 0")
    world.net.settle()
    (failure,) = world.started
    assert isinstance(failure, NotStarted)
    assert "b.conf cannot be started: start broker failed, exit code 2" in str(failure)
    assert not world.net.ports


def test_it_stops_its_brokers_before_itself(tmp_path: Path) -> None:
    world = World(tmp_path, "a").all_up()
    stopped = world.stop()
    (child,) = world.launch.children
    assert (stopped, child.stops) == ([], 1)
    assert PORT in world.net.ports
    child.end("exit code 0")
    world.net.settle()
    assert stopped == ["done"]
    assert not world.net.ports
    assert not [call for call in world.net.getDelayedCalls() if call.active()]


def test_time_starts_a_broker_again(tmp_path: Path) -> None:
    world = World(tmp_path, "a").all_up()
    world.launch.children[0].end("killed by SIGKILL")
    world.net.advance(0.9)
    assert len(world.launch.children) == 1
    world.net.advance(0.1)
    assert len(world.launch.children) == 2
    world.all_up()
    assert world.launch.children[1].pid == 101


def test_time_kills_a_broker_that_does_not_stop(tmp_path: Path) -> None:
    world = World(tmp_path, "a").all_up()
    world.stop()
    world.net.advance(60)
    (child,) = world.launch.children
    assert child.kills == 1


@pytest.mark.parametrize("port", [PORT, PORT - 2])
def test_a_port_in_use_stops_the_start_and_frees_the_other(tmp_path: Path, port: int) -> None:
    net = Net()
    net.taken.add(port)
    world = World(tmp_path, "a", net=net)
    (failure,) = world.started
    assert isinstance(failure, CannotListenError) and failure.port == port
    assert not world.launch.children and not net.ports
    assert not [call for call in net.getDelayedCalls() if call.active()]


def test_a_stop_meanwhile_ends_the_brokers_that_start(tmp_path: Path) -> None:
    world = World(tmp_path, "a")
    stopped = world.stop()
    (child,) = world.launch.children
    assert (child.stops, stopped) == (1, [])
    child.end("exit code 0")
    world.net.settle()
    assert stopped == ["done"] and not world.net.ports
