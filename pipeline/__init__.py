"""Spark and RocketMQ: a data source, an offline reader of store files, and jobs that are ready to run.

The modules, from decisions to actions; none before `sink` depends on Spark:

    errors        the pipeline's errors, each with advice; `plain` makes Spark show their text first
    options       every option; `request` the options of a query, validated as a whole
    offsets       offsets of many queues and their JSON, in the stock connector's form
    planning      from offsets to the ranges that tasks read; `pushdown` Spark's filters on them
    walk          the reading of a range, pull by pull: gaps, ends, data loss
    rows          raw rows out of stored bytes; `columns` as buffers in Arrow's layout, `arrow` as batches
    brokers       requests to servers; `query` those of a driver, `reading` the pulls of a task
    outgoing      rows as messages; `sending` the sends of a task
    verdicts      half messages to be committed, recorded in a `folder`; `halves` the sends of a task in a
                  transaction, `ending` the outcomes sent to brokers, `transactions` the driver's side
    sink, source  the format `rocketmq`: the API that Spark calls to write and to read
    files         splitting and scanning commit-log files; `store_source` the format `rocketmq-store`
    spark         a session that has the formats, and whose workers can load them
    jobs          archive, replay, orders, traffic: the jobs of `mqgateway pipeline`

Sessions made without `spark` find the formats through the packages `pyspark_rocketmq` and
`pyspark_rocketmq_store`, if their `python3` has them.
"""
