"""`mqgateway broker` and `mqgateway cluster`."""

from __future__ import annotations

import json
from typing import Any

from mqgateway.engine.clock import ManualClock
from mqgateway.gateway.codec.bodies import BrokerData, ClusterInfo
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.resources import CATALOGUE
from tests.support.gateway.client.cluster import Cluster
from tests.support.gateway.mqadmin.tool import ResourceTool, ScriptedTool


def test_clusters_are_listed_with_groups_that_have_no_master() -> None:
    with Cluster() as cluster:
        cluster.add_broker("broker-b", 20911, broker_cluster_name="Other")
        tool = ResourceTool(cluster)
        assert tool.json("cluster list")["rows"] == [
            {"cluster": "DefaultCluster", "brokers": ["broker-a"], "withoutMaster": [], "slaves": 0},
            {"cluster": "Other", "brokers": ["broker-b"], "withoutMaster": [], "slaves": 0},
        ]


def test_brokers_are_listed_and_show_their_figures() -> None:
    with Cluster() as cluster:
        tool = ResourceTool(cluster)
        tool.run("broker list")
        assert tool.out.splitlines()[1].split()[:5] == [
            "DefaultCluster",
            "broker-a",
            "0",
            "10.0.0.1:10911",
            "V5_5_0",
        ]
        tool.run("broker status -b 10.0.0.1:10911")
        assert "msgPutTotalTodayNow:" in tool.out


LEFT = [{"kind": "not consumed", "topic": "T", "group": "G", "messages": 3}]


class Changing(ScriptedTool):
    """The tool with a name server whose answers to changes are `states`, the last one repeated."""

    def __init__(self, *states: dict[str, Any]) -> None:
        super().__init__(ManualClock(), self._answer_one)
        self.catalogue = CATALOGUE
        self.states = list(states)
        self.actions: list[str] = []

    def _answer_one(self, address: str, request: RemotingCommand) -> RemotingCommand:
        if request.code == RequestCode.GET_BROKER_CLUSTER_INFO:
            data = BrokerData("c", "n-1", {0: "10.0.0.1:10921"})
            return RemotingCommand.response(0, body=ClusterInfo({"n-1": data}).encode(), request=request)
        self.actions.append(request.ext_fields["action"])
        if request.code == RequestCode.ADD_BROKER:
            assert request.ext_fields["configPath"] == "n-2"
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        return RemotingCommand.response(0, body=json.dumps(state).encode(), request=request)

    def wait(self, seconds: float) -> None:
        self.clock.advance(round(seconds * 1000))
        super().wait(seconds)


def state(name: str, **report: Any) -> dict[str, Any]:
    whole = {"obstacles": [], "left": [], "messages": 0, "waits": "", "isDone": False, **report}
    return {"state": name, "cluster": "c", "broker": "n-1", "folder": "/f", "report": whole}


def test_removal_waits_until_the_broker_is_removed() -> None:
    begun = {"state": "draining", "cluster": "c", "broker": "n-1", "folder": "/f"}
    tool = Changing(begun, state("draining", left=LEFT, messages=3), state("stopping"), state("removed"))
    assert tool.run("broker remove n-1") == 0
    assert tool.actions == ["drain"] * 4 and tool.waited == [2.0] * 3
    assert tool.out.splitlines()[1].split() == ["n-1", "removed", "0", "/f"]


def test_removal_ends_with_what_is_left_after_its_timeout() -> None:
    tool = Changing(state("draining", left=LEFT, messages=3))
    assert tool.run("broker remove n-1 --wait 5") == 1
    assert "after 5 s n-1 is draining, 3 messages left (3 not consumed T G)" in tool.err
    assert "--force" in tool.err and "--cancel" in tool.err
    assert sum(tool.waited) == 6


def test_forced_removal_needs_a_confirmation_for_what_is_left() -> None:
    draining = state("draining", left=LEFT, messages=3)
    tool = Changing(draining)
    assert tool.run("broker remove n-1 --force") == 2
    assert tool.actions == ["drain"] and "3 not consumed T G" in tool.err
    tool = Changing(draining, state("stopping", messages=3), state("removed", messages=3))
    assert tool.run("broker remove n-1 --force --yes") == 0
    assert tool.actions == ["drain", "force", "force"]
    assert tool.out.splitlines()[1].split() == ["n-1", "removed", "3", "/f"]


def test_removal_is_cancelled_and_refusals_are_errors() -> None:
    tool = Changing(state("cancelled"))
    assert tool.run("broker remove n-1 --cancel") == 0 and tool.actions == ["cancel"]
    tool = Changing(state("refused", obstacles=["static topic T"]))
    assert tool.run("broker remove n-1") == 1 and "n-1 is refused: static topic T" in tool.err
    assert Changing(state("removed")).run("broker remove n-1 --cancel --force") == 2
    tool = Changing(state("removed"))
    assert tool.run("broker remove n-9") == 1 and "knows no broker n-9; it knows n-1" in tool.err
    assert Changing(state("removed")).run("broker remove n-1 --dry-run") == 0


def added(name: str, **details: str) -> dict[str, Any]:
    return {"state": name, "cluster": "c", "broker": "n-2", "folder": "/f", "address": "", **details}


def test_addition_waits_until_the_broker_serves_clients() -> None:
    tool = Changing(added("copying"), added("starting"), added("up", address="10.0.0.1:10931"))
    assert tool.run("broker add n-2 --json") == 0
    (row,) = json.loads(tool.out)["rows"]
    assert row == {"brokerName": "n-2", "state": "up", "address": "10.0.0.1:10931", "folder": "/f"}
    assert tool.actions == ["start"] * 3 and tool.waited == [2.0] * 2
    tool = Changing(added("up"))
    assert tool.run("broker add n-2 --serve-left") == 0 and tool.actions == ["serveLeft"]


def test_addition_that_fails_or_takes_too_long_is_an_error() -> None:
    tool = Changing(added("copying"), added("failed", why="port 10931 is in use"))
    assert tool.run("broker add n-2") == 1 and "n-2 is not added: port 10931 is in use" in tool.err
    tool = Changing(added("starting", progress="recovering, 7%"))
    assert tool.run("broker add n-2 --wait 5") == 1
    assert "after 5 s n-2 is starting: recovering, 7%; the name server continues" in tool.err
    tool = Changing(added("up"))
    assert tool.run("broker add n-2 --dry-run") == 0 and tool.actions == []
    assert tool.run("broker add") == 2
