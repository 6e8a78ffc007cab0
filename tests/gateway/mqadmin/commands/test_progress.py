"""Progress and lag of consumer groups."""

from __future__ import annotations

import pytest

from mqgateway.gateway.client.listening import Consumed
from mqgateway.gateway.client.push import PushConsumer
from mqgateway.gateway.mqadmin.rendering import second
from tests.support.gateway.client.cluster import Cluster, messages
from tests.support.gateway.mqadmin.members import connect
from tests.support.gateway.mqadmin.tool import MemoryTool

BROKER = "10.0.0.1:10911"


def _consumed(cluster: Cluster) -> PushConsumer:
    """Return a consumer that has consumed a topic of two queues with three messages each."""
    cluster.make_topic("T", 2)
    producer = cluster.producer()
    for one in messages("T", 6):
        cluster.run(producer.send(one))
    return connect(cluster, "G", "T")[0]


def test_progress_of_a_group() -> None:
    with Cluster() as cluster:
        consumer = _consumed(cluster)
        tool = MemoryTool(cluster)
        text = tool.json("consumerProgress -g G -t T -s true")
        assert [row["queueId"] for row in text["rows"]] == [0, 1]
        assert {row["diff"] for row in text["rows"]} == {0}
        assert {row["clientIp"] for row in text["rows"]} == {"10.0.0.2"}
        cluster.kill(consumer)
        producer = cluster.producer("Other")
        cluster.run(producer.send(messages("T", 1)[0]))
        assert tool.run("consumerProgress -g G") == 0
        lines = tool.out.split("\n")
        assert lines[0].split()[:3] == ["#Topic", "#Broker", "Name"] and lines[0].endswith(
            "#Inflight           #LastTime"
        )
        at = second(text["rows"][0]["lastTimestamp"])
        rows = [line.split() for line in lines if line.startswith("T ")]
        assert sorted(row[5] for row in rows) == ["0", "1"]
        assert all(" ".join(row[7:]) == at for row in rows)
        assert "Consume Diff Total: 1" in lines and "Consume Inflight Total: 0" in lines


def test_progress_of_all_groups() -> None:
    with Cluster() as cluster:
        _consumed(cluster)
        tool = MemoryTool(cluster)
        assert tool.run("consumerProgress") == 0
        row = tool.out.split("\n")[1].split()
        assert row[:2] == ["G", "1"] and row[3:5] == ["PUSH", "CLUSTERING"] and row[6] == "0"
        assert tool.run(f"brokerConsumeStats -b {BROKER} -l 0") == 0
        rows = [line.split() for line in tool.out.split("\n") if line.startswith("T ")]
        assert [row[1:4] for row in rows] == [["G", "broker-a", "0"], ["G", "broker-a", "1"]]
        assert tool.out.endswith("\n\nDiff Total: 0\n")
        assert tool.run("statsAll -t T") == 0
        assert tool.out.split("\n")[1].split()[:3] == ["T", "G", "0"]


def test_topic_without_consumers_is_marked_or_left_out() -> None:
    with Cluster() as cluster:
        cluster.make_topic("T")
        tool = MemoryTool(cluster)
        assert tool.run("statsAll -t T") == 0 and tool.out.split("\n")[1].split()[-1] == "NO_CONSUMER"
        assert tool.run("statsAll -a -t T") == 0 and tool.out.count("\n") == 1


def test_group_that_never_consumed_is_reported() -> None:
    with Cluster() as cluster:
        tool = MemoryTool(cluster)
        assert tool.run("consumerProgress -g Nobody") == 3 and tool.out == ""
        assert "No topic route info" in tool.err
        cluster.make_topic("%RETRY%Nobody")
        assert tool.run("consumerProgress -g Nobody") == 3 and "maybe the consumer not online" in tool.err
        assert tool.json("consumerProgress")["rows"][0]["count"] == 0


@pytest.mark.parametrize(
    ("model", "code", "text"),
    [("CLUSTERING", 0, "Consume Diff Total: 0"), ("BROADCASTING", 1, "broadcast mode")],
)
def test_progress_of_a_group_without_commits(model: str, code: int, text: str) -> None:
    with Cluster() as cluster:
        cluster.make_topic("T", 2)
        cluster.make_topic("%RETRY%G", 1)
        consumer = PushConsumer(
            "G",
            cluster.around,
            lambda batch, context: Consumed.SUCCESS,
            **cluster.settings({"message_model": model}),
        )
        cluster.run(consumer.subscribe("T"))
        cluster.begin(consumer)
        cluster.settle(1.0)
        tool = MemoryTool(cluster)
        assert tool.run("consumerProgress -g G") == code
        assert text in tool.out + tool.err
