"""Compaction of topics that Kafka made: for each key its newest record stays.

- `offset_map`: the newest offset of each key, in bounded memory.
- `transactions`: which batches and markers of transactions can be removed.
- `batches`: one batch without the records that newer ones replace.
- `stored_records`: the same for stored records, which hold batches or messages.
- `compacting`: how the compacted part of a queue (`store.compacted_part`) is written.
- `limits`: a topic's settings. `cleanable`: which part of a queue is compacted, and when.

None of it knows a store; `topic_compaction` compacts the queues of one. Kafka: `LogCleaner`,
`LogCleanerManager`, `Cleaner`.
"""
