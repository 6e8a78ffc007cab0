"""Compaction of topics that Kafka made: for each key its newest record stays.

- `offset_map`: the newest offset of each key, in bounded memory.
- `transactions`: which batches and markers of transactions can be removed.
- `batches`: one batch without the records that newer ones replace.
- `stored_records`: the same for stored records, which hold batches or messages.
- `compacted_part`: the file of a queue's compacted part. `compacting`: how it is written.
- `limits`: a topic's settings. `cleanable`: which part of a queue is compacted, and when.

None of it knows a store; the broker does not use it yet. Kafka: `LogCleaner`, `LogCleanerManager`, `Cleaner`.
"""
