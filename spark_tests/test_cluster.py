"""Executors in processes of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from spark_tests.broker import Broker

MASTER = "local-cluster[2,1,1024]"


def test_executors_read_in_parallel(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """Two executors, which find the format as the driver does, archive four ranges of two queues."""
    topic, target = broker.topic("cluster", 2), tmp_path / "archive"
    sent = [f"{number:04}" for number in range(400)]
    broker.send(topic, sent)
    command = [sys.executable, "-m", "spark_tests.archiver", broker.namesrv, topic, str(target), MASTER]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr
    assert "400 rows" in done.stderr
    rows = spark.read.parquet(str(target)).select("body").collect()
    assert sorted(row.body.decode() for row in rows) == sent
    assert len(list(target.glob("topic=*/day=*/*.parquet"))) == 4
