"""The removal of the last of several brokers by request, with fake children."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from mqgateway.engine.real_disk import RealDisk
from mqgateway.gateway.cli.numbering import is_removed, left_in
from mqgateway.gateway.client.broker_removal import RemovalAction, removal
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand, encode_command
from mqgateway.gateway.codec.headers import RemoveBrokerRequestHeader
from tests.gateway.cli.test_served_brokers import World as Brokers
from tests.gateway.cli.test_served_brokers import say_up
from tests.gateway.cli.test_services import NAMESRV_PORT
from tests.support.gateway.remoting.pair import Talker

NOTHING: dict[str, Any] = {"obstacles": [], "left": [], "messages": 0, "waits": "", "isDone": True}
SOME = {**NOTHING, "messages": 3, "isDone": False}


class World(Brokers):
    """Two brokers that are up, and requests to their parent."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.up()
        os.makedirs(self.folder(1))

    def folder(self, number: int) -> str:
        return self.launch.children[number].path

    def send(self, name: str, fields: dict[str, str], cluster: str = "DefaultCluster") -> RemotingCommand:
        header = RemoveBrokerRequestHeader(broker_cluster_name=cluster, broker_name=name, broker_id=0)
        command = RemotingCommand(RequestCode.REMOVE_BROKER, ext_fields={**header.encode(), **fields})
        talker = Talker()
        pair = self.loop.meet(NAMESRV_PORT, talker)
        talker.transport.write(encode_command(command))
        pair.pump()
        self.loop.settle()
        (answer,) = talker.take()
        return answer

    def ask(self, action: RemovalAction = RemovalAction.DRAIN, name: str = "n-1") -> dict[str, Any]:
        """Send an action; return the state."""
        answer = self.send(name, dict(removal("DefaultCluster", name, action).fields))
        assert answer.code == 0, answer.remark
        found: dict[str, Any] = json.loads(answer.body)
        return found

    def refusal(self, name: str, action: str = "drain", cluster: str = "DefaultCluster") -> str:
        answer = self.send(name, {"action": action}, cluster)
        assert answer.code in (ResponseCode.SYSTEM_ERROR, ResponseCode.INVALID_PARAMETER)
        return answer.remark or ""

    def report(self, report: dict[str, Any]) -> None:
        self.launch.children[1].say({"removal": report})


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_broker_is_stopped_once_nothing_is_left_and_its_folder_is_marked(world: World) -> None:
    assert world.ask() == {
        "state": "draining",
        "cluster": "DefaultCluster",
        "broker": "n-1",
        "folder": world.folder(1),
    }
    child = world.launch.children[1]
    assert child.sent[-1] == {"removing": ["n-0"]} and child.stops == 0
    world.report(SOME)
    assert world.ask()["report"] == SOME and child.stops == 0
    world.report(NOTHING)
    assert world.ask()["state"] == "stopping" and child.stops == 1
    child.end("exit code 0")
    assert world.ask()["state"] == "removed"
    assert is_removed(world.folder(1), RealDisk()) and left_in(world.folder(1), RealDisk()) == 0
    assert [one.name for one in world.service.brokers] == ["n-0"]
    assert world.service.status.endswith("1 of 1 brokers up")
    assert world.refusal("n-0") == "n-0 is the only broker; stop the command instead"


def test_forced_removal_waits_for_a_report_only(world: World) -> None:
    world.ask(RemovalAction.FORCE)
    assert world.launch.children[1].stops == 0
    world.report(SOME)
    assert world.ask()["state"] == "stopping" and world.launch.children[1].stops == 1


def test_removal_can_be_forced_later(world: World) -> None:
    world.ask()
    world.report(SOME)
    world.ask(RemovalAction.FORCE)
    world.report(SOME)
    assert world.launch.children[1].stops == 1


def test_removal_can_be_cancelled(world: World) -> None:
    world.ask()
    assert world.ask(RemovalAction.CANCEL)["state"] == "cancelled"
    assert world.launch.children[1].sent[-1] == {"removing": []}
    world.report(NOTHING)
    assert world.launch.children[1].stops == 0
    assert world.refusal("n-1", "cancel") == "n-1 is not being removed"
    assert world.ask()["state"] == "draining"


def test_topics_that_belong_to_the_broker_keep_it(world: World) -> None:
    world.ask()
    world.report({**SOME, "obstacles": ["static topic T"]})
    assert world.launch.children[1].sent[-1] == {"removing": []}
    world.report(NOTHING)
    assert world.launch.children[1].stops == 0
    answer = world.ask()
    assert (answer["state"], answer["report"]["obstacles"]) == ("refused", ["static topic T"])
    assert world.ask()["state"] == "draining", "a refusal is returned once"


def test_brokers_that_cannot_be_removed_are_named(world: World) -> None:
    assert world.refusal("n-0").startswith("n-0 cannot be removed before n-1: ")
    assert world.refusal("n-7").startswith("there is no broker DefaultCluster_n-7_0 here; there are ")
    assert world.refusal("n-1", cluster="Other").startswith("there is no broker Other_n-1_0 here")
    assert world.refusal("n-1", "stop") == "action=stop is not one of drain, force, cancel"
    world.launch.children[1].end("killed by SIGKILL")
    assert world.refusal("n-1") == "n-1 is waiting to be started again; repeat the request when it is up"


def test_restarted_broker_continues_to_drain(world: World) -> None:
    world.ask()
    world.launch.children[1].end("killed by SIGKILL")
    world.clock.advance(1000)
    world.loop.settle(1.5)
    child = world.launch.children[-1]
    assert child.sent[0]["removing"] == ["n-0"]
    say_up(child, 1)
    child.say({"removal": NOTHING})
    assert child.stops == 1


def test_request_of_rocketmq_fails_until_the_broker_is_removed(world: World) -> None:
    answer = world.send("n-1", {})
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_BUSY, "n-1 is draining; repeat the request")
    world.report(NOTHING)
    world.launch.children[1].end("exit code 0")
    assert world.send("n-1", {}).code == 0


def test_nothing_is_removed_during_a_rolling_restart(world: World) -> None:
    world.service.roll(0)
    assert world.refusal("n-1").startswith("the brokers are being restarted one after the other; repeat")


def test_broker_that_does_not_stop_cleanly_is_removed_and_logged(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.ask()
    world.report(NOTHING)
    world.launch.children[1].end("killed by SIGKILL")
    assert world.ask()["state"] == "removed"
    assert "n-1 did not stop cleanly: killed by SIGKILL" in caplog.text
    assert world.service.fleet.unclean == {}


def test_stop_of_all_during_the_end_of_a_removal_marks_nothing(world: World) -> None:
    world.ask()
    world.report(NOTHING)
    world.service.drain()
    world.end_all()
    assert not is_removed(world.folder(1), RealDisk())
