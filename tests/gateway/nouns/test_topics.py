"""`mqgateway topic`."""

from tests.support.gateway.client.cluster import Cluster
from tests.support.gateway.mqadmin.tool import Nouns


def test_a_topic_comes_is_shown_and_goes() -> None:
    with Cluster() as cluster:
        tool = Nouns(cluster)
        assert tool.run("topic list") == 0
        assert tool.out == "no topics\n"
        assert tool.run("topic create Orders -c DefaultCluster -r 3 -w 3 -a +message.type=FIFO") == 0
        cluster.settle(1.0)
        tool.run("topic list")
        assert tool.out.split("\n")[1].split() == ["Orders", "FIFO", "3", "3", "RW", "broker-a"]
        tool.run("topic describe Orders")
        assert len(tool.out.splitlines()) == 4
        tool.run("topic route -t Orders")
        assert tool.out.splitlines()[1].split()[-3:] == ["3", "3", "6"]
        assert tool.run("topic delete Orders -c DefaultCluster") == 0
        assert tool.run("topic describe Orders") == 3


def test_what_belongs_to_servers_is_shown_when_asked_for() -> None:
    with Cluster() as cluster:
        cluster.make_topic("%DLQ%G", 1)
        tool = Nouns(cluster)
        assert tool.json("topic list")["rows"] == []
        shown = {row["topic"] for row in tool.json("topic list --all")["rows"]}
        assert {"%DLQ%G", "TBW102", "RMQ_SYS_TRANS_HALF_TOPIC"} <= shown
