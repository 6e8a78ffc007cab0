"""Transactional batches: all rows are seen when Spark commits, and each once, whatever dies meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from compat_tests.support.processes import wait_until
from mqgateway.pipeline.folder import ArrowFolder
from spark_tests.broker import Broker
from spark_tests.copier import copy
from spark_tests.test_kill import newest

SECONDS = 240
MESSAGES = 4000


def write(frame: DataFrame, broker: Broker, topic: str, folder: Path, key: str) -> None:
    given = {"nameServer": broker.namesrv, "topic": topic, "transactionLog": str(folder)}
    writer = frame.write.format("rocketmq").options(transactional="true", idempotenceKey=key, **given)
    writer.mode("append").save()


def seen(broker: Broker, topic: str) -> list[str]:
    return sorted(body for _, body in broker.bodies(topic))


def test_a_batch_is_written_whole_or_not_at_all(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """A task fails after others have sent; then all is well; then the same is done again."""
    topic, numbers = broker.topic("whole", 2), [f"{number:03}" for number in range(100)]
    frame = spark.range(0, 100, 1, 4).select(f.format_string("%03d", "id").alias("body"))
    bad = frame.select(f.when(f.col("body") != "099", f.col("body")).alias("body"))
    with pytest.raises(Exception, match="without a body"):
        write(bad, broker, topic, tmp_path, "one")
    assert seen(broker, topic) == [] and not list(tmp_path.iterdir())
    write(frame, broker, topic, tmp_path, "one")
    assert seen(broker, topic) == numbers
    write(frame, broker, topic, tmp_path, "one")
    assert seen(broker, topic) == numbers
    write(frame, broker, topic, tmp_path, "two")
    assert seen(broker, topic) == sorted(numbers * 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.0.done", "two.0.done"]


def test_an_order_is_kept(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    topic = broker.topic("ordered", 2)
    frame = spark.range(0, 200, 1, 1).select(
        f.format_string("%03d", "id").alias("body"), (f.col("id") % 3).alias("who")
    )
    given = {"nameServer": broker.namesrv, "topic": topic, "transactionLog": str(tmp_path)}
    frame.write.format("rocketmq").options(
        transactional="true", idempotenceKey="k", orderColumn="who", **given
    ).mode("append").save()
    sent = broker.bodies(topic)
    assert len(sent) == 200
    for who in range(3):
        own = [(queue, int(body)) for queue, body in sent if int(body) % 3 == who]
        assert own == sorted(own) and len({queue for queue, _ in own}) == 1


def test_a_repeated_micro_batch_is_seen_once(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """Spark forgets that it committed: it repeats the batch, and no reader learns of it."""
    one, two = broker.topic("from", 2), broker.topic("to", 2)
    numbers = [f"{number:03}" for number in range(60)]
    broker.send(one, numbers)
    checkpoint = tmp_path / "checkpoint"
    for _ in range(2):
        copy(spark, broker.namesrv, one, two, str(checkpoint)).trigger(
            availableNow=True
        ).start().awaitTermination(90)
        assert seen(broker, two) == numbers
        for commit in (checkpoint / "commits").iterdir():
            commit.unlink()
    [note] = (checkpoint / "rocketmq-transactions").iterdir()
    assert note.name.endswith(".0.done")
    rows = spark.read.format("rocketmq").options(
        nameServer=broker.namesrv, topic=two, includeColumns="propertyMap"
    )
    marks = {row.propertyMap["SPARK_TRANSACTION"] for row in rows.load().collect()}
    assert marks == {note.name.removesuffix(".0.done") + "/0"}


def kill_when(command: list[str], log: Path, is_time: Callable[[], object], what: str) -> None:
    """Start a driver and kill it with all its processes when it is time."""
    with log.open("ab") as output:
        driver = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
    try:
        wait_until(is_time, SECONDS, what, interval=0.002)
    finally:
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()


def test_every_row_is_seen_once_though_drivers_are_killed(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    """One in the middle of its tasks, one while it tells the brokers what is committed."""
    one, two = broker.topic("killed_from", 4), broker.topic("killed_to", 2)
    sent = [f"{number:05}" for number in range(MESSAGES)]
    broker.send(one, sent)
    checkpoint = tmp_path / "checkpoint"
    notes, offsets, commits = (checkpoint / name for name in ("rocketmq-transactions", "offsets", "commits"))
    command = [sys.executable, "-m", "spark_tests.copier", broker.namesrv, one, two, str(checkpoint)]
    log = tmp_path / "driver.log"
    kill_when(command, log, lambda: newest(offsets) > newest(commits) >= 0, "the driver is in a batch")
    decided = len(list(notes.glob("*.done")))
    kill_when(command, log, lambda: any(notes.glob("*.open")), "brokers are being told")
    assert decided and newest(offsets) > newest(commits)
    copy(spark, broker.namesrv, one, two, str(checkpoint)).trigger(
        availableNow=True
    ).start().awaitTermination(SECONDS)
    assert seen(broker, two) == sent
    assert not list(notes.glob("*.open"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"idempotenceKey": "k"}, "option transactionLog='': is needed for transactional"),
        ({"transactionLog": "/tmp/x"}, "option idempotenceKey='': is needed for transactional"),
        ({"transactionLog": "no:/x", "idempotenceKey": "k"}, "a URI of a file system that Arrow knows"),
    ],
)
def test_refusals(spark: SparkSession, broker: Broker, options: dict[str, str], said: str) -> None:
    frame = spark.range(2).select(f.col("id").cast("string").alias("body"))
    given = {"nameServer": broker.namesrv, "topic": "t", "transactional": "true", **options}
    with pytest.raises(Exception, match=said):
        frame.write.format("rocketmq").options(**given).mode("append").save()


@pytest.mark.parametrize("prefix", ["", "file:", "file://"])
def test_a_folder_of_files(tmp_path: Path, prefix: str) -> None:
    folder = ArrowFolder(f"{prefix}{tmp_path}/a/b")
    assert folder.names() == []
    folder.write("one", b"1")
    folder.write("two", b"")
    assert sorted(folder.names()) == ["one", "two"]
    assert (folder.read("one"), folder.read("two")) == (b"1", b"")
    (tmp_path / "a" / "b" / "three.tmp").write_bytes(b"what a crash left")
    folder.delete("one")
    assert folder.names() == ["two"]
    with pytest.raises(FileNotFoundError):
        folder.read("one")
