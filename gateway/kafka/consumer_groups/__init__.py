"""Consumer groups of KIP-848, whose partitions the broker assigns, without sockets, timers or anything of the
broker.

- `topics`: the topics of the broker, as groups need them.
- `member`, `group`: the state of groups.
- `assignors`: which member is to have which partitions.
- `reconciliation`: how a member is led from the partitions it has to those.
- `requests`: checks of what a heartbeat says.
- `subscriptions`, `targets`: topics of groups, and computations of targets.
- `heartbeats`: requests of members, and what time does.
- `records`, `writer`: what must survive a restart, as records of Kafka's own schemas.
- `service`: all of it together.

Standard: KIP-848, `GroupMetadataManager`, `ConsumerGroup`, `CurrentAssignmentBuilder`.
"""
