"""The coordinator of Kafka's transactions, without sockets, timers or anything of the broker.

- `status`: the states of a transactional id, and what its record says.
- `rules`: the transitions of a transactional id, or why there is none; pure functions.
- `records`: the status as a record of the topic `__transaction_state`, in Kafka's own schema.
- `settings`: timeouts, and limits of the tables that clients grow.
- `table`: transactional ids, and which of them have an open or a prepared transaction.
- `coordinator`: requests, time, and what survives a restart.
- `completion`: the markers of prepared transactions.

A status counts once its record is durable. Until then the id is busy, and requests about it are answered with
CONCURRENT_TRANSACTIONS. Time is a `Clock` that is passed in; the log and the writer of markers are too.
"""
