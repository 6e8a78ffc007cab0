"""Trace records of a message."""

from __future__ import annotations

from mqgateway.gateway.client.message import Message
from mqgateway.gateway.mqadmin.rendering import second
from tests.support.gateway.client.cluster import Cluster
from tests.support.gateway.mqadmin.tool import MemoryTool

AT = 1_700_000_000_000


def _record(*fields: object) -> str:
    return "\x01".join(map(str, fields)) + "\x02"


PUB = _record("Pub", AT, "r", "Producers", "T", "ID1", "Tag", "k", "h:1", 5, 12, 0, "OFF", "true", "h")
OLD = _record("Pub", AT, "r", "Old", "T", "ID1", "Tag", "k", "h:1", 5, 3, 0, "false")
BEFORE = _record("SubBefore", AT, "r", "G", "1", "ID1", 0, "k")
AFTER = _record("SubAfter", "1", "ID1", 7, "true", "k", 0, AT, "G")
OTHER = _record("SubAfter", "1", "ID2", 7, "true", "k", 0, AT, "G")
BROKEN = _record("Pub", "soon") + _record("SubAfter")


def test_trace_shows_producers_and_consumers() -> None:
    with Cluster() as cluster:
        cluster.make_topic("Traces", 1)
        producer = cluster.producer()
        body = PUB + OLD + BEFORE + AFTER + OTHER + BROKEN
        cluster.run(producer.send(Message("Traces", body, keys="ID1")))
        tool = MemoryTool(cluster)
        assert tool.run("queryMsgTraceById -i ID1 -t Traces") == 0
        widths = "{:<10} {:<20} {:<20} {:<20} {:<10} {:<10}\n"
        sent = ("#Type", "#ProducerGroup", "#ClientHost", "#SendTime", "#CostTimes", "#Status")
        read = ("#Type", "#ConsumerGroup", "#ClientHost", "#ConsumerTime", "#CostTimes", "#Status")
        at = second(AT)
        assert tool.out == (
            widths.format(*sent)
            + widths.format("Pub", "Producers", "10.0.0.2", at, "12ms", "success")
            + "\n"
            + widths.format(*sent)
            + widths.format("Pub", "Old", "10.0.0.2", at, "3ms", "failed")
            + "\n"
            + widths.format(*read)
            + widths.format("Sub", "G", "10.0.0.2", at, "7ms", "success")
            + "\n"
        )
        assert tool.run("queryMsgTraceById -i ID3 -t Traces") == 3
