"""Share partitions of KIP-932: what each group has done with the records of each partition.

- `ranges`: offsets with one state each, as a list of ranges.
- `partition`: the state of one share partition; records are acquired, acknowledged, released.
- `first_deliveries`: which records were acquired together first, which limits later deliveries.
- `spans`: the offsets of batches that were read, and those of aborted transactions among them.
- `sessions`: share sessions, one for each member.
- `settings`: settings of groups, and limits of the tables.
- `records`: what must survive a restart, as records of Kafka's own schemas.
- `table`: the share partitions of one broker, their time and their records.

No sockets, timers or anything of the broker.

Standard: KIP-932, `SharePartition`, `SharePartitionManager`, `ShareCoordinatorShard`.
"""
