"""Leader and epochs as a consumer knows them, and the check of its positions after a change of the leader.

Source: Kafka's `Metadata`, `OffsetsForLeaderEpochUtils`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from mqgateway.gateway.kafka.codec.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.sim.kafka.observations import Partition

NO_EPOCH = -1
CHANGED = frozenset(
    (
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
    )
)
"""Codes after which a client asks for the leader again."""


class LeaderKnowledge:
    """The leader's epoch for a consumer, `epoch`, and the epoch of what it has read of each partition."""

    def __init__(self, partitions: Iterable[Partition]) -> None:
        self.epoch = NO_EPOCH
        self._newest = NO_EPOCH
        self._read: dict[Partition, int] = dict.fromkeys(partitions, NO_EPOCH)
        self._checked = NO_EPOCH

    @property
    def request(self) -> MetadataRequest:
        """The request for the leader."""
        names = dict.fromkeys(partition.topic for partition in self._read)
        topics = [MetadataRequestTopic(name=name) for name in names]
        return MetadataRequest(topics, allow_auto_topic_creation=False)

    def learn(self, answer: Any) -> tuple[int, int] | None:
        """Take metadata; return epoch and leader, or None if there is none, or only an older one."""
        partitions = [one for topic in answer.topics for one in topic.partitions]
        found = {(one.leader_epoch, one.leader_id) for one in partitions if not one.error_code}
        if len(found) != 1 or any(topic.error_code for topic in answer.topics):
            return None
        [(epoch, leader)] = found
        if leader < 0 or epoch < self._newest:
            return None
        self.epoch = self._newest = epoch
        return epoch, leader

    def forget(self) -> None:
        """Ask for the leader before the next request."""
        self.epoch = NO_EPOCH

    def read(self, partition: Partition, epoch: int) -> None:
        """Note the epoch of the last batch that was read, or that a position has none."""
        self._read[partition] = epoch

    def check_request(self) -> OffsetForLeaderEpochRequest | None:
        """Return the request that checks positions in a new epoch; None if nothing is to be checked."""
        topics: dict[str, list[OffsetForLeaderPartition]] = {}
        for (topic, number), epoch in self._read.items():
            if epoch != NO_EPOCH:
                wanted = OffsetForLeaderPartition(number, self.epoch, epoch)
                topics.setdefault(topic, []).append(wanted)
        if self._checked == self.epoch or not topics:
            return None
        return OffsetForLeaderEpochRequest(
            -1, [OffsetForLeaderTopic(topic, wanted) for topic, wanted in topics.items()]
        )

    def truncated(self, answer: Any, positions: Mapping[Partition, int]) -> list[Partition] | None:
        """Return the partitions that end before a position; None if the leader has changed meanwhile."""
        found = {
            Partition(topic.topic, one.partition): one for topic in answer.topics for one in topic.partitions
        }
        if any(one.error_code for one in found.values()):
            return None
        self._checked = self.epoch
        return [partition for partition, one in found.items() if one.end_offset < positions[partition]]
