"""`mqgateway topic`."""

import pytest

from tests.support.gateway.client.cluster import Cluster
from tests.support.gateway.mqadmin.members import connect
from tests.support.gateway.mqadmin.tool import ResourceTool


def test_a_topic_comes_is_shown_and_goes() -> None:
    with Cluster() as cluster:
        tool = ResourceTool(cluster)
        assert tool.run("topic list") == 0
        assert tool.out == "no topics\n"
        assert tool.run("topic create Orders -c DefaultCluster -r 3 -w 3 -a +message.type=FIFO") == 0
        cluster.settle(1.0)
        tool.run("topic list")
        assert tool.out.split("\n")[1].split() == ["Orders", "FIFO", "3", "3", "RW", "broker-a"]
        tool.run("topic describe Orders")
        assert "type:        FIFO\n" in tool.out and "perm:        RW\n" in tool.out
        assert len(tool.out.split("\n\n")[1].splitlines()) == 4
        tool.run("topic route -t Orders")
        assert tool.out.splitlines()[1].split()[-3:] == ["3", "3", "6"]
        assert tool.run("topic delete Orders -c DefaultCluster") == 0
        assert tool.run("topic describe Orders") == 3
        assert tool.run("topic delete Orders -c DefaultCluster") == 3
        assert tool.err.startswith("mqgateway: error: there is no topic Orders; see")


def test_topic_describe_names_the_groups_that_consume_it() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", 1)
        connect(cluster, "G", "T")
        summary = ResourceTool(cluster).json("topic describe T")["summary"]
        assert (summary["groups"], summary["perm"], summary["readQueues"]) == (["G"], "RW", 1)


@pytest.mark.parametrize("wrong", ["-r 0", "-w 0", "-r -1", "-p 9", "-o maybe"])
def test_topic_create_rejects_a_topic_that_cannot_be_used(wrong: str) -> None:
    with Cluster() as cluster:
        tool = ResourceTool(cluster)
        assert tool.run(f"topic create T -c DefaultCluster {wrong}") == 2
        assert tool.err.startswith(f"mqgateway: error: {wrong.split()[0]} (--")
        assert tool.json("topic list")["rows"] == []


def test_system_topics_are_listed_with_all() -> None:
    with Cluster() as cluster:
        cluster.make_topic("%DLQ%G", 1)
        tool = ResourceTool(cluster)
        assert tool.json("topic list")["rows"] == []
        shown = {row["topic"] for row in tool.json("topic list --all")["rows"]}
        assert {"%DLQ%G", "TBW102", "RMQ_SYS_TRANS_HALF_TOPIC"} <= shown
