"""`mqgateway config`."""

from tests.support.gateway.client.cluster import Cluster
from tests.support.gateway.mqadmin.tool import ResourceTool

A, B = "10.0.0.1:10911", "10.0.0.1:20911"


def test_two_brokers_are_compared() -> None:
    with Cluster() as cluster:
        cluster.add_broker("broker-b", 20911)
        tool = ResourceTool(cluster)
        before = {row["key"] for row in tool.json(f"config diff {A} {B}")["rows"]}
        assert "brokerName" not in before
        assert tool.run(f"config set longPollingEnable false -b {B}") == 0
        found = tool.json(f"config diff {A} {B}")["rows"]
        assert [row for row in found if row["key"] not in before] == [
            {"key": "longPollingEnable", "here": "true", "there": "false"}
        ]
        assert tool.run(f"config diff {A} {B}") == 5
        assert tool.run(f"config diff {A} {A}") == 0
        assert tool.out == "no differences\n"
        assert "brokerName" in {row["key"] for row in tool.json(f"config diff {A} {B} --all")["rows"]}
        tool.run(f"config show -b {A}")
        assert "longPollingEnable:" in tool.out


def test_a_setting_is_explained_without_asking_anybody() -> None:
    with Cluster() as cluster:
        tool = ResourceTool(cluster)
        tool.environment = {}
        (row,) = tool.json("config explain flushdisktype")["rows"]
        assert (row["key"], row["default"], row["servers"]) == ("flushDiskType", "ASYNC_FLUSH", ["broker"])
        several = tool.json("config explain listenPort")["rows"]
        assert several[0]["servers"] == ["broker", "name server", "controller"]
        keys = [row["key"] for row in tool.json("config explain flushCommit")["rows"]]
        assert len(keys) > 1
        assert all("flushcommit" in key.lower() for key in keys)
        assert tool.run("config explain noSuchThing") == 3
