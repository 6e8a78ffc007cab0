"""State of a cluster from its servers' answers: groups, problems, and the text that shows them."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.gateway.client.errors import NoBroker, Unreachable
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.mqadmin.cluster_status import ClusterStatus, as_text, cluster_status
from mqgateway.gateway.mqadmin.connection import Connections
from mqgateway.gateway.mqadmin.servers import Servers
from tests.support.gateway.mqadmin.answers import body, fields
from tests.support.gateway.mqadmin.tool import ScriptedTool

PEERS = "n0:k:1;n1:k:2;"


class World:
    """Cluster of servers with preset answers; a server in `gone` refuses connections."""

    def __init__(self, *, controlled: bool = True) -> None:
        self.gone: set[str] = set()
        self.leaders = {"k:1"}
        self.brokers = {"broker-a": {"0": "a:1", "2": "a:2"}}
        self.settings = "enableControllerMode=true\ncontrollerAddr=k:1;k:2\n" if controlled else ""
        self.ends = {"a:1": 900, "a:2": 400}
        self.alive, self.in_sync, self.master = {1, 2}, {1}, 1

    def answer(self, address: str, request: RemotingCommand) -> RemotingCommand:
        code = RequestCode(request.code)
        if code == RequestCode.GET_BROKER_CLUSTER_INFO:
            table = {
                name: {"brokerAddrs": addresses, "brokerName": name, "cluster": "C"}
                for name, addresses in self.brokers.items()
            }
            return body({"brokerAddrTable": table, "clusterAddrTable": {"C": sorted(table)}})
        if code == RequestCode.GET_BROKER_CONFIG:
            return RemotingCommand.response(0, body=self.settings.encode())
        if code == RequestCode.CONTROLLER_GET_METADATA_INFO:
            return fields(isLeader=str(address in self.leaders).lower(), peers=PEERS)
        if code == RequestCode.CONTROLLER_GET_SYNC_STATE_DATA:
            return body({"replicasInfoTable": {"broker-a": self.replicas()}})
        if code == RequestCode.GET_BROKER_EPOCH_CACHE:
            epochs = [{"epoch": 1, "startOffset": 0}, {"epoch": 3, "startOffset": 200}]
            return body(
                {
                    "clusterName": "C",
                    "brokerName": "broker-a",
                    "brokerId": 1,
                    "epochList": epochs,
                    "maxOffset": self.ends[address],
                }
            )
        assert code == RequestCode.GET_BROKER_HA_STATUS
        end = self.ends[address]
        if address == "a:1":
            return body({"master": True, "masterCommitLogMaxOffset": end})
        return body({"master": False, "haClientRuntimeInfo": {"maxOffset": end}})

    def replicas(self) -> Any:
        ones = {
            number: {
                "brokerName": "broker-a",
                "brokerId": number,
                "brokerAddress": f"a:{number}",
                "alive": number in self.alive,
            }
            for number in (1, 2)
        }
        return {
            "masterBrokerId": self.master or None,
            "masterAddress": f"a:{self.master}" if self.master else None,
            "masterEpoch": 3,
            "syncStateSetEpoch": 7,
            "inSyncReplicas": [one for number, one in ones.items() if number in self.in_sync],
            "notInSyncReplicas": [one for number, one in ones.items() if number not in self.in_sync],
        }

    def servers(self) -> Servers:
        tool = ScriptedTool(ManualClock(), self.answer)

        def connect(host: str, port: int, seconds: float) -> Any:
            if f"{host}:{port}" in self.gone:
                raise OSError("refused")
            return tool.connect(host, port, seconds)

        return Servers(("n:1",), Connections(connect, ManualClock()), 5.0)

    def status(self, *controllers: str, cluster: str | None = None) -> ClusterStatus:
        return cluster_status(self.servers(), controllers, cluster)


def test_group_with_a_controller_has_epochs_and_sync_states() -> None:
    status = World().status()
    assert status["controllers"] == [
        {"id": "n0", "address": "k:1", "leads": True},
        {"id": "n1", "address": "k:2", "leads": False},
    ]
    (group,) = status["groups"]
    assert (group["master"], group["masterEpoch"], group["syncStateSetEpoch"]) == ("a:1", 3, 7)
    usual = {"alive": True, "epoch": 3}
    assert group["members"] == [
        {
            "address": "a:1",
            "brokerId": 1,
            "role": "master",
            "inSync": True,
            "maxOffset": 900,
            "behind": 0,
            **usual,
        },
        {
            "address": "a:2",
            "brokerId": 2,
            "role": "slave",
            "inSync": False,
            "maxOffset": 400,
            "behind": 500,
            **usual,
        },
    ]
    assert status["problems"] == ["broker-a: 2 at a:2 is not in sync"]


def test_group_without_a_controller_has_the_state_of_its_brokers() -> None:
    status = World(controlled=False).status(cluster="C")
    assert (status["controllers"], status["problems"]) == ([], [])
    (group,) = status["groups"]
    assert (group["master"], group["masterEpoch"]) == ("a:1", None)
    assert [(one["role"], one["inSync"], one["behind"]) for one in group["members"]] == [
        ("master", None, 0),
        ("slave", None, 500),
    ]


def test_no_problems_if_all_replicas_are_in_sync() -> None:
    world = World()
    world.in_sync = {1, 2}
    assert world.status()["problems"] == []


def test_problems_of_groups_are_named() -> None:
    world = World()
    world.alive, world.master, world.in_sync = {2}, 0, {1, 2}
    world.brokers = {"broker-a": {"2": "a:2", "3": "a:3"}, "broker-b": {"2": "a:2"}}
    world.ends["a:3"] = 0
    assert world.status()["problems"] == [
        "broker-a has no master",
        "broker-a: the controller receives no heartbeats from 1 at a:1",
        "broker-a: a:3 is registered at the name servers but unknown to the controller",
        "broker-b has no master",
    ]


def test_conflicting_or_unreachable_controllers_are_named() -> None:
    world = World()
    world.leaders = {"k:1", "k:2"}
    assert "several controllers claim to be the leader: k:1, k:2" in world.status()["problems"]
    world.leaders = set()
    status = world.status("k:2")
    assert status["problems"] == ["no controller leads"]
    assert [one["address"] for one in status["controllers"]] == ["k:1", "k:2"]
    world.gone = {"k:1"}
    servers = world.servers()
    status = cluster_status(servers, ["k:1", "k:2"])
    assert [one["leads"] for one in status["controllers"]] == [None, False]
    assert [one["server"] for one in servers.errors] == ["k:1"]


def test_unreachable_broker_does_not_affect_the_others() -> None:
    world = World()
    world.gone = {"a:1"}
    servers = world.servers()
    (group,) = cluster_status(servers)["groups"]
    assert [one["maxOffset"] for one in group["members"]] == [None, 400]
    assert {one["server"] for one in servers.errors} == {"a:1"}
    world.gone = {"a:1", "a:2", "n:1"}
    with pytest.raises(Unreachable):
        world.status()
    world.gone, world.brokers = set(), {}
    with pytest.raises(NoBroker, match="no broker is registered"):
        world.status()
    with pytest.raises(NoBroker, match="no cluster D"):
        world.status(cluster="D")


def test_text_shows_controllers_groups_and_problems() -> None:
    world = World()
    world.gone = {"k:2"}
    assert "\n".join(as_text(world.status())) == (
        "controllers  n0   k:1                    leads\n"
        "             n1   k:2                    not reached\n"
        "\n"
        "C broker-a: master a:1, epoch 3, in sync since change 7\n"
        "  id   address                role    alive  in sync   epoch       max offset       behind\n"
        "  1    a:1                    master  yes    yes           3              900            0\n"
        "  2    a:2                    slave   yes    no            3              400          500\n"
        "\n"
        "problem: broker-a: 2 at a:2 is not in sync"
    )
    text = list(as_text(World(controlled=False).status()))
    assert text[1] == "C broker-a: master a:1"
    assert text[3].split() == ["0", "a:1", "master", "-", "-", "-", "900", "0"]
