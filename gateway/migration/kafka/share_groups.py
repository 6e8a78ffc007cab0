"""Share groups and the offsets at which they start in partitions.

The outcomes of single records after a start offset cannot be read from a cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from mqgateway.gateway.kafka.codec.messages.alter_share_group_offsets_request import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from mqgateway.gateway.kafka.codec.messages.describe_share_group_offsets_request import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from mqgateway.gateway.migration.kafka.cluster import KafkaCluster, Partition, by_topic
from mqgateway.gateway.migration.kafka.connection import check

SHARE = "share"
"""Type of a share group."""


class ShareOffset(NamedTuple):
    """The first offset without an outcome, and the number of records that wait, -1 for an unknown one."""

    start: int
    lag: int


def share_offsets(cluster: KafkaCluster, group: str) -> dict[Partition, ShareOffset]:
    """Return the partitions of a share group that have a start offset. Raises `ClientError`."""
    request = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup(group, None)])
    [found] = cluster.ask_at(cluster.coordinator(group), request).groups
    check(found.error_code, f"offsets of {group}", found.error_message)
    return {
        Partition(topic.topic_name, one.partition_index): ShareOffset(one.start_offset, one.lag)
        for topic in found.topics
        for one in topic.partitions
        if not one.error_code and one.start_offset >= 0
    }


def set_share_offsets(cluster: KafkaCluster, group: str, starts: Mapping[Partition, int]) -> None:
    """Set start offsets of a share group without members, which is made if it does not exist.

    Raises `KafkaError` if it has members, `ClientError`.
    """
    topics = [
        AlterShareGroupOffsetsRequestTopic(
            name, [AlterShareGroupOffsetsRequestPartition(index, start) for index, start in partitions]
        )
        for name, partitions in by_topic(starts).items()
    ]
    request = AlterShareGroupOffsetsRequest(group, topics)
    answer = cluster.ask_at(cluster.coordinator(group), request)
    check(answer.error_code, f"offsets of {group}", answer.error_message)
    for topic in answer.responses:
        for one in topic.partitions:
            check(one.error_code, f"offset of {group} for {topic.topic_name}-{one.partition_index}")
