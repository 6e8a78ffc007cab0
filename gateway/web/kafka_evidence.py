"""Evidence about groups that a front end coordinates: their members, and partitions that members share."""

from __future__ import annotations

from collections.abc import Sequence

from mqgateway.gateway.broker.operations import CoordinatedGroup, Operations, SharedPartition
from mqgateway.gateway.doctor.evidence import ConnectedMember, ConsumedQueue, Held, QueueKey

LANGUAGE = "Kafka"
ALL = "*"


def kafka_members(group: CoordinatedGroup, broker: str) -> list[ConnectedMember]:
    """Return the members of a group with their partitions.

    Members of a Kafka group may subscribe to different topics: each is shown with the topics of all. A
    subscription that is a pattern counts by the topics of which partitions are assigned. A member of a share
    group has no partition for itself, and a group that is rebalancing has no assignment to judge.
    """
    topics = {topic for member in group.members for topic, _ in member.assigned}
    wants = dict.fromkeys(sorted(topics), ALL)
    is_judged = group.state == "Stable" and not group.shared
    return [
        ConnectedMember(
            member.client_id,
            LANGUAGE,
            wants=wants or None,
            holds={QueueKey(topic, broker, partition): Held() for topic, partition in member.assigned}
            if is_judged
            else None,
        )
        for member in group.members
    ]


def shared_queues(
    operations: Operations, topic: str, shared: Sequence[SharedPartition]
) -> list[ConsumedQueue]:
    """Return the partitions of a topic that members share, with the lag that the front end reports."""
    broker, found = operations.options.broker_name, []
    for one in shared:
        if one.topic == topic:
            least, end = operations.offsets.range(topic, one.partition)
            consumed = max(least, end - (one.lag or 0))
            found.append(ConsumedQueue(QueueKey(topic, broker, one.partition), least, end, consumed))
    return found
