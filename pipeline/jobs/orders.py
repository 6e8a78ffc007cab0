"""An example to begin with: orders a minute and shop, with a watermark, to Parquet and back to a topic.

An order is a JSON body: `{"shop": "north", "amount": 12.5, "time": "2026-11-21T10:00:00Z"}`. What cannot be
read goes to the topic of rejects, if one is named, in transactions. A batch that is repeated overwrites its
own files and sends messages with the same `SPARK_ID`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mqgateway.pipeline.jobs.progress import Notify, follow, to_stderr
from mqgateway.pipeline.jobs.report import Report
from mqgateway.pipeline.options import of_servers

ORDER = "shop string, amount double, time timestamp"
WATERMARK = "10 minutes"
WINDOW = "1 minute"


def parsed_orders(frame: Any) -> Any:
    """Return the orders in messages; `shop` is null where a body is none."""
    from pyspark.sql import functions as f

    order = f.from_json(f.col("body").cast("string"), ORDER)
    return frame.withColumn("order", order).select("body", "topic", "order.*")


def per_minute(orders: Any) -> Any:
    """Orders and revenue by minute and shop."""
    from pyspark.sql import functions as f

    good = orders.where("shop is not null and amount is not null and time is not null")
    counted = (
        good.withWatermark("time", WATERMARK)
        .groupBy(f.window("time", WINDOW), "shop")
        .agg(f.count("*").alias("orders"), f.sum("amount").alias("revenue"))
    )
    return counted.select(f.col("window.start").alias("minute"), "shop", "orders", "revenue")


def count_orders(
    session: Any,
    options: Mapping[str, str],
    target: str,
    result_topic: str,
    *,
    rejects_topic: str | None = None,
    trigger_seconds: float | None = None,
    notify: Notify = to_stderr,
) -> Report:
    """Run it on what there is now, or on and on with `trigger_seconds`; `options` are the source's."""
    from pyspark.sql import functions as f

    given = {"startingOffsets": "earliest", **options}
    sink = of_servers(given)
    orders = parsed_orders(session.readStream.format("rocketmq").options(**given).load())

    def write(batch: Any, number: int) -> None:
        batch = batch.persist()
        batch.write.mode("overwrite").parquet(f"{target}/batch={number}")
        body = f.to_json(f.struct("minute", "shop", "orders", "revenue"))
        rows = batch.select(body.alias("body"), f.col("shop").alias("keys"))
        rows.write.format("rocketmq").options(
            topic=result_topic, idempotenceKey=f"orders/{number}", **sink
        ).mode("append").save()
        batch.unpersist()

    trigger: dict[str, Any] = (
        {"availableNow": True}
        if trigger_seconds is None
        else {"processingTime": f"{trigger_seconds} seconds"}
    )
    stats = (
        per_minute(orders)
        .writeStream.foreachBatch(write)
        .option("checkpointLocation", f"{target.rstrip('/')}/_checkpoint")
        .trigger(**trigger)
        .start()
    )
    if rejects_topic:
        rejects = orders.where("shop is null or amount is null or time is null").select("body")
        other = (
            rejects.writeStream.format("rocketmq")
            .options(topic=rejects_topic, transactional="true", **sink)
            .option("checkpointLocation", f"{target.rstrip('/')}/_rejects")
            .trigger(**trigger)
            .start()
        )
        if trigger_seconds is None:
            other.awaitTermination()
    report = follow(stats, "orders", notify)
    report.details = {"target": target, "resultTopic": result_topic}
    return report
