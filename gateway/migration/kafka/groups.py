"""Groups of consumers and their committed offsets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
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
STABLE_SINCE: Final = 7
"""Version of OffsetFetch that tells offsets which a transaction may change."""
PENDING: Final = -2
"""Offset that a transaction is about to commit: its end is not known yet."""


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
    """Return what a group has committed: `PENDING` for what open transactions may change.

    Raises `ClientError`.
    """
    address = cluster.coordinator(group)
    version = cluster.connection(address).version(OffsetFetchRequest.KEY)
    if version >= GROUPS_SINCE:
        request = OffsetFetchRequest(
            groups=[OffsetFetchRequestGroup(group, topics=None)], require_stable=True
        )
        [answer] = cluster.ask_at(address, request).groups
    else:
        answer = cluster.ask_at(
            address, OffsetFetchRequest(group, None, require_stable=version >= STABLE_SINCE)
        )
    check(answer.error_code, f"offsets of {group}")
    found = {}
    for topic in answer.topics:
        for one in topic.partitions:
            partition = Partition(topic.name, one.partition_index)
            if one.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT:
                found[partition] = CommittedOffset(PENDING, None)
                continue
            check(one.error_code, f"offset of {group} for {partition}")
            if one.committed_offset >= 0:
                found[partition] = CommittedOffset(one.committed_offset, one.metadata)
    return found


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
