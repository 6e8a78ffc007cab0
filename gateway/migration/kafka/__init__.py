"""Migration from a running Kafka cluster (docs/decisions/0120-migration-from-kafka.md).

Topics are made at the target, records are copied, and committed offsets of groups are translated, until the
clients are moved.

- `connection`, `cluster`: a client of Kafka's protocol over blocking sockets, as in `gateway.mqadmin`.
- `security`: TLS and authentication by a properties file of Kafka's clients.
- `topics`, `reading`, `groups`, `group_settings`, `access`: what is read of a cluster, and made in another
  one.
- `records`, `offset_translation`: batches as they are copied, and their offsets at both sides; pure.
- `plan`: the files of a migration. `survey` makes the plan.
- `copying`: one pass over all partitions. `run` repeats it; `verification` compares the two clusters.
"""
