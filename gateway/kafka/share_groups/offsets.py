"""Start offsets of share groups, as administrators see and change them.

Standard: `GroupCoordinatorService.describeShareGroupOffsets`, `alterShareGroupOffsets`,
`deleteShareGroupOffsets`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from twisted.internet.defer import Deferred, gatherResults, succeed
from twisted.python.failure import Failure

from mqgateway.engine.steps import Steps, mapped
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.coordinator.group_table import KafkaGroupTable
from mqgateway.gateway.kafka.coordinator.group_writer import GroupWriter
from mqgateway.gateway.kafka.coordinator.rebalance import write_error
from mqgateway.gateway.kafka.coordinator.refusal import Refused
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicPartition
from mqgateway.gateway.kafka.share_groups.group import ShareGroup
from mqgateway.gateway.kafka.share_groups.partitions import SharePartitionOffset, SharePartitionStates

NOT_EMPTY = "The group is not empty."
PART: Final = 10
"""Start offsets that are set in one step."""


class ShareGroupOffsets:
    """Start offsets of the groups of one coordinator. `partitions` returns the states of their partitions."""

    def __init__(
        self,
        groups: KafkaGroupTable,
        writer: GroupWriter[ShareGroup],
        partitions: Callable[[], SharePartitionStates],
    ) -> None:
        self._groups = groups
        self._writer = writer
        self._partitions = partitions

    def describe(self, group_id: str) -> dict[TopicPartition, SharePartitionOffset | None]:
        """Return the partitions of a group, with None for those that have no state yet."""
        group = self._groups.get(group_id)
        if not isinstance(group, ShareGroup):
            return {}
        states = self._partitions().describe(group_id)
        return {
            (topic_id, index): states.get((topic_id, index))
            for topic_id, topic in group.initialized.items()
            for index in sorted(topic.partitions)
        }

    def alter(
        self, group_id: str, names: Mapping[bytes, str], offsets: Mapping[TopicPartition, int]
    ) -> Steps[Deferred[dict[TopicPartition, ErrorCode]]]:
        """Set start offsets; return the error of each partition once the changes are durable.

        `names` are the names of topics by their ids. A group that is not there is made. Raises `Refused`.
        """
        group = self._empty_group(group_id, makes=True)
        writes = yield from mapped(
            lambda place: self._alter(group_id, place, offsets[place]), tuple(offsets), PART
        )
        done = gatherResults(writes).addCallback(lambda codes: dict(zip(offsets, codes, strict=True)))
        return done.addCallback(lambda errors: self._altered(group, names, errors))

    def _alter(self, group_id: str, place: TopicPartition, offset: int) -> Deferred[ErrorCode]:
        return _outcome(self._partitions().alter(group_id, *place, offset))

    def _altered(
        self, group: ShareGroup, names: Mapping[bytes, str], errors: dict[TopicPartition, ErrorCode]
    ) -> Deferred[dict[TopicPartition, ErrorCode]]:
        for (topic_id, index), error in errors.items():
            if not error:
                group.initialize(topic_id, names[topic_id], (index,))
        return self._written(group).addCallback(
            lambda failed: {place: error or failed for place, error in errors.items()}
        )

    def delete(self, group_id: str, topic_ids: list[bytes]) -> Deferred[dict[bytes, ErrorCode | None]]:
        """Delete the start offsets of topics; return the error of each once that is durable.

        The error is None for a topic of which the group has nothing. Raises `Refused`.
        """
        group = self._empty_group(group_id)
        known = [topic_id for topic_id in topic_ids if topic_id in group.initialized]
        writes = [_outcome(self._partitions().delete(group_id, topic_id)) for topic_id in known]
        done = gatherResults(writes).addCallback(lambda codes: dict(zip(known, codes, strict=True)))
        return done.addCallback(lambda errors: self._deleted(group, topic_ids, errors))

    def _deleted(
        self, group: ShareGroup, topic_ids: list[bytes], errors: dict[bytes, ErrorCode]
    ) -> Deferred[dict[bytes, ErrorCode | None]]:
        for topic_id, error in errors.items():
            if not error and topic_id in group.initialized:
                group.forget_topic(topic_id)
        return self._written(group).addCallback(
            lambda failed: {
                topic_id: errors[topic_id] or failed if topic_id in errors else None for topic_id in topic_ids
            }
        )

    def delete_all(self, group_id: str) -> Deferred[ErrorCode]:
        """Delete all start offsets of a group that is deleted."""
        return _outcome(self._partitions().delete(group_id, None))

    def _empty_group(self, group_id: str, *, makes: bool = False) -> ShareGroup:
        """Return a share group without members. Raises `Refused`."""
        group = self._groups.get(group_id)
        if group is None and makes:
            group = self._groups.create_share_group(group_id)
            if group is None:
                raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, "There are too many groups.")
        if not isinstance(group, ShareGroup):
            text = "not found" if group is None else "is not a share group"
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} {text}.")
        if not group.is_empty:
            raise Refused(ErrorCode.NON_EMPTY_GROUP, NOT_EMPTY)
        return group

    def _written(self, group: ShareGroup) -> Deferred[ErrorCode]:
        """Write what has changed of a group; return the error. A new group that got nothing is removed."""
        if group.is_unused and not group.unwritten:
            self._groups.discard(group.id)
            return succeed(ErrorCode.NONE)
        return _outcome(self._writer.write(group))


def _outcome(done: Deferred[None] | None) -> Deferred[ErrorCode]:
    """Return the error of a change that may be durable already."""

    def ended(result: Failure | None) -> ErrorCode:
        return write_error(result) if isinstance(result, Failure) else ErrorCode.NONE

    return succeed(ErrorCode.NONE) if done is None else done.addBoth(ended)
