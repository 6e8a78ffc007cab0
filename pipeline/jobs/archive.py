"""Topics to Parquet: partitioned by topic and day of storing, exactly once, going on where it stopped.

Spark's file sink writes down which files belong to which batch (`_spark_metadata`); readers that honour it,
as Spark does, see every message once, whenever the job was killed. The checkpoint lies beside the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mqgateway.pipeline import columns
from mqgateway.pipeline.jobs.progress import Tell, follow, to_stderr
from mqgateway.pipeline.jobs.report import Report

COLUMNS = (*columns.SOURCE, "tags", "keys", "messageId")
CHECKPOINT = "_checkpoint"
DAY = "day"


def start_archive(
    session: Any,
    options: Mapping[str, str],
    target: str,
    *,
    checkpoint: str | None = None,
    trigger_seconds: float | None = None,
) -> Any:
    """Begin; the streaming query. `options` are the source's. Without `trigger_seconds` it ends when it has
    read what there is now."""
    from pyspark.sql import functions

    given = {"startingOffsets": "earliest", "includeColumns": ",".join(COLUMNS), **options}
    frame = session.readStream.format("rocketmq").options(**given).load()
    frame = frame.withColumn(DAY, functions.to_date("storeTimestamp"))
    writer = (
        frame.writeStream.format("parquet")
        .partitionBy("topic", DAY)
        .option("path", target)
        .option("checkpointLocation", checkpoint or f"{target.rstrip('/')}/{CHECKPOINT}")
    )
    if trigger_seconds is None:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=f"{trigger_seconds} seconds").start()


def archive(
    session: Any,
    options: Mapping[str, str],
    target: str,
    *,
    checkpoint: str | None = None,
    trigger_seconds: float | None = None,
    tell: Tell = to_stderr,
) -> Report:
    """The same, waiting for its end."""
    query = start_archive(session, options, target, checkpoint=checkpoint, trigger_seconds=trigger_seconds)
    report = follow(query, "archive", tell)
    report.details = {"target": target, "topic": options.get("topic") or options.get("topicPattern", "")}
    return report
