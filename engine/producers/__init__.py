"""Producers of Kafka: which batches a queue has of each, and their transactions.

- `batch`: a producer's batch, as a stored record names it.
- `markers`: the control batches that end transactions.
- `state`: the rules of sequences, and the state of all idempotent producers; pure.
- `transactions`: which transactions are open in a queue, and which were aborted; pure.

`engine.store.views.producers` and `views.transactions` keep these as views of the log. Kafka:
`ProducerStateManager`.
"""
