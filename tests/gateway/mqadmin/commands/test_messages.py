"""Messages queried by id, key or offset."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mqgateway.gateway.client.message import Message, SendResult
from mqgateway.gateway.mqadmin.commands import reading
from mqgateway.gateway.mqadmin.rendering import moment
from tests.support.gateway.client.cluster import Cluster
from tests.support.gateway.mqadmin.members import connect
from tests.support.gateway.mqadmin.tool import MemoryTool


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(reading, "BODY_FOLDER", str(tmp_path))
    yield tmp_path


def _sent(cluster: Cluster) -> SendResult:
    cluster.make_topic("T", 1)
    producer = cluster.producer()
    message = Message("T", "hello", tags="Tag", keys="key")
    return cluster.run(producer.send(message))


def test_message_is_found_by_either_id(folder: Path) -> None:
    with Cluster() as cluster:
        sent = _sent(cluster)
        tool = MemoryTool(cluster)
        assert tool.run(f"queryMsgById -t T -i {sent.offset_message_id} -f UTF-8") == 0
        lines = tool.out.split("\n")
        assert lines[:4] == [
            f"OffsetID:            {sent.offset_message_id}",
            "Topic:               T",
            "Tags:                [Tag]",
            "Keys:                [key]",
        ]
        assert f"Store Timestamp:     {moment(cluster.clock.millis())}" in lines
        assert "Message Body:        hello" in lines and lines[-2] == "WARN: No Consumer"
        assert (folder / sent.message_id).read_bytes() == b"hello"
        assert tool.run(f"queryMsgById -t T -i {sent.message_id}") == 0
        assert tool.out.startswith(lines[0])
        assert tool.run(f"queryMsgByUniqueKey -t T -i {sent.message_id}") == 0
        assert tool.out.startswith("Topic:               T\n")
        assert tool.run("queryMsgById -t T -i nothing") == 3
        assert tool.run(f"queryMsgById -t T -i {sent.message_id} -f nothing") == 2


def test_offset_id_of_an_unknown_broker_is_reported_with_its_address() -> None:
    with Cluster() as cluster:
        sent = _sent(cluster)
        tool = MemoryTool(cluster)
        stranger = "0A090909" + sent.offset_message_id[8:]
        assert tool.run(f"queryMsgById -t T -i {stranger}") == 3
        assert "names the broker 10.9.9.9:10911, which no name server knows" in tool.err


def test_message_is_found_by_key_and_by_offset() -> None:
    with Cluster() as cluster:
        sent = _sent(cluster)
        tool = MemoryTool(cluster)
        assert tool.run("queryMsgByKey -t T -k key") == 0
        head, row, _ = tool.out.split("\n")
        assert head == f"{'#Message ID':<50} {'#QID':>4} {'#Offset':>40} {'#IndexKey':<200}"
        hour = cluster.clock.millis() // 3_600_000 * 3_600_000
        place = f"{hour}@T@K@key@{sent.message_id}@0"
        assert row == f"{sent.message_id:<50} {0:>4} {0:>40} {place:<200}"
        assert tool.run("queryMsgByKey -t T -k other") == 3 and tool.out == ""
        assert tool.run("queryMsgByOffset -t T -b broker-a -i 0 -o 0") == 0
        assert "Keys:                [key]\n" in tool.out
        assert tool.run("queryMsgByOffset -t T -b broker-a -i 0 -o 9") == 3 and tool.out == ""
        assert tool.run("queryMsgByOffset -t T -b broker-z -i 0 -o 0") == 3


def test_message_has_tracks_and_is_consumed_directly_or_resent() -> None:
    with Cluster() as cluster:
        sent = _sent(cluster)
        consumer, consumed = connect(cluster, "G", "T")
        tool = MemoryTool(cluster)
        (row,) = tool.json(f"queryMsgById -t T -i {sent.message_id}")["rows"]
        assert row["tracks"] == [{"consumerGroup": "G", "trackType": "CONSUMED", "exceptionDesc": None}]
        assert tool.run(f"queryMsgById -t T -i {sent.message_id} -g G -d {consumer.client.client_id}") == 0
        assert "consumeResult=CR_SUCCESS" in tool.out and consumed == [b"hello", b"hello"]
        assert tool.run(f"queryMsgById -t T -i {sent.message_id} -s true") == 0
        assert "SendResult [sendStatus=SEND_OK" in tool.out
        assert len(cluster.stored("T")) == 2
        cluster.kill(consumer)
        (row,) = tool.json(f"queryMsgByUniqueKey -t T -i {sent.message_id}")["rows"]
        assert row["tracks"][0]["trackType"] == "NOT_ONLINE"


def test_entries_of_a_queue() -> None:
    with Cluster() as cluster:
        _sent(cluster)
        tool = MemoryTool(cluster)
        assert tool.run("queryCq -t T -q 0 -i 0") == 0
        line = "=" * 38
        assert tool.out.startswith(
            f"Queue data: \nmax: 1, min: 0\n{line}\nidx: 0\nConsumeQueueData{{physicOffset="
        )
        assert tool.run("queryCq -t Nothing -q 0 -i 0") == 3
