"""The state of share partitions, as share groups need it, and one in memory.

Offsets of share groups are no committed offsets: each partition has the offset from which records may still
be delivered, and the state of the records after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from twisted.internet.defer import Deferred

from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicPartition


class SharePartitionOffset(NamedTuple):
    """The offset from which a share partition delivers, and the number of records it has to deliver.

    `start_offset` is -1 and `lag` None while that is not known: nothing was fetched yet.
    """

    start_offset: int
    leader_epoch: int
    lag: int | None


class SharePartitionStates(Protocol):
    """The state of the share partitions of all groups. Topics are given by their ids.

    A change that is durable at once returns None. A Deferred fails with `NotWritten`.
    """

    def describe(self, group_id: str) -> Mapping[TopicPartition, SharePartitionOffset]:
        """Return the partitions of a group that have a state."""
        ...

    def alter(
        self, group_id: str, topic_id: bytes, partition: int, start_offset: int
    ) -> Deferred[None] | None:
        """Deliver from an offset on, and forget the state of all records."""
        ...

    def delete(self, group_id: str, topic_id: bytes | None) -> Deferred[None] | None:
        """Forget all partitions of a topic, or of the group if the topic is None."""
        ...

    def release(self, group_id: str, member_id: str) -> None:
        """Free the records of a member that is no longer in its group."""
        ...


class SharePartitionsInMemory:
    """States of share partitions in memory. `ends` are the offsets after the last records."""

    def __init__(self, ends: Mapping[TopicPartition, int] | None = None) -> None:
        self.ends = ends or {}
        self.starts: dict[str, dict[TopicPartition, int]] = {}

    def describe(self, group_id: str) -> Mapping[TopicPartition, SharePartitionOffset]:
        """See `SharePartitionStates`."""
        return {
            partition: SharePartitionOffset(start, 0, self.ends.get(partition, start) - start)
            for partition, start in self.starts.get(group_id, {}).items()
        }

    def alter(self, group_id: str, topic_id: bytes, partition: int, start_offset: int) -> None:
        """See `SharePartitionStates`."""
        self.starts.setdefault(group_id, {})[topic_id, partition] = start_offset

    def delete(self, group_id: str, topic_id: bytes | None) -> None:
        """See `SharePartitionStates`."""
        kept = {
            place: start
            for place, start in self.starts.pop(group_id, {}).items()
            if topic_id not in (None, place[0])
        }
        if kept:
            self.starts[group_id] = kept

    def release(self, group_id: str, member_id: str) -> None:
        """See `SharePartitionStates`."""
