"""`mqgateway offset clone`."""

from tests.support.gateway.client.cluster import Cluster, messages
from tests.support.gateway.mqadmin.tool import ResourceTool


def test_offsets_of_a_group_are_copied_to_another() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", 1)
        cluster.make_topic("%RETRY%G", 1)
        for one in messages("T", 3):
            cluster.run(cluster.producer().send(one))
        cluster.settle(1.0)
        tool = ResourceTool(cluster)
        for group in ("G", "Copy"):
            assert tool.run(f"group create {group} -b 10.0.0.1:10911") == 0
        assert tool.run("offset reset G T --to 2 --yes") == 0
        assert tool.run("offset show G T") == 0
        assert tool.run("offset clone G Copy -t T") == 0, tool.err
        assert [line.split() for line in tool.out.splitlines()] == [
            ["FROM", "TO", "TOPIC", "QUEUES"],
            ["G", "Copy", "T", "1"],
        ]
        assert [row["offset"] for row in tool.json("offset show Copy T")["rows"]] == [2]
