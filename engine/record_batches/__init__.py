"""Record batches of Kafka's format 2, which the log of a topic made by Kafka holds whole.

- `reader`, `writer`: primitive types of Kafka's protocol, with checks of bounds and counts.
- `batches`: the header of a batch, its checks, and batches built of records.
- `records`: records inside a batch. `walk`: all of them checked, or taken apart, at once.
- `mapping`: records as messages of RocketMQ, and messages as a batch.
- `compression`, `snappy`: what the records of a batch are compressed with.
- `crc32c`: the checksum.
- `errors`: the error that all of them raise, and its kind for one record.
"""
