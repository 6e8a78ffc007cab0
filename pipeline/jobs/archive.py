"""Topics to Parquet: partitioned by topic and day of storing, exactly once, resumed after an interruption.

Spark's file sink records the files of each batch (`_spark_metadata`); readers that honour it, as Spark does,
see every message once, whenever the job was killed. The checkpoint is stored beside the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mqgateway.pipeline import columns
from mqgateway.pipeline.jobs.progress import Notify, follow, to_stderr
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
    """Start the streaming query and return it. `options` are the source's. Without `trigger_seconds` it ends
    after the messages that exist now."""
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
    notify: Notify = to_stderr,
) -> Report:
    """Run the query of `start_archive` to its end and return its report."""
    query = start_archive(session, options, target, checkpoint=checkpoint, trigger_seconds=trigger_seconds)
    report = follow(query, "archive", notify)
    report.details = {"target": target, "topic": options.get("topic") or options.get("topicPattern", "")}
    return report
