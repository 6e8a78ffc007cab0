"""The offline reader: stores of ours and of Apache's, whole, damaged, and with a broker at work."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_tests.broker import Broker


def read(spark: SparkSession, store: Path, **options: str) -> DataFrame:
    return spark.read.format("rocketmq-store").options(**options).load(str(store))


def test_a_store_is_read_while_its_broker_runs(spark: SparkSession, broker: Broker) -> None:
    topic = broker.topic("offline", 2)
    broker.send(topic, [f"{number:04}" for number in range(400)], tags="T")
    frame = read(spark, broker.server.store_dir, topic=topic, splitBytes="16k")
    rows = frame.orderBy("body").collect()
    assert frame.rdd.getNumPartitions() > 2
    assert [row.body.decode() for row in rows] == [f"{number:04}" for number in range(400)]
    assert {row.topic for row in rows} == {topic} and {row.queueId for row in rows} == {0, 1}
    assert len({row.physicalOffset for row in rows}) == 400


def test_damage_is_passed_over_and_told(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    topic = broker.topic("damaged", 1)
    broker.send(topic, [f"{number:04}" for number in range(50)])
    shutil.copytree(broker.server.store_dir / "commitlog", tmp_path / "commitlog")
    victim = read(spark, tmp_path, topic=topic).orderBy("queueOffset").collect()[20]
    with (tmp_path / "commitlog" / ("0" * 20)).open("r+b") as file:
        file.seek(victim.physicalOffset + 88)
        file.write(b"\xff")
    assert read(spark, tmp_path, topic=topic).count() == 49
    [row] = read(spark, tmp_path, topic=topic, corruptRows="true").where("corrupt is not null").collect()
    assert (row.physicalOffset, row.corrupt) == (victim.physicalOffset, "the body does not match its CRC")
    with pytest.raises(Exception, match="set the option skipCorrupt to true"):
        read(spark, tmp_path, skipCorrupt="false").count()


def test_a_store_that_apaches_broker_wrote(spark: SparkSession, tmp_path: Path) -> None:
    """Every message, each once, whether in files of many splits or one."""
    apache = Broker(tmp_path, "apache")
    try:
        topic = apache.topic("apache", 3)
        apache.send(topic, [f"{number:05}" for number in range(3000)], tags="T", keys="k")
    finally:
        apache.server.stop()
    expected = [f"{number:05}" for number in range(3000)]
    for size in ("64k", "64m"):
        rows = read(spark, apache.server.store_dir, topic=topic, splitBytes=size).orderBy("body").collect()
        assert [row.body.decode() for row in rows] == expected
    assert rows[0].brokerName == "" and '"TAGS":"T"' in rows[0].properties


def test_a_folder_without_a_log_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="there are no commit-log files"):
        read(spark, tmp_path).count()
