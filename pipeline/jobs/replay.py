"""Parquet back to a topic: with keys, tags and properties, in the order of each queue, and if wanted in time.

Messages that lay in one queue go to one queue, in the same order. With `speed` they are sent as far apart as
they were stored, so much faster; the broker's clock then tells a similar story. Messages are sent at least
once; each carries a number (`SPARK_ID`) that is the same when a task is repeated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mqgateway.engine.clock import Clock, SystemClock
from mqgateway.pipeline.jobs.report import Report

LEAD_MILLIS = 3_000
"""Time that the tasks are given to begin before the first message is due."""
QUEUE = "__queue"


def replay(
    session: Any,
    source: str,
    options: Mapping[str, str],
    *,
    from_topic: str | None = None,
    day: str | None = None,
    speed: float | None = None,
    clock: Clock | None = None,
) -> Report:
    """Send what lies below a folder; `options` are the sink's, `topic` among them where it is another one."""
    from pyspark.sql import functions as f

    clock = clock or SystemClock()
    begin = clock.monotonic()
    frame = session.read.parquet(source)
    if from_topic:
        frame = frame.where(f.col("topic") == from_topic)
    if day:
        frame = frame.where(f.col("day") == f.to_date(f.lit(day)))
    frame = frame.withColumn(QUEUE, f.concat_ws("/", "topic", "brokerName", "queueId"))
    [count, first] = frame.agg(f.count("*"), f.min(f.unix_millis("storeTimestamp"))).first()
    given = {"orderColumn": QUEUE, "idempotenceKey": f"replay-{clock.millis()}", **options}
    tasks = session.sparkContext.defaultParallelism
    order = ["storeTimestamp", QUEUE, "queueOffset"] if speed else [QUEUE, "queueOffset"]
    frame = frame.repartition(tasks, QUEUE).sortWithinPartitions(*order)
    details = {"source": source}
    if speed and count:
        details |= {
            "paceColumn": "storeTimestamp",
            "paceFrom": str(first),
            "paceAt": str(clock.millis() + LEAD_MILLIS),
            "paceSpeed": str(speed),
        }
        given |= {name: value for name, value in details.items() if name != "source"}
    if count:
        frame.write.format("rocketmq").options(**given).mode("append").save()
    seconds = clock.monotonic() - begin
    return Report("replay", rows=count, batches=1, seconds=seconds, details=dict(details))
