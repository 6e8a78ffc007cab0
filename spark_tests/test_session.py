"""Sessions made in any way find the formats with any `python3`; errors start with their own sentence."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from compat_tests.support.processes import free_ports
from mqgateway.pipeline.errors import PipelineError
from mqgateway.pipeline.spark import PUSH_DOWN, check_interpreter, register, session
from spark_tests.broker import Broker

PROGRAM = """
import sys
from mqgateway.pipeline import spark as mqgateway_spark
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
assert spark.sparkContext.pythonExec == "python3"
mqgateway_spark.register(spark)
given = {"nameServer": sys.argv[1], "topic": sys.argv[2], "pushDownFilters": "true"}
frame = spark.read.format("rocketmq").options(**given).load()
print("rows", frame.where("queueOffset < 3").count())
assert mqgateway_spark.session().sparkContext is spark.sparkContext
"""
AWAY_SECONDS = 40
"""Above the time limit for servers that never answered, on a busy machine; below that for others."""


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of a user without settings, whose `python3` cannot load any module."""
    python = folder / "python3"
    python.write_text("#!/bin/sh\necho this python3 has nothing >&2\nexit 1\n")
    python.chmod(0o755)
    mine = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK", "SPARK"))}
    return {**mine, "PATH": f"{folder}{os.pathsep}{mine['PATH']}"}


def test_a_session_made_elsewhere(broker: Broker, tmp_path: Path) -> None:
    """The session starts with the wrong interpreter, and uses the right one from then on."""
    topic = broker.topic("elsewhere", 1)
    broker.send(topic, [f"{number}" for number in range(5)])
    command = [sys.executable, "-c", PROGRAM, broker.namesrv, topic]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, env=environment(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["rows", "3"]


def test_an_interpreter_that_cannot_load_the_formats_is_refused(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment(tmp_path)
    before = spark.sparkContext.pythonExec
    for python, cause in (
        (tmp_path / "python3", "this python3 has nothing"),
        (tmp_path / "no", "No such file"),
    ):
        monkeypatch.setenv("PYSPARK_PYTHON", str(python))
        with pytest.raises(PipelineError, match=f"{cause}.*or set it to {sys.executable}"):
            register(spark)
    check_interpreter(sys.executable)
    assert spark.sparkContext.pythonExec == before


def test_it_is_the_session_there_is(spark: SparkSession) -> None:
    assert session(settings={"spark.test": "1"}).sparkContext is spark.sparkContext
    assert spark.conf.get(PUSH_DOWN) == "true"


def to_send(spark: SparkSession) -> DataFrame:
    return spark.range(10).select(f.col("id").cast("string").alias("body"))


def read(spark: SparkSession, given: dict[str, str]) -> None:
    spark.read.format("rocketmq").options(**given).load().count()


def write(spark: SparkSession, given: dict[str, str]) -> None:
    to_send(spark).write.format("rocketmq").options(**given).mode("append").save()


def stream(spark: SparkSession, given: dict[str, str]) -> None:
    frame = spark.readStream.format("rocketmq").options(**given).load()
    query = frame.writeStream.format("noop").trigger(availableNow=True).start()
    try:
        query.awaitTermination(300)
    finally:
        query.stop()


def first_line(act: Callable[[SparkSession, dict[str, str]], None], spark: SparkSession, **given: str) -> str:
    """Return the first line of the error of an action."""
    with pytest.raises(Exception) as caught:
        act(spark, given)
    lines = str(caught.value).splitlines()
    return lines[1] if lines[0] == "An exception was thrown from the Python worker:" else lines[0]


@pytest.mark.parametrize("act", [read, write, stream])
def test_a_server_that_is_away(spark: SparkSession, act: Callable[..., None]) -> None:
    """All options have their default values."""
    begin = time.monotonic()
    said = first_line(act, spark, nameServer=f"127.0.0.1:{free_ports()}", topic="t")
    assert "no name server answers" in said and "correct the option nameServer" in said
    assert time.monotonic() - begin < AWAY_SECONDS


@pytest.mark.parametrize("act", [read, write, stream])
def test_a_wrong_option(spark: SparkSession, broker: Broker, act: Callable[..., None]) -> None:
    assert "did you mean useTLS?" in first_line(
        act, spark, nameServer=broker.namesrv, topic="t", useTsl="true"
    )


@pytest.mark.parametrize("act", [read, stream])
def test_unknown_topic(spark: SparkSession, broker: Broker, act: Callable[..., None]) -> None:
    given = {"nameServer": broker.namesrv, "topic": "nowhere", "startingOffsets": "earliest"}
    assert "no broker has the topic nowhere" in first_line(act, spark, **given)


@pytest.mark.parametrize("act", [read, stream])
def test_a_broker_that_knows_no_sql(spark: SparkSession, broker: Broker, act: Callable[..., None]) -> None:
    topic = broker.topic("sql", 1)
    broker.send(topic, ["a"])
    given = {"nameServer": broker.namesrv, "topic": topic, "startingOffsets": "earliest"}
    said = first_line(act, spark, subExpression="a > 1", expressionType="SQL92", **given)
    assert "set enablePropertyFilter=true in its broker.conf" in said


def test_filters_that_are_not_to_be_pushed_down(spark: SparkSession, broker: Broker) -> None:
    """The error names the setting that was turned off; that line is Spark's own."""
    topic = broker.topic("unpushed", 1)
    spark.conf.set(PUSH_DOWN, "false")
    try:
        with pytest.raises(Exception, match=f"'{PUSH_DOWN}' is false. Set it to true"):
            read(spark, {"nameServer": broker.namesrv, "topic": topic, "pushDownFilters": "true"})
    finally:
        spark.conf.set(PUSH_DOWN, "true")
