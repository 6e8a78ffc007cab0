"""Kafka's protocol as bytes and values, without sockets, time or anything of the broker.

- `reader`, `writer`: primitive types, with checks of bounds and counts.
- `schema`, `plans`: fields as Kafka's schemas declare them, and the encoder and decoder that are built from
  them for each version on first use. `messages` has a class for each message; `scripts/kafka_messages.py`
  generates them.
- `apis`, `headers`, `error_codes`: API keys and their versions, request and response headers, error codes.
- `batches`, `records`, `compression`, `snappy`, `crc32c`: record batches of format 2.
"""
