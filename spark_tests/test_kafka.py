"""Spark's own source and sink for Kafka, unchanged, on topics that `format("rocketmq")` reads too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from compat_tests.kafka.support.wire import create_topic
from spark_tests.broker import Broker
from spark_tests.kafka_source import copy

SECONDS = 240
PARTITIONS = 2
COUNT = 300

Row = tuple[int, int, str | None]
"""Partition, offset and value."""


def new_topic(broker: Broker, what: str, maker: str) -> str:
    """Return a new topic, created by a client of Kafka or of RocketMQ."""
    topic = broker.topic(what, PARTITIONS) if maker == "rocketmq" else f"{what}-of-kafka"
    if maker == "kafka":
        create_topic(broker.kafka, topic, PARTITIONS)
    return topic


def numbered(spark: SparkSession, first: int, count: int) -> DataFrame:
    """Return rows for the sink, a header and a partition among them; every tenth value is null."""
    return spark.range(first, first + count, 1, 4).select(
        f.format_string("k%d", "id").alias("key"),
        f.when(f.col("id") % 10 != 0, f.format_string("%05d", "id")).alias("value"),
        f.array(
            f.struct(f.lit("n").alias("key"), f.format_string("%d", "id").cast("binary").alias("value"))
        ).alias("headers"),
        (f.col("id") % PARTITIONS).cast("int").alias("partition"),
    )


def write(frame: DataFrame, address: str, topic: str) -> None:
    """Write rows with the sink for Kafka."""
    options = {"kafka.bootstrap.servers": address, "topic": topic, "includeHeaders": "true"}
    frame.write.format("kafka").options(**options).save()


def read(spark: SparkSession, address: str, topic: str, **options: str) -> DataFrame:
    """Read a topic with the source for Kafka."""
    given = {"kafka.bootstrap.servers": address, "subscribe": topic, "includeHeaders": "true", **options}
    return spark.read.format("kafka").options(**given).load()


def rows_of(frame: DataFrame) -> list[Row]:
    """Return the rows of the source for Kafka, in order."""
    rows = frame.select("partition", "offset", f.col("value").cast("string")).collect()
    return sorted(((one[0], one[1], one[2]) for one in rows), key=lambda row: row[:2])


@pytest.mark.parametrize("maker", ["kafka", "rocketmq"])
def test_batch_writes_rows_that_both_sources_read(spark: SparkSession, broker: Broker, maker: str) -> None:
    """Keys, headers and null values come back; `format("rocketmq")` has the same offsets and bodies."""
    topic = new_topic(broker, "spark_batch", maker)
    write(numbered(spark, 0, COUNT), broker.kafka, topic)
    rows = read(spark, broker.kafka, topic).select("key", "value", "headers", "partition", "offset").collect()
    assert sorted(row.offset for row in rows if row.partition == 1) == list(range(COUNT // 2))
    numbers = sorted(int(row.key.decode()[1:]) for row in rows)
    assert numbers == list(range(COUNT))
    for row in rows:
        number = int(row.key.decode()[1:])
        assert row.partition == number % PARTITIONS
        assert row.value == (f"{number:05}".encode() if number % 10 else None)
        assert [(one.key, one.value) for one in row.headers] == [("n", str(number).encode())]
    options = {"nameServer": broker.namesrv, "topic": topic}
    columns = "queueId,queueOffset,body,keys,propertyMap"
    ours = spark.read.format("rocketmq").options(**options, includeColumns=columns).load().collect()
    by_place = {(row.partition, row.offset): row for row in rows}
    assert len(ours) == COUNT
    for message in ours:
        row = by_place[message.queueId, message.queueOffset]
        assert (bytes(message.body), message.keys) == (row.value or b"", [row.key.decode()])
        assert message.propertyMap["n"].encode() == row.headers[0].value


@pytest.mark.parametrize("maker", ["kafka", "rocketmq"])
def test_batch_reads_between_offsets_and_times(spark: SparkSession, broker: Broker, maker: str) -> None:
    """Messages of `format("rocketmq")` and rows of the sink for Kafka lie in one topic."""
    topic = new_topic(broker, "spark_ranges", maker)
    bodies = spark.range(0, 100, 1, 1).select(f.format_string("message %03d", "id").alias("body"))
    bodies.write.format("rocketmq").options(nameServer=broker.namesrv, topic=topic).mode("append").save()
    write(numbered(spark, 0, COUNT), broker.kafka, topic)
    every = rows_of(read(spark, broker.kafka, topic))
    assert len(every) == COUNT + 100
    assert sum((value or "").startswith("message") for _, _, value in every) == 100
    ranges = {0: (7, 60), 1: (100, 161)}
    starts, ends = (json.dumps({topic: {str(one): ranges[one][which] for one in ranges}}) for which in (0, 1))
    part = rows_of(read(spark, broker.kafka, topic, startingOffsets=starts, endingOffsets=ends))
    assert part == [row for row in every if ranges[row[0]][0] <= row[1] < ranges[row[0]][1]]
    stamps = read(spark, broker.kafka, topic).select(
        "partition", "offset", (f.col("timestamp").cast("double") * 1000).cast("long").alias("at")
    )
    at = {(row.partition, row.offset): row.at for row in stamps.collect()}
    middle = at[0, 60]
    since = rows_of(read(spark, broker.kafka, topic, startingTimestamp=str(middle)))
    firsts = [min(o for (p, o), stamp in at.items() if p == one and stamp >= middle) for one in (0, 1)]
    assert since == [row for row in every if row[1] >= firsts[row[0]]]


def test_stream_continues_at_its_checkpoint(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """The second run of a query reads what was written since the first, rows of both protocols."""
    source, target = new_topic(broker, "spark_stream", "kafka"), new_topic(broker, "spark_out", "kafka")
    for first in (0, COUNT):
        write(numbered(spark, first, COUNT), broker.kafka, source)
        broker.send(source, [f"message {number}" for number in range(first, first + 10)])
        query = copy(spark, broker.kafka, source, target, str(tmp_path / "checkpoint"))
        query.trigger(availableNow=True).start().awaitTermination(SECONDS)
    copied = read(spark, broker.kafka, target).select("key", "value", "headers").collect()
    original = read(spark, broker.kafka, source).select("key", "value", "headers").collect()
    assert len(copied) == 2 * COUNT + 20
    assert sorted(map(str, copied)) == sorted(map(str, original))
