"""Spark's own source and sink for Kafka while the broker is killed, on this server and on Apache Kafka."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from compat_tests.kafka.support.servers import KafkaServer
from compat_tests.kafka.support.wire import Connection, create_topic
from compat_tests.support.processes import wait_until
from spark_tests.kafka_source import copy
from spark_tests.test_kafka import PARTITIONS, SECONDS, Row, numbered, read, rows_of, write
from spark_tests.test_kill import newest

KILLS = 3
ROWS = 400
"""Rows that one batch of the sink writes."""
READ_ROWS = 20_000
SMALL_FETCHES = {"kafka.max.partition.fetch.bytes": "1024", "kafka.max.poll.records": "20"}
"""Options with which a read takes many requests, so that it is in the middle when the broker dies."""


@pytest.fixture(params=["ours", "apache"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KafkaServer]:
    """A server of its own for each test, which kills it."""
    with KafkaServer(request.param, tmp_path) as server:
        yield server


class Writer(threading.Thread):
    """Writes numbered rows with the sink, batch after batch, until it is stopped."""

    def __init__(self, spark: SparkSession, address: str, topic: str) -> None:
        super().__init__(daemon=True)
        self._spark = spark
        self._address = address
        self._topic = topic
        self._ends = threading.Event()
        self.batches = 0
        self.failures: list[Exception] = []

    def run(self) -> None:
        """Write."""
        while not self._ends.is_set():
            try:
                write(numbered(self._spark, self.batches * ROWS, ROWS), self._address, self._topic)
            except Exception as failure:
                self.failures.append(failure)
                return
            self.batches += 1

    def stop(self) -> None:
        """End after the batch that is being written."""
        self._ends.set()
        self.join(SECONDS)
        assert not self.is_alive()
        assert not self.failures


def kill_when(server: KafkaServer, is_time: Callable[[], object], what: str) -> None:
    """Kill the broker in the middle of work, and start it again."""
    wait_until(is_time, SECONDS, what, interval=0.005)
    server.kill9()
    server.start()


def size(server: KafkaServer, topic: str) -> int:
    """Return the number of rows in a topic; -1 while a broker that came back does not lead all partitions."""
    asked = [
        {"partition_index": one, "current_leader_epoch": -1, "timestamp": -1} for one in range(PARTITIONS)
    ]
    with Connection(server.address) as connection:
        answer = connection.ask(
            "ListOffsets", 5, replica_id=-1, topics=[{"name": topic, "partitions": asked}]
        )
    rows = answer["topics"][0]["partitions"]
    return -1 if any(row["error_code"] for row in rows) else sum(row["offset"] for row in rows)


def is_in_a_batch(checkpoint: Path, done: int) -> bool:
    """Return True if a stream has committed a batch after the number `done`, and works on another one."""
    return newest(checkpoint / "offsets") > newest(checkpoint / "commits") > done


def contents(frame: DataFrame) -> list[str]:
    """Return keys, values and headers of rows, sorted."""
    return sorted(map(str, frame.select("key", "value", "headers").collect()))


def test_stream_and_batches_survive_kills_of_the_broker(
    spark: SparkSession, server: KafkaServer, tmp_path: Path
) -> None:
    """Nothing is lost or written twice, no query fails, and the next query continues at the checkpoint."""
    source, target, checkpoint = "killed-source", "killed-target", tmp_path / "checkpoint"
    for topic in (source, target):
        create_topic(server.address, topic, PARTITIONS)
    stream = copy(spark, server.address, source, target, str(checkpoint))
    query = stream.trigger(processingTime="0.1 seconds").start()
    writer = Writer(spark, server.address, source)
    writer.start()
    for _ in range(KILLS):
        is_time = partial(is_in_a_batch, checkpoint, newest(checkpoint / "commits"))
        kill_when(server, is_time, "a batch is copied")
    writer.stop()
    rows = writer.batches * ROWS
    wait_until(lambda: size(server, target) >= rows or not query.isActive, SECONDS, "all is copied")
    query.processAllAvailable()  # raises if the query has failed; the last batch is in the checkpoint
    query.stop()
    assert size(server, source) == rows
    assert contents(read(spark, server.address, target)) == contents(read(spark, server.address, source))
    write(numbered(spark, rows, ROWS), server.address, source)
    server.kill9()
    server.start()
    again = copy(spark, server.address, source, target, str(checkpoint))
    assert again.trigger(availableNow=True).start().awaitTermination(SECONDS)
    assert contents(read(spark, server.address, target)) == contents(read(spark, server.address, source))
    assert size(server, target) == rows + ROWS


def test_batch_write_and_read_survive_kills_of_the_broker(spark: SparkSession, server: KafkaServer) -> None:
    topic = "killed-batch"
    create_topic(server.address, topic, PARTITIONS)
    with ThreadPoolExecutor(1) as thread:
        writes = thread.submit(write, numbered(spark, 0, READ_ROWS), server.address, topic)
        kill_when(server, lambda: size(server, topic) > 0, "rows are written")
        writes.result(SECONDS)
        reads: Future[list[Row]] = thread.submit(
            lambda: rows_of(read(spark, server.address, topic, **SMALL_FETCHES))
        )
        kill_when(server, lambda: has_tasks(spark), "rows are read")
        rows = reads.result(SECONDS)
    assert [row[:2] for row in rows] == [
        (partition, offset) for partition in range(PARTITIONS) for offset in range(READ_ROWS // PARTITIONS)
    ]
    assert rows == rows_of(read(spark, server.address, topic))
    assert sorted(row[2] for row in rows if row[2]) == [f"{n:05}" for n in range(READ_ROWS) if n % 10]


def has_tasks(spark: SparkSession) -> bool:
    """Return True if tasks of a job are running."""
    tracker = spark.sparkContext.statusTracker()
    stages = (tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds())
    return any(stage is not None and stage.numActiveTasks for stage in stages)
