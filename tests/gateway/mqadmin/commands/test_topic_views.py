"""Views of topics: routes, offsets, clusters and allocations."""

from __future__ import annotations

from mqgateway.gateway.mqadmin.rendering import moment
from tests.support.gateway.client.cluster import Cluster, messages
from tests.support.gateway.mqadmin.tool import MemoryTool

BROKER = "10.0.0.1:10911"


def test_a_route_is_json_or_a_table() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", 2)
        tool = MemoryTool(cluster)
        assert tool.run("topicRoute -t T") == 0
        assert '\t\t\t"readQueueNums":2,\n' in tool.out and tool.out.startswith('{\n\t"brokerDatas":[')
        assert tool.run("topicRoute -t T -l") == 0
        lines = tool.out.split("\n")
        assert lines[0].split() == [
            "#ClusterName", "#BrokerName", "#BrokerAddrs", "#ReadQueue", "#WriteQueue", "#Perm",
        ]  # fmt: skip
        assert lines[1] == (
            f"{'DefaultCluster':<45} {'broker-a':<32} {'{0=' + BROKER + '}':<50} {2:<10} {2:<11} {6:<5}"
        )
        assert lines[2] == "-" * 158
        assert lines[3].split() == ["Total:", "1", "2", "2"]


def test_status_shows_the_offsets_of_queues() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", 2)
        tool = MemoryTool(cluster)
        producer = cluster.producer()
        for one in messages("T", 2):
            cluster.run(producer.send(one))
        stored = cluster.clock.millis()
        assert tool.run("topicStatus -t T") == 0
        head, first, second, *rest = tool.out.split("\n")
        assert head.split("  ")[0] == "#Broker Name"
        line = f"{'broker-a':<32}  {{:<4}}  {0:<20}  {1:<20}    {moment(stored)}"
        assert [first, second] == [line.format(0), line.format(1)]
        assert rest == ["", "Topic Put TPS: 0.0", ""]
        row = tool.json("topicStatus -t T -c TBW102")["rows"][0]
        assert row["maxOffset"] == 1 and row["lastUpdateTimestamp"] == stored


def test_topics_and_their_clusters() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T")
        tool = MemoryTool(cluster)
        assert tool.run("topicList") == 0
        assert tool.out.split("\n")[:-1] == sorted(tool.out.split("\n")[:-1]) and "\nT\n" in tool.out
        assert tool.run("topicList -c") == 0
        assert f"{'DefaultCluster':<20}  {'T':<64}  {'':<64}\n" in tool.out
        assert tool.run("topicClusterList -t T") == 0 and tool.out == "DefaultCluster\n"


def test_allocation_of_queues_is_shown() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", 3)
        tool = MemoryTool(cluster)
        assert tool.run("allocateMQ -t T -i a,b") == 0
        assert tool.out.startswith('{"result":{"a":[{"brokerName":"broker-a","queueId":0,"topic":"T"},')
        assert [len(row["queues"]) for row in tool.json("allocateMQ -t T -i a,b")["rows"]] == [2, 1]
