"""Requests about coordinators and offsets to the brokers of a cluster."""

from __future__ import annotations

from collections.abc import Sequence

from mqgateway.gateway.kafka.codec.messages.find_coordinator_request import FindCoordinatorRequest
from mqgateway.gateway.kafka.codec.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from mqgateway.gateway.kafka.codec.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tests.support.gateway.kafka.cluster import KafkaCluster

GROUP_KEYS, TRANSACTION_KEYS = 0, 1


def coordinators(
    cluster: KafkaCluster, at: str, keys: Sequence[str], kind: int = GROUP_KEYS
) -> dict[str, tuple[int, int]]:
    """Return the error and the node for each key, as a group's master answers."""
    request = FindCoordinatorRequest(key_type=kind, coordinator_keys=keys)
    found = cluster.client(at).ask(request).coordinators
    return {one.key: (one.error_code, one.node_id) for one in found}


def commit(cluster: KafkaCluster, at: str, group: str, topic: str, offset: int, partition: int = 0) -> int:
    """Commit an offset of a consumer group; return the code."""
    wanted = OffsetCommitRequestTopic(topic, partitions=[OffsetCommitRequestPartition(partition, offset)])
    answer = cluster.client(at).ask(OffsetCommitRequest(group, topics=[wanted]), 8)
    return int(answer.topics[0].partitions[0].error_code)


def committed(cluster: KafkaCluster, at: str, group: str, topic: str, partition: int = 0) -> tuple[int, int]:
    """Return the error and the committed offset of a consumer group, -1 for none."""
    wanted = OffsetFetchRequestTopics(topic, partition_indexes=(partition,))
    request = OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group, topics=[wanted])], require_stable=True
    )
    [answer] = cluster.client(at).ask(request, 9).groups
    if answer.error_code:
        return int(answer.error_code), -1
    [[one]] = [each.partitions for each in answer.topics]
    return int(one.error_code), int(one.committed_offset)
