"""Views: the structures that are derived from the commit log and can be rebuilt from it.

`view` is their interface. The rest of the store knows views only as a list: `dispatch` appends to each,
`recovery` loads and repeats, `truncation` truncates, `flush` writes out and syncs, `retention` deletes.
`queues` keeps the consume queues of both kinds, LMQ queues among them; `queue_start` is how these are loaded,
`new_files` makes the first files of many queues elsewhere, `index` keeps the index. `producers` keeps what
idempotent producers have stored, as a view with a `snapshot`; `transactions` keeps their transactions.
Compacted queues are the view in `engine.compaction`.
"""
