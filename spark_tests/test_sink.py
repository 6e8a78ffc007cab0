"""The sink: columns, order, repeats, failures."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from mqgateway.gateway.client import PullConsumer
from spark_tests.broker import Broker


def test_rows_become_messages(spark: SparkSession, broker: Broker) -> None:
    topic = broker.topic("rows", 2)
    frame = spark.range(500).select(
        f.concat(f.lit("m"), f.col("id")).alias("body"),
        f.lit(topic).alias("topic"),
        f.lit("T").alias("tags"),
        f.array(f.lit("k1"), f.concat(f.lit("k"), f.col("id"))).alias("keys"),
        f.create_map(f.lit("p"), f.col("id").cast("string")).alias("properties"),
        f.lit(7).alias("flag"),
    )
    frame.write.format("rocketmq").option("nameServer", broker.namesrv).mode("append").save()
    assert sorted(body for _, body in broker.bodies(topic)) == sorted(f"m{number}" for number in range(500))
    with PullConsumer("lookers", broker.namesrv) as consumer:
        [message, *_] = broker.messages(consumer, consumer.queues(topic)[0])
    number = message.body.decode()[1:]
    assert (message.tags, message.keys, message.flag) == ("T", ["k1", f"k{number}"], 7)
    assert message.properties["p"] == number


def test_read_rows_can_be_written_in_order(spark: SparkSession, broker: Broker) -> None:
    """Nine columns are read and written; each source queue goes to one queue and in order."""
    one, two = broker.topic("copy_from", 3), broker.topic("copy_to", 2)
    broker.send(one, [f"{number:03}" for number in range(90)], tags="T", keys="k")
    given = {"nameServer": broker.namesrv}
    frame = spark.read.format("rocketmq").options(topic=one, **given).load()
    frame = frame.repartition("queueId").sortWithinPartitions("queueId", "queueOffset")
    frame.write.format("rocketmq").options(topic=two, orderColumn="queueId", **given).mode("append").save()
    sent = broker.bodies(two)
    assert sorted(body for _, body in sent) == [f"{number:03}" for number in range(90)]
    for queue in (0, 1):
        bodies = [int(body) for number, body in sent if number == queue]
        for source in range(3):
            own = [body for body in bodies if body % 3 == source]
            assert own == sorted(own)


def test_readers_can_drop_duplicates_of_a_stream(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """A repeated batch has the same ids, so that readers can drop duplicates."""
    one, two = broker.topic("ids_from", 2), broker.topic("ids_to", 2)
    broker.send(one, [f"{number:03}" for number in range(60)])
    given = {"nameServer": broker.namesrv}

    def run() -> None:
        frame = spark.readStream.format("rocketmq").options(topic=one, startingOffsets="earliest", **given)
        query = (
            frame.load()
            .writeStream.format("rocketmq")
            .options(topic=two, idempotenceKey="query", **given)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination(90)

    run()
    for commit in (tmp_path / "checkpoint" / "commits").iterdir():
        commit.unlink()
    run()
    back = spark.read.format("rocketmq").options(topic=two, includeColumns="body,propertyMap", **given).load()
    numbered = back.select(back.body.cast("string").alias("body"), back.propertyMap["SPARK_ID"].alias("id"))
    assert numbered.count() == 120
    assert sorted(row.body for row in numbered.dropDuplicates(["id"]).collect()) == [
        f"{number:03}" for number in range(60)
    ]
    assert numbered.groupBy("id").agg(f.countDistinct("body").alias("n")).where("n > 1").count() == 0


def test_refusals(spark: SparkSession, broker: Broker) -> None:
    frame = spark.range(2).select(f.col("id").cast("string").alias("body"))
    writer = frame.write.format("rocketmq").option("nameServer", broker.namesrv)
    with pytest.raises(Exception, match="name a topic, or have a column topic"):
        writer.mode("append").save()
    with pytest.raises(Exception, match="messages cannot be taken back"):
        writer.option("topic", "t").mode("overwrite").save()


def test_a_failed_task_names_topic_and_cause(spark: SparkSession, broker: Broker) -> None:
    frame = spark.createDataFrame([("x" * (5 << 20),)], "body string")
    given = {"nameServer": broker.namesrv, "topic": broker.topic("large", 1), "unreachableTimeoutMs": "0"}
    with pytest.raises(
        Exception, match=r"1 rows for topic large-\d+ were not stored: a body of 5242880 bytes"
    ):
        frame.write.format("rocketmq").options(**given).mode("append").save()
