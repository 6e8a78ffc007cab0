"""A driver that is killed in the middle of a batch: every message is in the archive once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from compat_tests.support.processes import wait_until
from mqgateway.pipeline.jobs.archive import archive
from spark_tests.broker import Broker

KILLS = 2
MESSAGES = 6000
SECONDS = 240


def newest(folder: Path) -> int:
    """The number of the last batch that is written down there; -1 without any."""
    return max((int(path.name) for path in folder.glob("[0-9]*")), default=-1)


def kill_in_a_batch(command: list[str], checkpoint: Path, log: Path) -> int:
    """Start the driver, let it do a batch, and kill it with all its processes while it does another one."""
    begun = newest(checkpoint / "commits")
    with log.open("ab") as output:
        driver = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
    try:
        wait_until(
            lambda: newest(checkpoint / "offsets") > newest(checkpoint / "commits") > begun,
            SECONDS,
            "the driver is in a batch",
            interval=0.005,
        )
    finally:
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
    return newest(checkpoint / "offsets") - newest(checkpoint / "commits")


def test_every_message_is_archived_once(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    topic = broker.topic("killed", 4)
    sent = [f"{number:05}" for number in range(MESSAGES)]
    broker.send(topic, sent)
    target = tmp_path / "archive"
    command = [sys.executable, "-m", "spark_tests.archiver", broker.namesrv, topic, str(target)]
    open_batches = [
        kill_in_a_batch(command, target / "_checkpoint", tmp_path / "driver.log") for _ in range(KILLS)
    ]
    assert all(open_batches), "the driver was killed between batches"
    archive(spark, {"nameServer": broker.namesrv, "topic": topic}, str(target), notify=lambda line: None)
    rows = spark.read.parquet(str(target)).select("body", "queueId", "queueOffset").collect()
    assert sorted(row.body.decode() for row in rows) == sent
    assert len({(row.queueId, row.queueOffset) for row in rows}) == MESSAGES
