"""Groups of consumers and their committed offsets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from mqgateway.gateway.kafka.codec.messages.list_groups_request import ListGroupsRequest
from mqgateway.gateway.kafka.codec.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from mqgateway.gateway.kafka.codec.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
)
from mqgateway.gateway.migration.kafka.cluster import KafkaCluster, Partition, by_topic
from mqgateway.gateway.migration.kafka.connection import check

GROUPS_SINCE: Final = 8
"""Version of OffsetFetch that names several groups."""
OFFSET_KINDS: Final = frozenset(("", "classic", "consumer", "streams"))
"""Types of groups that commit offsets; brokers before Kafka 3.7 give none."""


class KafkaGroup(NamedTuple):
    """A group: its id, its type, and its state."""

    name: str
    kind: str
    state: str


class CommittedOffset(NamedTuple):
    """A committed offset with its metadata."""

    offset: int
    metadata: str | None


def read_groups(cluster: KafkaCluster) -> list[KafkaGroup]:
    """Return the groups of all coordinators, by id. Raises `ClientError`."""
    found: dict[str, KafkaGroup] = {}
    for address in cluster.nodes():
        answer = cluster.ask_at(address, ListGroupsRequest())
        check(answer.error_code, f"groups of {address}")
        for one in answer.groups:
            found[one.group_id] = KafkaGroup(one.group_id, one.group_type.lower(), one.group_state)
    return [found[name] for name in sorted(found)]


def committed_offsets(cluster: KafkaCluster, group: str) -> dict[Partition, CommittedOffset]:
    """Return what a group has committed, without what open transactions may change. Raises `ClientError`."""
    address = cluster.coordinator(group)
    if cluster.connection(address).version(OffsetFetchRequest.KEY) >= GROUPS_SINCE:
        request = OffsetFetchRequest(
            groups=[OffsetFetchRequestGroup(group, topics=None)], require_stable=True
        )
        [answer] = cluster.ask_at(address, request).groups
    else:
        answer = cluster.ask_at(address, OffsetFetchRequest(group, None))
    check(answer.error_code, f"offsets of {group}")
    return {
        Partition(topic.name, one.partition_index): CommittedOffset(one.committed_offset, one.metadata)
        for topic in answer.topics
        for one in topic.partitions
        if one.committed_offset >= 0 and not one.error_code
    }


def commit_offsets(cluster: KafkaCluster, group: str, offsets: Mapping[Partition, CommittedOffset]) -> None:
    """Commit offsets for a group without members. Raises `KafkaError` if it has members, `ClientError`."""
    topics = [
        OffsetCommitRequestTopic(
            name,
            partitions=[
                OffsetCommitRequestPartition(index, one.offset, -1, one.metadata) for index, one in partitions
            ],
        )
        for name, partitions in by_topic(offsets).items()
    ]
    answer = cluster.ask_at(cluster.coordinator(group), OffsetCommitRequest(group, -1, "", None, -1, topics))
    for topic in answer.topics:
        for one in topic.partitions:
            check(one.error_code, f"offset of {group} for {topic.name}-{one.partition_index}")
