"""A share group: its members, and the partitions that they may be assigned. Standard: `ShareGroup`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from enum import Enum

from mqgateway.gateway.kafka.coordinator.assigned_group import START_EPOCH, AssignedGroup, Kind, RecordKey
from mqgateway.gateway.kafka.coordinator.member import MemberTally
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicPartition
from mqgateway.gateway.kafka.share_groups.member import ShareMember


class ShareGroupState(Enum):
    """A state of a group; the values are what Kafka calls them."""

    EMPTY = "Empty"
    STABLE = "Stable"


@dataclass(slots=True)
class InitializedTopic:
    """A topic with the partitions of which a group has a state, and which its members may be assigned."""

    name: str
    partitions: set[int]


class ShareGroup(AssignedGroup[ShareMember]):
    """One group. `initialized` are topics by their ids.

    `initialized_version` is the version of all topics when deleted ones were forgotten last.
    """

    protocol_type = "share"
    is_vacant = False
    """A share group without members is not removed: it has start offsets."""

    def __init__(self, group_id: str, tally: MemberTally) -> None:
        super().__init__(group_id, tally)
        self.initialized: dict[bytes, InitializedTopic] = {}
        self.initialized_version: bytes | None = None

    @property
    def state(self) -> ShareGroupState:
        """Its state, which follows from its members."""
        return ShareGroupState.STABLE if self.members else ShareGroupState.EMPTY

    @property
    def is_unused(self) -> bool:
        """True if it never had members or start offsets."""
        return self.is_empty and self.epoch == START_EPOCH and not self.initialized

    def move(self, member: ShareMember, epoch: int, assigned: Set[TopicPartition]) -> None:
        """Change epoch and partitions of a member."""
        previous = member.previous_epoch if epoch == member.epoch else member.epoch
        member.move(epoch, previous, assigned)
        self.mark(RecordKey(Kind.POSITION, member.id))

    def target(self, member: ShareMember) -> Set[TopicPartition]:
        """Return what a member is to have, of the topics that it subscribes to."""
        target = self.targets.get(member.id, frozenset())
        topics = self.topic_ids(member)
        return {partition for partition in target if partition[0] in topics}

    def topic_ids(self, member: ShareMember) -> Set[bytes]:
        """Return the ids of the topics that a member subscribes to."""
        return {self.topics[name].id for name in member.topics if name in self.topics}

    # Partitions

    def initialize(self, topic_id: bytes, name: str, partitions: Iterable[int]) -> None:
        """Add partitions of which the group has a state now."""
        self.initialized.setdefault(topic_id, InitializedTopic(name, set())).partitions.update(partitions)
        self.mark(RecordKey(Kind.PARTITIONS))

    def forget_topic(self, topic_id: bytes) -> None:
        """Remove a topic of which the group has no state any more."""
        del self.initialized[topic_id]
        self.mark(RecordKey(Kind.PARTITIONS))

    def assignable(self) -> Iterator[TopicPartition]:
        """Yield the partitions of subscribed topics that may be assigned, in order."""
        for topic in self.topics.values():
            known = self.initialized.get(topic.id)
            if known is not None:
                yield from (
                    (topic.id, index) for index in range(topic.partitions) if index in known.partitions
                )

    # Records

    def _record_keys(self) -> Iterator[RecordKey]:
        yield RecordKey(Kind.PARTITIONS)
        yield from super()._record_keys()

    # Offsets

    def keeps_offsets(self, topic: str) -> bool:
        """Return True if committed offsets of a topic do not expire; a share group commits none."""
        return False

    def retained_since(self, time: int) -> int:
        """Return since when an offset that was committed at a time is retained, ms."""
        return time
