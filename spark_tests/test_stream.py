"""Streams: limits, AvailableNow, checkpoints, topics that grow, brokers that restart."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from compat_tests.support.processes import wait_until
from spark_tests.broker import Broker

SECONDS = 90


def stream(spark: SparkSession, broker: Broker, topic: str, **options: str) -> DataFrame:
    given = {"nameServer": broker.namesrv, "topic": topic, "startingOffsets": "earliest", **options}
    return spark.readStream.format("rocketmq").options(**given).load()


def to_parquet(frame: DataFrame, folder: Path) -> Any:
    return (
        frame.writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
    )


def once(frame: DataFrame, folder: Path) -> list[dict[str, Any]]:
    """Run until all messages have been read; return the progress of the batches with rows."""
    query = to_parquet(frame, folder).trigger(availableNow=True).start()
    query.awaitTermination(SECONDS)
    progress = [json.loads(one.json) for one in query.recentProgress]
    query.stop()
    return [one for one in progress if one["numInputRows"]]


def bodies(spark: SparkSession, folder: Path) -> list[str]:
    return sorted(row.body.decode() for row in spark.read.parquet(str(folder / "out")).collect())


def numbers(first: int, last: int) -> list[str]:
    return [f"{number:04}" for number in range(first, last)]


def test_available_now_reads_everything_in_limited_batches(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    """The stock connector ends after its first batch."""
    topic = broker.topic("limited", 2)
    broker.send(topic, numbers(0, 100))
    batches = once(stream(spark, broker, topic, maxOffsetsPerTrigger="40"), tmp_path)
    assert [one["numInputRows"] for one in batches] == [40, 40, 20]
    assert bodies(spark, tmp_path) == numbers(0, 100)
    end = batches[-1]["sources"][0]["endOffset"]
    assert end == {topic: {"broker-a": {"0": 50, "1": 50}}}


def test_query_resumes_from_its_checkpoint(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """The topic may have more queues than before; the checkpoint has the stock connector's JSON."""
    topic = broker.topic("again", 2)
    broker.send(topic, numbers(0, 50))
    once(stream(spark, broker, topic), tmp_path)
    written = (tmp_path / "checkpoint" / "offsets" / "0").read_text().splitlines()[-1]
    assert json.loads(written) == {topic: {"broker-a": {"0": 25, "1": 25}}}
    broker.resize(topic, 4)
    broker.send(topic, numbers(50, 90))
    batches = once(stream(spark, broker, topic), tmp_path)
    assert sum(one["numInputRows"] for one in batches) == 40
    assert bodies(spark, tmp_path) == numbers(0, 90)
    assert not once(stream(spark, broker, topic), tmp_path)


def test_a_query_lives_through_a_new_queue_and_a_restart_of_the_broker(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    topic = broker.topic("restart", 2)
    query = to_parquet(stream(spark, broker, topic), tmp_path).trigger(processingTime="1 second").start()
    try:

        def seen(count: int) -> None:
            wait_until(lambda: len(bodies_so_far(spark, tmp_path)) >= count, SECONDS, f"{count} rows")

        broker.send(topic, numbers(0, 40))
        seen(40)
        broker.resize(topic, 4)
        broker.send(topic, numbers(40, 80))
        seen(80)
        restart = threading.Thread(target=broker.server.restart)
        restart.start()
        restart.join(SECONDS)
        broker.send(topic, numbers(80, 120))
        seen(120)
        assert query.isActive
    finally:
        query.stop()
    assert bodies(spark, tmp_path) == numbers(0, 120)


def bodies_so_far(spark: SparkSession, folder: Path) -> list[str]:
    """Return the bodies so far; none before the first batch is done."""
    return bodies(spark, folder) if (folder / "out" / "_spark_metadata" / "0").exists() else []
