"""Traffic of a store on disk: messages and bytes by topic and time, and the lag of groups.

The log is read without a broker. The lag is the distance from a group's committed offset
(`config/consumerOffset.json`) to the last offset in the log.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mqgateway.engine.clock import Clock, SystemClock
from mqgateway.engine.disk import Disk
from mqgateway.engine.real_disk import ReadOnlyDisk
from mqgateway.engine.tables.jsonfile import load_table
from mqgateway.pipeline.files import log_folders
from mqgateway.pipeline.jobs.picture import bars
from mqgateway.pipeline.jobs.report import Report

STEPS = ("second", "minute", "hour", "day")
TOPICS_MAX = 1000
POINTS_MAX = 20_000


def committed(disk: Disk, store: str) -> dict[tuple[str, str, int], int]:
    """Return committed offsets by group, topic and queue; none without the file."""
    root = log_folders(disk, store)[0].root
    table = load_table(disk, f"{root}/config/consumerOffset.json") or {}
    found = {}
    for name, offsets in (table.get("offsetTable") or {}).items():
        topic, _, group = str(name).partition("@")
        for queue_id, offset in offsets.items():
            found[group, topic, int(queue_id)] = int(offset)
    return found


def lags(
    offsets: Mapping[tuple[str, str, int], int], ends: Mapping[tuple[str, int], int]
) -> list[dict[str, Any]]:
    """Return the lag of each group in each topic that has messages, the largest first."""
    sums: dict[tuple[str, str], int] = {}
    for (group, topic, queue_id), offset in offsets.items():
        end = ends.get((topic, queue_id))
        if end is not None:
            sums[group, topic] = sums.get((group, topic), 0) + max(0, end - offset)
    return [
        {"group": group, "topic": topic, "lag": lag}
        for (group, topic), lag in sorted(sums.items(), key=lambda one: (-one[1], one[0]))
    ]


def traffic(
    session: Any,
    store: str,
    *,
    step: str = "minute",
    picture: str | None = None,
    options: Mapping[str, str] | None = None,
    clock: Clock | None = None,
) -> Report:
    """Count the messages of a store. `picture` is the file of a drawing (SVG); `options` are the store
    reader's."""
    from pyspark.sql import functions as f

    clock = clock or SystemClock()
    begin = clock.monotonic()
    wanted = "topic,storeTimestamp,bornTimestamp,storeSize,queueId,queueOffset,corrupt"
    given = {"storeDir": store, "includeColumns": wanted, "corruptRows": "true", **(options or {})}
    frame = session.read.format("rocketmq-store").options(**given).load().persist()
    good = frame.where("corrupt is null")
    late = f.unix_millis("storeTimestamp") - f.unix_millis("bornTimestamp")
    topics = (
        good.groupBy("topic")
        .agg(
            f.count("*").alias("messages"),
            f.sum("storeSize").alias("bytes"),
            f.min("storeTimestamp").alias("first"),
            f.max("storeTimestamp").alias("last"),
            f.percentile_approx(late, 0.99).alias("arrivalMillis99"),
        )
        .orderBy(f.desc("messages"))
        .limit(TOPICS_MAX)
        .collect()
    )
    points = (
        good.groupBy(f.date_trunc(step, "storeTimestamp").alias("at"))
        .agg(f.count("*").alias("messages"), f.sum("storeSize").alias("bytes"))
        .orderBy("at")
        .limit(POINTS_MAX)
        .collect()
    )
    ends = good.groupBy("topic", "queueId").agg(f.max("queueOffset").alias("last")).collect()
    damage = frame.where("corrupt is not null").agg(f.count("*"), f.sum("storeSize")).first()
    frame.unpersist()
    by_queue = {(row["topic"], row["queueId"]): row["last"] + 1 for row in ends}
    details = {
        "store": store,
        "step": step,
        "topics": [row.asDict() for row in topics],
        "points": [[row["at"], row["messages"], row["bytes"]] for row in points],
        "lag": lags(committed(ReadOnlyDisk(), store), by_queue),
        "damagedPlaces": damage[0],
        "damagedBytes": damage[1] or 0,
    }
    if picture:
        write_picture(picture, f"Messages a {step}", points)
    rows = sum(row["messages"] for row in topics)
    return Report("traffic", rows=rows, batches=1, seconds=clock.monotonic() - begin, details=details)


def write_picture(path: str, title: str, points: list[Any]) -> None:
    """Draw messages by time into a file."""
    from mqgateway.engine.real_disk import RealDisk

    drawing = bars(title, [(str(row["at"]), row["messages"]) for row in points]).encode()
    file = RealDisk().open(path, create=True)
    try:
        file.truncate(0)
        file.write(0, drawing)
    finally:
        file.close()
