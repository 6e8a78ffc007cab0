"""`mqgateway group`."""

from tests.support.gateway.client.cluster import Cluster, messages
from tests.support.gateway.mqadmin.members import connect
from tests.support.gateway.mqadmin.tool import ResourceTool

BROKER = "10.0.0.1:10911"


def test_groups_are_listed_with_what_waits() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", 1)
        tool = ResourceTool(cluster)
        assert tool.run(f"group create G -b {BROKER}") == 0
        consumer, _ = connect(cluster, "G", "T")
        for one in messages("T", 2):
            cluster.run(cluster.producer().send(one))
        cluster.kill(consumer)
        (row,) = tool.json("group list")["rows"]
        assert (row["group"], row["topics"], row["mayConsume"]) == ("G", ["%RETRY%G", "T"], True)
        everything = {one["group"] for one in tool.json("group list -a")["rows"]}
        assert {"G", "TOOLS_CONSUMER"} <= everything
        tool.run("group describe G")
        assert "groupName:                      G\n" in tool.out
        assert tool.run(f"group delete G -b {BROKER}") == 0
        assert tool.json("group list")["rows"] == []
        assert tool.run(f"group delete G -b {BROKER}") == 3


def test_members_are_shown_wherever_they_are_connected() -> None:
    with Cluster() as cluster:
        cluster.add_broker("broker-b", 20911)
        for port in (10911, 20911):
            cluster.make_topic("T", 1, port=port)
        tool = ResourceTool(cluster)
        assert tool.run("group members G") == 3
        assert tool.err.startswith("mqgateway: error: there is no consumer group G; see")
        assert tool.run(f"group create G -b {BROKER}") == 0
        assert tool.run("group members G") == 0
        assert tool.out == "no member is connected\n"
        connect(cluster, "G", "T", "TagA")
        (row,) = tool.json("group members G")["rows"]
        assert row["brokers"] == ["broker-a", "broker-b"]
        assert row["subscribes"] == {"%RETRY%G": "*", "T": "TagA"}
        assert row["version"] == "V5_5_0"
