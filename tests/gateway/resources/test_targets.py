"""Brokers that resource commands query."""

from tests.support.gateway.client.cluster import Cluster
from tests.support.gateway.mqadmin.tool import ResourceTool


def test_brokers_of_all_clusters_are_asked_or_of_one() -> None:
    with Cluster() as cluster:
        cluster.add_broker("broker-b", 20911, broker_cluster_name="Other")
        cluster.make_topic("T", 1)
        cluster.make_topic("T", 2, port=20911)
        tool = ResourceTool(cluster)
        (row,) = tool.json("topic list")["rows"]
        assert (row["brokers"], row["readQueues"]) == (["broker-a", "broker-b"], 3)
        (row,) = tool.json("topic list -c Other")["rows"]
        assert (row["brokers"], row["readQueues"]) == (["broker-b"], 2)
        assert tool.run("topic list -c Typo") == 3
        assert "no cluster Typo" in tool.err
