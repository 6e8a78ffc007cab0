"""Batches: schema, ranges, positions, filters, columns, and what is refused."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from mqgateway.pipeline import columns
from spark_tests.broker import Broker

CONNECTOR = (
    "struct<topic:string,flag:int,body:binary,properties:string,brokerName:string,queueId:int,"
    "queueOffset:bigint,bornTimestamp:timestamp,storeTimestamp:timestamp>"
)


def read(spark: SparkSession, broker: Broker, topic: str, **options: str) -> DataFrame:
    given = {"nameServer": broker.namesrv, "topic": topic, **options}
    return spark.read.format("rocketmq").options(**given).load()


def bodies(frame: DataFrame) -> list[str]:
    return sorted(row[0].decode() for row in frame.select("body").collect())


def test_a_topic_is_read_whole(spark: SparkSession, broker: Broker) -> None:
    """The format is found without a register call, and has the stock connector's schema."""
    topic = broker.topic("whole")
    sent = [f"m{number:04}" for number in range(500)]
    broker.send(topic, sent, tags="T", keys="k1 k2")
    frame = read(spark, broker, topic)
    assert frame.schema.simpleString() == CONNECTOR
    rows = frame.collect()
    assert sorted(row.body.decode() for row in rows) == sent
    assert frame.rdd.getNumPartitions() == 4
    row = rows[0]
    assert (row.topic, row.flag, row.brokerName) == (topic, 0, "broker-a")
    assert {"TAGS": "T", "KEYS": "k1 k2"}.items() <= json.loads(row.properties).items()
    assert abs(row.storeTimestamp.timestamp() - time.time()) < 600
    by_queue = {
        row.queueId: row for row in frame.groupBy("queueId").agg(f.max("queueOffset").alias("last")).collect()
    }
    assert [by_queue[number]["last"] for number in range(4)] == [124] * 4


def test_all_columns_can_be_had(spark: SparkSession, broker: Broker) -> None:
    topic = broker.topic("columns", 1)
    broker.send(topic, ["a", "b"], tags="T", keys="k1 k2")
    wanted = [name for name in columns.ALL if name != "corrupt"]
    row = read(spark, broker, topic, includeColumns=",".join(wanted)).orderBy("queueOffset").first()
    assert list(row.asDict()) == wanted
    assert (row.tags, row["keys"], row.propertyMap["TAGS"], row.reconsumeTimes) == ("T", ["k1", "k2"], "T", 0)
    assert row.messageId == row.propertyMap["UNIQ_KEY"]
    assert row.bornHost.startswith("127.0.0.1:")


def test_positions(spark: SparkSession, broker: Broker) -> None:
    """JSON offsets with earliest and latest, and times."""
    topic = broker.topic("positions", 2)
    broker.send(topic, [f"a{number}" for number in range(10)])
    time.sleep(0.05)
    middle = int(time.time() * 1000)
    time.sleep(0.05)
    broker.send(topic, [f"b{number}" for number in range(10)])
    start = json.dumps({topic: {"broker-a": {"0": 3, "1": -2}}})
    end = json.dumps({topic: {"broker-a": {"0": -1, "1": 1}}})
    assert read(spark, broker, topic, startingOffsets=start, endingOffsets=end).count() == 7 + 1
    after = read(spark, broker, topic, startingTimestamp=str(middle))
    assert bodies(after) == [f"b{number}" for number in range(10)]
    before = read(
        spark, broker, topic, endingTimestamp=datetime.fromtimestamp(middle / 1000, UTC).isoformat()
    )
    assert bodies(before) == [f"a{number}" for number in range(10)]
    times = json.dumps({topic: {"broker-a": {"0": middle, "1": 0}}})
    assert read(spark, broker, topic, startingOffsetsByTimestamp=times).count() == 5 + 10


def test_several_topics_and_patterns(spark: SparkSession, broker: Broker) -> None:
    one, two = broker.topic("many_a", 1), broker.topic("many_b", 1)
    broker.send(one, ["1"])
    broker.send(two, ["2"])
    assert bodies(read(spark, broker, f"{one}, {two}")) == ["1", "2"]
    given = {"nameServer": broker.namesrv, "topicPattern": "many_[ab]-.*"}
    assert bodies(spark.read.format("rocketmq").options(**given).load()) == ["1", "2"]


def test_queues_are_split_for_more_tasks(spark: SparkSession, broker: Broker) -> None:
    topic = broker.topic("split", 1)
    broker.send(topic, [f"{number:03}" for number in range(100)])
    frame = read(spark, broker, topic, minPartitions="5", pullBatchSize="7")
    assert frame.rdd.getNumPartitions() == 5
    assert bodies(frame) == [f"{number:03}" for number in range(100)]


def test_the_broker_filters_over_gaps(spark: SparkSession, broker: Broker) -> None:
    """Tags and SQL92: what fails the stock connector."""
    topic = broker.topic("tags", 1)
    for number in range(6):
        broker.send(topic, [f"{number}-{one:02}" for one in range(40)], tags="A" if number % 2 else "B")
    found = bodies(read(spark, broker, topic, subExpression="A"))
    assert found == [f"{number}-{one:02}" for number in (1, 3, 5) for one in range(40)]


def test_filters_are_pushed_down(spark: SparkSession, broker: Broker) -> None:
    topic = broker.topic("pushed", 4)
    broker.send(topic, [f"{number:03}" for number in range(100)])
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        frame = read(spark, broker, topic, pushDownFilters="true")
        narrow = frame.where("queueId = 1 and queueOffset >= 5 and queueOffset < 9")
        assert [row.queueOffset for row in narrow.orderBy("queueOffset").collect()] == [5, 6, 7, 8]
        assert narrow.rdd.getNumPartitions() == 1
        late = datetime.now(UTC).replace(year=2100)
        assert frame.where(f.col("storeTimestamp") > f.lit(late)).count() == 0
    finally:
        spark.conf.set("spark.sql.python.filterPushdown.enabled", "false")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"pullTimeout": "3"}, "did you mean pullTimeoutMs?"),
        ({"group": "g"}, "consumerGroup"),
        ({"startingOffsets": "latest"}, "a batch cannot begin at the end"),
        ({"endingOffsets": "earliest"}, "a batch cannot end at the begin"),
        ({"startingOffsets": '{"t": {"b": {"0": 1}}}'}, "name all queues of every topic"),
        ({"topic": "nowhere"}, "no broker has the topic nowhere"),
    ],
)
def test_bad_options_are_refused_with_what_would_be_right(
    spark: SparkSession, broker: Broker, options: dict[str, str], said: str
) -> None:
    topic = broker.topic("refused", 1)
    with pytest.raises(Exception, match=said.replace("?", r"\?")):
        read(spark, broker, options.pop("topic", topic), **options).count()
