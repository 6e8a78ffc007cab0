"""The jobs, from messages to files and back."""

from __future__ import annotations

import json
import time
from pathlib import Path

from pyspark.sql import SparkSession

from mqgateway.pipeline.jobs.archive import archive
from mqgateway.pipeline.jobs.orders import count_orders
from mqgateway.pipeline.jobs.replay import replay
from mqgateway.pipeline.jobs.traffic import traffic
from spark_tests.broker import Broker


def test_archive_and_replay(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """To Parquet by topic and day, on from where it stopped, and back with keys and order."""
    one, two = broker.topic("archived", 2), broker.topic("replayed", 2)
    options = {"nameServer": broker.namesrv, "topic": one}
    target, lines = str(tmp_path / "archive"), []
    broker.send(one, [f"{number:03}" for number in range(60)], tags="T", keys="k")
    first = archive(spark, options, target, notify=lines.append)
    broker.send(one, [f"{number:03}" for number in range(60, 100)], tags="T", keys="k")
    second = archive(spark, options, target, notify=lines.append)
    assert (first.rows, second.rows) == (60, 40)
    assert next(line for line in lines if line.startswith("batch")).startswith("batch 0: 60 rows in ")
    [folder] = (tmp_path / "archive").glob(f"topic={one}/day=*")
    assert folder.name == f"day={time.strftime('%Y-%m-%d', time.gmtime())}"
    assert spark.read.parquet(target).count() == 100
    report = replay(spark, target, {"nameServer": broker.namesrv, "topic": two}, from_topic=one)
    assert report.rows == 100
    sent = broker.bodies(two)
    assert sorted(body for _, body in sent) == [f"{number:03}" for number in range(100)]
    copies = spark.read.format("rocketmq").options(
        nameServer=broker.namesrv, topic=two, includeColumns="tags,keys"
    )
    assert {(row.tags, *row["keys"]) for row in copies.load().collect()} == {("T", "k")}


def test_a_replay_with_a_name_is_done_once(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """In a transaction, each queue in its order."""
    one, two = broker.topic("named", 2), broker.topic("named_again", 2)
    target, once = str(tmp_path / "archive"), {"transactional": "true", "transactionLog": f"{tmp_path}/log"}
    broker.send(one, [f"{number:03}" for number in range(60)])
    archive(spark, {"nameServer": broker.namesrv, "topic": one}, target, notify=lambda line: None)
    for _ in range(2):
        options = {"nameServer": broker.namesrv, "topic": two, "idempotenceKey": "a name", **once}
        assert replay(spark, target, options).rows == 60
        sent = broker.bodies(two)
        assert sorted(body for _, body in sent) == [f"{number:03}" for number in range(60)]
        for source in range(2):
            own = [(queue, int(body)) for queue, body in sent if int(body) % 2 == source]
            assert own == sorted(own)


def test_replay_in_time(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    one, two = broker.topic("timed", 1), broker.topic("timed_again", 1)
    for number in range(3):
        broker.send(one, [str(number)])
        time.sleep(1.0)
    target = str(tmp_path / "archive")
    archive(spark, {"nameServer": broker.namesrv, "topic": one}, target, notify=lambda line: None)

    def times(topic: str) -> list[float]:
        frame = spark.read.format("rocketmq").options(nameServer=broker.namesrv, topic=topic).load()
        return [row.storeTimestamp.timestamp() for row in frame.orderBy("queueOffset").collect()]

    report = replay(spark, target, {"nameServer": broker.namesrv, "topic": two}, speed=2.0)
    begin = int(report.details["paceAt"]) / 1000
    before, after = times(one), times(two)
    due = [begin + (at - before[0]) / 2 for at in before]
    assert all(sent >= at - 0.005 for sent, at in zip(after, due, strict=True))


def test_orders_by_minute(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """Two runs: the second one's later orders close the windows of the first. Bad ones are set aside."""
    orders, stats, bad = broker.topic("orders", 2), broker.topic("stats", 1), broker.topic("bad", 1)
    options = {"nameServer": broker.namesrv, "topic": orders}

    def order(shop: str, amount: float, minute: int) -> str:
        return json.dumps({"shop": shop, "amount": amount, "time": f"2026-11-21T10:{minute:02}:30Z"})

    def run() -> None:
        target = str(tmp_path / "stats")
        count_orders(spark, options, target, stats, rejects_topic=bad, notify=lambda line: None)

    broker.send(orders, [order("north", 2.5, 0), order("north", 4, 0), order("south", 1, 1), "no order"])
    run()
    broker.send(orders, [order("north", 1, 40)])
    run()
    found = [json.loads(body) for _, body in broker.bodies(stats)]
    counted = sorted((one["shop"], one["orders"], one["revenue"]) for one in found)
    assert counted == [("north", 2, 6.5), ("south", 1, 1.0)]
    assert [body for _, body in broker.bodies(bad)] == ["no order"]
    assert spark.read.parquet(str(tmp_path / "stats")).count() == 2


def test_traffic_and_lag_of_a_store(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    topic = broker.topic("traffic", 2)
    broker.send(topic, [f"{number:03}" for number in range(80)])
    picture = tmp_path / "traffic.svg"
    report = traffic(spark, str(broker.server.store_dir), picture=str(picture), step="hour")
    details = json.loads(report.as_json())["details"]
    [mine] = [one for one in details["topics"] if one["topic"] == topic]
    assert mine["messages"] == 80 and mine["bytes"] > 80 * 90
    assert sum(count for _, count, _ in details["points"]) == report.rows
    assert details["damagedPlaces"] == 0 and picture.read_text().startswith("<svg")
