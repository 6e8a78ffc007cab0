"""Offsets of consumer groups that are reset, skipped or cloned."""

from __future__ import annotations

from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import (
    QueryConsumerOffsetRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from tests.support.gateway.client.cluster import Cluster, messages
from tests.support.gateway.mqadmin.tool import MemoryTool

BROKER = "10.0.0.1:10911"


def _filled(cluster: Cluster) -> MemoryTool:
    cluster.make_topic("T", 2)
    producer = cluster.producer()
    for one in messages("T", 6):
        cluster.run(producer.send(one))
    tool = MemoryTool(cluster)
    assert tool.run(f"updateSubGroup -b {BROKER} -g G") == 0
    return tool


def _offset(cluster: Cluster, group: str, queue: int) -> str | None:
    """Return a group's next offset as a member's query gets it: a pending reset, else its commit."""
    header = QueryConsumerOffsetRequestHeader(consumer_group=group, topic="T", queue_id=queue)
    answer = cluster.meet(10911).ask(RequestCode.QUERY_CONSUMER_OFFSET, header)
    return answer.ext_fields.get("offset")


def _commit(cluster: Cluster, group: str, queue: int, offset: int) -> None:
    header = UpdateConsumerOffsetRequestHeader(
        consumer_group=group, topic="T", queue_id=queue, commit_offset=offset
    )
    assert cluster.meet(10911).ask(RequestCode.UPDATE_CONSUMER_OFFSET, header).code == 0


def test_group_is_reset_to_a_time() -> None:
    with Cluster() as cluster:
        tool = _filled(cluster)
        line = f"resetOffsetByTime -g G -t T -s {cluster.clock.millis() + 1000}"
        assert tool.run(f"{line} --dry-run") == 0
        rows = [line.split() for line in tool.out.split("\n")[2:-1]]
        assert [row[:2] + row[-2:] for row in rows] == [["broker-a", str(n), "3", "3"] for n in (0, 1)]
        assert _offset(cluster, "G", 0) == "0"
        assert tool.run(line) == 0
        assert tool.out.startswith(
            "start reset consumer offset by specified, group[G], topic[T], force[true], "
        )
        assert f"{'broker-a':<40}  {1:<40}  {3:<40}\n" in tool.out
        assert _offset(cluster, "G", 0) == _offset(cluster, "G", 1) == "3"


def test_single_queue_is_reset_to_an_offset() -> None:
    with Cluster() as cluster:
        tool = _filled(cluster)
        assert tool.run(f"resetOffsetByTime -g G -t T -s 0 -b {BROKER} -q 1 -o 2") == 0
        assert tool.out.endswith("timestamp(long)[0]\nreset consumer offset to 2\n")
        assert _offset(cluster, "G", 1) == "2"


def test_accumulated_messages_are_skipped() -> None:
    with Cluster() as cluster:
        tool = _filled(cluster)
        assert tool.run("skipAccumulatedMessage -g G -t T") == 0
        assert tool.out.startswith(f"{'#brokerName':<40}  {'#queueId':<40}  {'#offset':<40}\n")
        assert [row["offset"] for row in tool.json("skipAccumulatedMessage -g G -t T")["rows"]] == [3, 3]
        assert tool.run("skipAccumulatedMessage -g G -t Nothing") == 3


def test_offsets_are_cloned_to_another_group() -> None:
    with Cluster() as cluster:
        tool = _filled(cluster)
        cluster.make_topic("%RETRY%G")
        for queue in (0, 1):
            _commit(cluster, "G", queue, 3)
        assert tool.run("cloneGroupOffset -s G -d Copy -t T") == 3 and "Group Copy not exist" in tool.err
        assert tool.run(f"updateSubGroup -b {BROKER} -g Copy") == 0
        assert tool.run("cloneGroupOffset -s G -d Copy -t T") == 0
        assert tool.out == "clone group offset success. srcGroup[G], destGroup=[Copy], topic[T]\n"
        assert _offset(cluster, "Copy", 0) == _offset(cluster, "Copy", 1) == "3"
