"""Records of a cluster and their offsets: ListOffsets and Fetch, each sent to the leaders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from mqgateway.gateway.kafka.codec.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from mqgateway.gateway.kafka.codec.messages.fetch_response import PartitionData
from mqgateway.gateway.kafka.codec.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from mqgateway.gateway.migration.kafka.cluster import KafkaCluster, Partition, by_topic
from mqgateway.gateway.migration.kafka.connection import check

LATEST: Final = -1
EARLIEST: Final = -2
READ_COMMITTED: Final = 1
FETCH_BYTES: Final = 16 << 20
"""Bytes of an answer to Fetch."""
PARTITION_BYTES: Final = 1 << 20
WAIT_MILLIS: Final = 100
"""Time that a broker waits for records before it answers that there are none."""


def offsets(cluster: KafkaCluster, partitions: Iterable[Partition], timestamp: int) -> dict[Partition, int]:
    """Return the offsets that partitions have for a special timestamp.

    Partitions without a leader are left out. Raises `ClientError`.
    """
    found: dict[Partition, int] = {}
    for address, led in cluster.by_leader(partitions).items():
        topics = [
            ListOffsetsTopic(
                name, [ListOffsetsPartition(index, timestamp=timestamp) for index, _ in partitions_of_topic]
            )
            for name, partitions_of_topic in by_topic(dict.fromkeys(led)).items()
        ]
        answer = cluster.ask_at(address, ListOffsetsRequest(-1, 0, topics))
        for topic in answer.topics:
            for one in topic.partitions:
                check(one.error_code, f"offset of {topic.name}-{one.partition_index}")
                found[Partition(topic.name, one.partition_index)] = one.offset
    return found


def fetched(
    cluster: KafkaCluster, positions: Mapping[Partition, int], wait_millis: int = WAIT_MILLIS
) -> Iterator[tuple[Partition, PartitionData]]:
    """Yield the answers for partitions read from positions on; only committed records are read.

    Raises `ClientError`. Errors of single partitions are in the answers.
    """
    for address, led in cluster.by_leader(positions).items():
        topics = [
            FetchTopic(
                name,
                partitions=[
                    FetchPartition(index, fetch_offset=position, partition_max_bytes=PARTITION_BYTES)
                    for index, position in partitions
                ],
            )
            for name, partitions in by_topic({one: positions[one] for one in led}).items()
        ]
        request = FetchRequest(
            max_wait_ms=wait_millis,
            min_bytes=1,
            max_bytes=FETCH_BYTES,
            isolation_level=READ_COMMITTED,
            session_epoch=-1,
            topics=topics,
        )
        answer = cluster.ask_at(address, request)
        check(answer.error_code, f"reading from {address}")
        for topic in answer.responses:
            for data in topic.partitions:
                yield Partition(topic.topic, data.partition_index), data
