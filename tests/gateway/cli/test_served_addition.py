"""The addition of a broker to several that run, with fake children."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mqgateway.engine.real_disk import RealDisk
from mqgateway.gateway.cli import served_brokers
from mqgateway.gateway.cli.numbering import is_removed, left_in, mark_removed
from mqgateway.gateway.client.broker_addition import AdditionAction
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand, encode_command
from mqgateway.gateway.codec.headers import AddBrokerRequestHeader
from tests.gateway.cli.test_served_brokers import World as Brokers
from tests.gateway.cli.test_served_brokers import say_up
from tests.gateway.cli.test_services import NAMESRV_PORT
from tests.support.gateway.container.fakes import FakeChild
from tests.support.gateway.remoting.pair import Talker


class World(Brokers):
    """Two brokers that are up, and requests to their parent."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, grpcServerPort="8081")
        self.root = folder / "store"
        self.talkers: list[Talker] = []
        self.up()

    def close(self) -> None:
        """End the threads of the parent."""
        for threads in self.service._threads:
            threads.stop()

    def store(self, number: int) -> str:
        """Make the store of a broker; return its folder."""
        folder = self.root / f"broker-{number}"
        (folder / "commitlog").mkdir(parents=True, exist_ok=True)
        return str(folder)

    def send(self, name: str, fields: dict[str, str]) -> Talker:
        header = AddBrokerRequestHeader(config_path=name)
        command = RemotingCommand(RequestCode.ADD_BROKER, ext_fields={**header.encode(), **fields})
        talker = Talker()
        pair = self.loop.meet(NAMESRV_PORT, talker)
        talker.transport.write(encode_command(command))
        pair.pump()
        self.settle()
        return talker

    def settle(self, seconds: float = 0.2) -> None:
        """Wait for the parent's threads, then let that much simulated time pass."""
        deadline = time.monotonic() + 60
        for threads in self.service._threads:
            ended: list[None] = []
            threads.settle().addCallback(ended.append)
            while not ended:
                assert time.monotonic() < deadline
                self.loop._hear_threads()
        self.loop.settle(seconds)

    def answer(self, action: str, name: str = "n-2") -> RemotingCommand:
        (answer,) = self.send(name, {"action": action}).take()
        return answer

    def ask(self, action: AdditionAction = AdditionAction.START, name: str = "n-2") -> dict[str, Any]:
        """Send an action; return the state."""
        answer = self.answer(action.value, name)
        assert answer.code == 0, answer.remark
        found: dict[str, Any] = json.loads(answer.body)
        return found

    def refusal(self, name: str = "n-2", action: str = "start") -> str:
        answer = self.answer(action, name)
        assert answer.code in (ResponseCode.SYSTEM_ERROR, ResponseCode.INVALID_PARAMETER)
        return answer.remark or ""

    def copied(self, error: str = "") -> None:
        """Report from the first broker that the tables are copied."""
        self.settle()
        self.launch.children[0].say({"copied": {"name": "n-2", "error": error}})
        self.settle()

    @property
    def added(self) -> FakeChild:
        """The process of the third broker."""
        (child,) = self.launch.children[2:]
        return child


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr(served_brokers, "check_added", lambda namesrv, brokers, name: None)
    world = World(tmp_path)
    yield world
    world.close()


def test_broker_is_started_after_tables_were_copied_and_the_others_learn_its_port(world: World) -> None:
    folder = str(world.root / "broker-2")
    state = world.ask()
    assert state == {
        "state": "copying",
        "cluster": "DefaultCluster",
        "broker": "n-2",
        "folder": folder,
        "address": "",
    }
    copying = world.launch.children[0].sent[-1]["copying"]
    assert copying["settings"]["brokerName"] == "n-2" and copying["settings"]["storePathRootDir"] == folder
    assert world.ask()["state"] == "copying" and len(world.launch.children) == 2
    world.copied()
    assert world.ask()["state"] == "starting" and world.added.path == folder
    assert world.added.sent[0]["settings"]["listenPort"] == "10931"
    assert world.added.sent[0]["removing"] == []
    world.added.say({"progress": "recovering, 7% of the log read"})
    assert world.ask()["progress"] == "recovering, 7% of the log read"
    say_up(world.added, 2)
    world.settle()
    state = world.ask()
    assert (state["state"], state["address"]) == ("up", "10.0.0.1:10931")
    ports = {"grpcPortsOfBrokers": "n-0:8081;n-1:8091;n-2:8101"}
    assert [child.sent[-1] for child in world.launch.children] == [ports] * 3
    assert world.service.status.endswith("3 of 3 brokers up")
    world.launch.children[0].end("killed by SIGKILL")
    world.clock.advance(1000)
    world.loop.settle(1.5)
    assert world.launch.children[-1].sent[0]["settings"].items() >= ports.items()


def test_broker_that_runs_is_up_and_other_numbers_are_refused(world: World) -> None:
    assert world.ask(name="n-1")["state"] == "up"
    assert world.refusal("n-3").endswith("so the next broker is n-2")
    assert world.refusal("n-2", "begin") == "action=begin is not one of start, serveLeft"


def test_request_of_rocketmq_is_answered_when_the_broker_is_up(world: World) -> None:
    waiting = world.send("n-2", {})
    world.copied()
    assert waiting.take() == []
    say_up(world.added, 2)
    world.settle()
    assert [answer.code for answer in waiting.take()] == [0]
    (answer,) = world.send("n-2", {}).take()
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "n-2 runs already")
    (answer,) = world.send("n-4", {}).take()
    assert (answer.remark or "").endswith("so the next broker is n-3")


def test_failed_start_is_returned_once_and_its_folder_is_passed_over(world: World) -> None:
    world.ask()
    waiting = world.send("n-2", {})
    world.copied()
    folder = world.store(2)
    world.added.say({"failed": "port 10931 is in use"})
    world.added.end("exit code 1")
    world.settle()
    assert [answer.remark for answer in waiting.take()] == ["start broker failed, port 10931 is in use"]
    state = world.ask()
    assert (state["state"], state["why"]) == ("failed", "start broker failed, port 10931 is in use")
    assert is_removed(folder, RealDisk()) and left_in(folder, RealDisk()) is not None
    assert [one.name for one in world.service.brokers] == ["n-0", "n-1"]
    assert world.ask()["state"] == "copying", "the next request begins again"


def test_messages_left_by_a_removal_are_served_only_if_the_caller_accepts(world: World) -> None:
    folder = world.store(2)
    mark_removed(folder, RealDisk(), 7, 12)
    refusal = world.refusal()
    assert f"n-2 was removed with 12 messages left in {folder}" in refusal and "--serve-left" in refusal
    assert world.ask(AdditionAction.SERVE_LEFT)["state"] == "copying"
    world.copied()
    assert not is_removed(folder, RealDisk())
    world.added.end("exit code 1")
    world.settle()
    assert left_in(folder, RealDisk()) == 12, "the start has failed"


def test_mark_without_a_number_counts_as_messages_left(world: World) -> None:
    Path(world.store(2), "removed").write_text("7\n")
    assert "removed with perhaps messages left" in world.refusal()
    Path(world.store(2), "removed").write_text("7 0\n")
    assert world.ask()["state"] == "copying"


def test_failed_copy_starts_nothing(world: World) -> None:
    world.ask()
    world.copied("[Errno 28] No space left on device")
    why = world.ask()["why"]
    assert why == "n-0 cannot copy its tables: [Errno 28] No space left on device"
    assert len(world.launch.children) == 2


def test_broker_that_ends_while_it_copies_ends_the_addition(world: World) -> None:
    world.ask()
    world.launch.children[0].end("killed by SIGKILL")
    world.settle()
    assert world.ask()["why"].startswith("n-0 ended while it copied its tables")
    world.ask()
    assert "copying" in world.launch.children[1].sent[-1], "the next one copies"
    world.clock.advance(300_001)
    world.settle()
    assert world.ask()["why"] == "n-1 has not copied its tables in 300 s"
    world.launch.children[1].end("killed by SIGKILL")
    world.ask()
    assert world.ask()["why"].startswith("no broker is up that has tables to copy")


def test_failed_precondition_is_the_reason(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served_brokers, "lacking_memory", lambda: "it needs 60 MiB")
    world.ask()
    world.settle()
    assert world.ask()["why"] == "n-2: it needs 60 MiB; free memory, or use a larger machine"


def test_ports_and_settings_are_checked_on_another_thread(tmp_path: Path) -> None:
    world = World(tmp_path)
    os.makedirs(world.root, exist_ok=True)
    (world.root / "broker-2").write_text("a file")
    world.ask()
    world.settle()
    why = world.ask()["why"]
    assert why.startswith("n-2: storePathRootDir (--data-dir): ") and "broker-2" in why
    world.close()


def test_one_change_of_the_brokers_at_a_time(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.service.roll(0)
    assert world.refusal() == (
        "the brokers are being restarted one after the other; repeat the request afterwards"
    )
    for number in (0, 1):
        world.launch.children[number].end("exit code 0")
        world.loop.settle()
        say_up(world.launch.children[-1], number)
    world.launch.children[:2] = []
    world.ask()
    assert world.service._addition.running == "n-2 is being added"
    assert world.refusal("n-3") == "n-2 is being added; repeat the request afterwards"
    world.service.roll(0)
    assert "no broker is restarted: n-2 is being added" in caplog.text


def test_nothing_is_added_while_the_brokers_stop(world: World) -> None:
    world.service.drain()
    assert world.refusal() == "the brokers are being stopped; repeat the request afterwards"
    world.end_all()
