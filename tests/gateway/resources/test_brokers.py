"""`mqgateway broker` and `mqgateway cluster`."""

from tests.support.gateway.client.cluster import Cluster
from tests.support.gateway.mqadmin.tool import ResourceTool


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
