"""Kafka's protocol as bytes and values, without sockets, time or anything of the broker.

- `schema`, `kinds`, `plans`: fields as Kafka's schemas declare them, and the encoder and decoder that are
  built from them for each version on first use. `messages` has a class for each message;
  `scripts/kafka_messages.py` generates them.
- `produce`, `fetch`: the same by hand for these two, with what they share in `plain`.
- `apis`, `headers`, `error_codes`: API keys and their versions, request and response headers, error codes.

Primitive types and record batches are in `engine.record_batches`.
"""
