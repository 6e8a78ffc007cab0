"""Spark and RocketMQ: a data source, an offline reader of store files, and jobs that are ready to run.

The way through it, from what decides to what acts; nothing before `sink` knows Spark:

    errors        what can go wrong, in words that say what to do; `plain` shows them before Spark's own
    options       every option; `request` what a query asks, judged as a whole
    offsets       offsets of many queues and their JSON, the stock connector's
    planning      from offsets to the ranges that tasks read; `pushdown` Spark's filters on them
    walk          the way through a range, pull by pull: gaps, ends, what is lost
    rows          raw rows out of stored bytes; `columns` as buffers in Arrow's layout, `arrow` as batches
    brokers       questions to servers; `query` those of a driver, `reading` what a task reads
    outgoing      rows as messages; `sending` what a task sends
    verdicts      which half messages are to be committed, noted in a `folder`; `halves` what a task of a
                  transaction sends, `ending` what brokers are told, `transactions` the driver's side
    sink, source  the format `rocketmq`: what Spark calls to write and to read
    files         splitting and scanning commit-log files; `store_source` the format `rocketmq-store`
    spark         a session that has the formats, and whose workers can load them
    jobs          archive, replay, orders, traffic; what `mqgateway pipeline` runs

Sessions made without `spark` find the formats through the packages `pyspark_rocketmq` and
`pyspark_rocketmq_store`, where their `python3` has them.
"""
