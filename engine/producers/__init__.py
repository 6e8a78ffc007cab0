"""Idempotent producers of Kafka: which batches a queue has of each.

- `batch`: a producer's batch, as a stored record names it.
- `state`: the rules, and the state of all producers; pure.

`engine.store.views.producers` keeps the state as a view of the log. Kafka: `ProducerStateManager`.
"""
