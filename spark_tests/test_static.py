"""Static topics: a queue moves to another broker without effect on batches and streams."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from compat_tests.support.processes import free_ports
from compat_tests.support.raw import RawConnection
from compat_tests.support.servers import HOST, our_broker
from mqgateway.engine.static_topics.items import MappingItem
from mqgateway.engine.static_topics.mappings import TopicQueueMappingDetail
from mqgateway.gateway.codec.codes import RequestCode
from spark_tests.broker import Broker
from spark_tests.test_stream import once, stream

TOPIC, QUEUE, BLOCK = "moving", 0, 10_000
EVERYWHERE = "__syslo__global__"


class Moving:
    """A static topic with one queue, which begins on broker-a as queue 1 of that broker."""

    def __init__(self, addresses: dict[str, str]) -> None:
        self._addresses = addresses
        self._items = [MappingItem(0, 1, "broker-a", 0)]
        self._report()

    def move(self, to: str) -> None:
        """Move the queue as `mqadmin remappingStaticTopic` does."""
        last = self._items[-1]
        self._items.append(MappingItem(last.gen + 1, 1, to, last.logic_offset + BLOCK))
        self._report()

    def send(self, *bodies: str) -> None:
        """Send to the leading broker."""
        fields = {"a": "fillers", "b": TOPIC, "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1", "h": "0"}
        with RawConnection(self._addresses[self._items[-1].broker_name]) as connection:
            for body in bodies:
                answer = connection.ask(RequestCode.SEND_MESSAGE_V2, fields | {"m": "false"}, body.encode())
                assert answer is not None and answer.code == 0, answer

    def _report(self) -> None:
        for name, address in self._addresses.items():
            mapping = TopicQueueMappingDetail(TOPIC, name, 1, len(self._items))
            if any(item.broker_name == name for item in self._items):
                mapping.queues[QUEUE] = self._items
            fields = {"topic": TOPIC, "defaultTopic": "TBW102", "readQueueNums": "8", "writeQueueNums": "8"}
            fields |= {"perm": "6", "topicFilterType": "SINGLE_TAG", "order": "false"}
            body = json.dumps(mapping.to_json()).encode()
            with RawConnection(address) as connection:
                answer = connection.ask(RequestCode.UPDATE_AND_CREATE_STATIC_TOPIC, fields, body)
            assert answer is not None and answer.code == 0, answer


@pytest.fixture
def moving(broker: Broker, tmp_path: Path) -> Iterator[Moving]:
    port = free_ports((-2, 0, 1))
    other = our_broker(tmp_path / "broker-b", port, broker.namesrv, {"brokerName": "broker-b"})
    other.start()
    try:
        yield Moving({"broker-a": broker.server.broker_address, "broker-b": f"{HOST}:{port}"})
    finally:
        other.kill9()


def rows(frame: DataFrame) -> list[tuple[str, int, int, str]]:
    chosen = frame.select("brokerName", "queueId", "queueOffset", "body").orderBy("queueOffset")
    return [(row.brokerName, row.queueId, row.queueOffset, row.body.decode()) for row in chosen.collect()]


def test_a_queue_moves(spark: SparkSession, broker: Broker, moving: Moving, tmp_path: Path) -> None:
    moving.send("a0", "a1")
    first = [(EVERYWHERE, 0, 0, "a0"), (EVERYWHERE, 0, 1, "a1")]
    last = [(EVERYWHERE, 0, BLOCK, "b0"), (EVERYWHERE, 0, BLOCK + 1, "b1")]
    [batch] = once(stream(spark, broker, TOPIC), tmp_path)
    assert batch["sources"][0]["endOffset"] == {TOPIC: {EVERYWHERE: {"0": 2}}}
    moving.move("broker-b")
    moving.send("b0", "b1")
    [batch] = once(stream(spark, broker, TOPIC), tmp_path)
    assert batch["numInputRows"] == 2
    assert rows(spark.read.parquet(str(tmp_path / "out"))) == first + last
    given = {"nameServer": broker.namesrv, "topic": TOPIC, "minPartitions": "4"}
    assert rows(spark.read.format("rocketmq").options(**given).load()) == first + last
