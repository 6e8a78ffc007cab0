"""`mqgateway timer list`."""

from mqgateway.gateway.client.message import Message
from tests.support.gateway.client.cluster import Cluster
from tests.support.gateway.mqadmin.tool import ResourceTool


def test_timers_are_counted_by_topic() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", 1)
        tool = ResourceTool(cluster)
        tool.run("timer list")
        assert tool.out == "no pending timers\n"
        message = Message("T", "later")
        message.properties["TIMER_DELAY_SEC"] = "60"
        cluster.run(cluster.producer().send(message))
        cluster.settle(2.0)
        (row,) = tool.json("timer list")["rows"]
        assert (row["topic"], row["count"], row["brokers"]) == ("T", 1, ["broker-a"])
        cluster.settle(70.0)
        assert tool.json("timer list")["rows"] == []
