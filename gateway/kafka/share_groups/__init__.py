"""Share groups of KIP-932, whose members share partitions, without sockets, timers or anything of the broker.

- `settings`: settings of a group.
- `partitions`: the state of share partitions, as groups need it.
- `member`, `group`: the state of groups.
- `assignor`, `targets`: which member is to have which partitions.
- `requests`: checks of what a heartbeat says.
- `initialization`: partitions that may be assigned.
- `heartbeats`: requests of members, and what time does.
- `offsets`: requests of administrators about start offsets.
- `records`: what must survive a restart, as records of Kafka's own schemas.
- `service`: all of it together.

Standard: KIP-932, `GroupMetadataManager`, `ShareGroup`, `SimpleAssignor`.
"""
