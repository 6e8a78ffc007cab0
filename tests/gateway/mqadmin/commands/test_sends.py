"""Sends of messages, most of them to measure their time."""

from __future__ import annotations

from tests.support.gateway.client.cluster import Cluster
from tests.support.gateway.mqadmin.tool import MemoryTool


def test_a_message_is_sent_to_a_queue() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", 2)
        tool = MemoryTool(cluster)
        assert tool.run("sendMessage -t T -b broker-a -i 1 -c Tag -k key -p", "two words") == 0
        head, row, _ = tool.out.split("\n")
        assert head == f"{'#Broker Name':<32}  {'#QID':<4}  {'#Send Result':<20}    #MsgId"
        assert row.startswith(f"{'broker-a':<32}  {1:<4}  {'SEND_OK':<20}    ")
        assert cluster.stored("T", 1) == [b"two words"]
        assert tool.run("sendMessage -t T -p again") == 0
        assert sum(map(len, (cluster.stored("T", 0), cluster.stored("T", 1)))) == 2
        assert tool.run("sendMessage -t T -p x --dry-run") == 0 and "SEND_MESSAGE_V2" in tool.out
        assert tool.run("sendMessage -t T -p x -i 1") == 2
        assert tool.run("sendMessage -t T -p x -b broker-z -i 1") == 3


def test_missing_topic_is_created_if_the_broker_allows_it() -> None:
    with Cluster(auto_create_topic_enable=True) as cluster:
        tool = MemoryTool(cluster)
        assert tool.run("sendMessage -t New -p first") == 0, tool.err
        made = cluster.broker.tables.topics.get("New")
        assert made is not None and made.write_queue_nums == 4
        assert sum(len(cluster.stored("New", number)) for number in range(4)) == 1
    with Cluster(auto_create_topic_enable=False) as cluster:
        tool = MemoryTool(cluster)
        assert tool.run("sendMessage -t New -p first") == 3
        assert tool.err.startswith("mqadmin: error: No topic route info in name server for the topic: New;")


def test_times_of_sends_are_measured() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", 2)
        tool = MemoryTool(cluster)
        assert tool.run("checkMsgSendRT -t T -a 3 -s 10") == 0
        lines = tool.out.split("\n")
        assert [line.split()[:3] for line in lines[1:4]] == [["broker-a", str(n), "true"] for n in (0, 1, 0)]
        assert lines[4].startswith("Avg RT: ")
        assert cluster.stored("T", 0) == [b"a" * 10] * 2
        assert tool.run("sendMsgStatus -b broker-a -c 2") == 0
        assert tool.out.count("SendResult=SendResult [sendStatus=SEND_OK, msgId=") == 2
        assert "messageQueue=MessageQueue [topic=broker-a, brokerName=broker-a, queueId=0]" in tool.out


def test_times_of_sends_to_a_cluster_are_measured() -> None:
    with Cluster() as cluster:
        tool = MemoryTool(cluster)
        assert tool.run("clusterRT -a 3") == 0
        assert tool.out.split("\n")[1].split()[-2:] == ["3", "0"]
        assert tool.run("clusterRT -a 2 -c DefaultCluster -p true -m here") == 0
        assert tool.out.split("|")[1:4] == ["here", "DefaultCluster", "broker-a"]
        assert tool.run("clusterRT -c Other") == 3
