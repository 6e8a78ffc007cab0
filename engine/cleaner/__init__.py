"""Compaction of topics that Kafka made: for each key its newest record stays.

- `offset_map`: the newest offset of each key, in bounded memory.
- `transactions`: which batches and markers of transactions can be removed.
- `batches`: one batch without the records that newer ones replace.
- `limits`: a topic's settings. `cleanable`: which part of a queue is compacted, and when.

All of it is pure. Kafka: `LogCleaner`, `LogCleanerManager`, `Cleaner`.
"""
