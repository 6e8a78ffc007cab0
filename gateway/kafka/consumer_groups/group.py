"""A consumer group: its members, its epochs, and what each member is to have. Standard: `ConsumerGroup`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import NamedTuple

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.consumer_groups.assignors import UNIFORM
from mqgateway.gateway.kafka.consumer_groups.member import START, MemberPosition, ModernMember
from mqgateway.gateway.kafka.consumer_groups.reconciliation import MemberTarget
from mqgateway.gateway.kafka.coordinator.assigned_group import AssignedGroup, Kind, RecordKey
from mqgateway.gateway.kafka.coordinator.member import MemberTally
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicPartition


class ModernGroupState(Enum):
    """A state of a group; the values are what Kafka calls them."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


class ResolvedRegex(NamedTuple):
    """The topics that a regular expression matched, the version of all topics then, and the wall time, ms."""

    topics: frozenset[str]
    version: bytes
    time: int


class ModernGroup(AssignedGroup[ModernMember]):
    """One group."""

    protocol_type = "consumer"

    def __init__(self, group_id: str, tally: MemberTally) -> None:
        super().__init__(group_id, tally)
        self.static: dict[str, str] = {}
        self.regexes: dict[str, ResolvedRegex] = {}
        self._owners: dict[TopicPartition, str] = {}
        self._patterns: Counter[str] = Counter()

    is_vacant = AssignedGroup.is_empty

    @property
    def state(self) -> ModernGroupState:
        """Its state, which follows from epochs and members."""
        if not self.members:
            return ModernGroupState.EMPTY
        if self.epoch > self.assignment_epoch:
            return ModernGroupState.ASSIGNING
        if all(member.position.is_at(self.assignment_epoch) for member in self.members.values()):
            return ModernGroupState.STABLE
        return ModernGroupState.RECONCILING

    @property
    def assignor(self) -> str:
        """The assignor that most members prefer; the default if none names one."""
        votes = Counter(one.assignor for one in self.members.values() if one.assignor is not None)
        return votes.most_common(1)[0][0] if votes else UNIFORM

    # Members

    def put(self, member: ModernMember) -> None:
        """See `AssignedGroup`."""
        super().put(member)
        if member.instance_id is not None:
            self.static[member.instance_id] = member.id
        if member.regex:
            self._patterns[member.regex] += 1

    def _uncount(self, member: ModernMember) -> None:
        super()._uncount(member)
        if member.regex:
            self._patterns -= Counter((member.regex,))

    def remove(self, member_id: str) -> None:
        """Remove a member with its target and its partitions, and expressions that it alone had."""
        member = self.members.get(member_id)
        if member is None:
            return
        super().remove(member_id)
        if member.instance_id is not None and self.static.get(member.instance_id) == member_id:
            del self.static[member.instance_id]
        self._disown(member)
        self.forget_regexes()

    def forget_regexes(self) -> None:
        """Forget regular expressions that no member subscribes by."""
        for pattern in [one for one in self.regexes if one not in self._patterns]:
            del self.regexes[pattern]
            self.mark(RecordKey(Kind.REGEX, pattern))

    def replace(self, old: ModernMember, member: ModernMember) -> None:
        """Put a static member that came back in the place of its former self."""
        # It owns nothing: what its former self had to give up is free.
        member.position = START._replace(assigned=old.position.assigned)
        target = self.targets.get(old.id, frozenset())
        self.remove(old.id)
        self.put(member)
        self.targets[member.id] = target
        self._own(member)
        self.mark(*(RecordKey(kind, member.id) for kind in (Kind.MEMBER, Kind.TARGET, Kind.POSITION)))

    def move(self, member: ModernMember, position: MemberPosition) -> None:
        """Change epoch, state and partitions of a member."""
        self._disown(member)
        member.position = position
        self._own(member)
        self.mark(RecordKey(Kind.POSITION, member.id))

    def _own(self, member: ModernMember) -> None:
        for partition in (*member.position.assigned, *member.position.revoking):
            self._owners[partition] = member.id

    def _disown(self, member: ModernMember) -> None:
        for partition in (*member.position.assigned, *member.position.revoking):
            if self._owners.get(partition) == member.id:
                del self._owners[partition]

    def owner(self, partition: TopicPartition) -> str | None:
        """Return the member that owns a partition, None if it is free."""
        return self._owners.get(partition)

    def target(self, member_id: str) -> MemberTarget:
        """Return what a member is to have."""
        return MemberTarget(self.assignment_epoch, self.targets.get(member_id, frozenset()))

    # Records

    def _record_keys(self) -> Iterator[RecordKey]:
        yield from (RecordKey(Kind.REGEX, pattern) for pattern in self.regexes)
        yield from super()._record_keys()

    def settle(self) -> None:
        """Complete a group that was read from the log. A partition belongs to the member that got it last."""
        owners: dict[TopicPartition, tuple[int, str]] = {}
        for member in self.members.values():
            position = member.position
            for partition, epoch in (*position.assigned.items(), *position.revoking.items()):
                owners[partition] = max(owners.get(partition, (-1, "")), (epoch, member.id))
        self._owners = {partition: owner for partition, (_, owner) in owners.items()}
        for member in self.members.values():
            assigned, revoking = (
                {one: epoch for one, epoch in owned.items() if self._owners[one] == member.id}
                for owned in (member.position.assigned, member.position.revoking)
            )
            member.position = member.position._replace(assigned=assigned, revoking=revoking)
        self.unwritten.clear()

    # Subscriptions

    def subscribed_names(self, member: ModernMember) -> Iterator[str]:
        """Yield the names of topics that a member subscribes to, once or twice; some may not exist."""
        yield from member.topics
        if member.regex in self.regexes:
            yield from self.regexes[member.regex].topics

    def _topic_names(self) -> set[str]:
        return super()._topic_names().union(*(one.topics for one in self.regexes.values()))

    def subscribes_to(self, topic: str) -> bool:
        """See `AssignedGroup`."""
        return super().subscribes_to(topic) or any(topic in one.topics for one in self.regexes.values())

    @property
    def patterns(self) -> int:
        """Number of regular expressions that members subscribe by."""
        return len(self._patterns)

    def subscribes_by(self, regex: str) -> bool:
        """Return True if a member subscribes by a regular expression."""
        return regex in self._patterns

    # Offsets

    def fetch_error(self, member_id: str, epoch: int) -> ErrorCode:
        """Return why a member may not fetch offsets in an epoch."""
        member = self.members.get(member_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return ErrorCode.NONE if epoch == member.position.epoch else ErrorCode.STALE_MEMBER_EPOCH

    def commit_error(self, member_id: str, epoch: int, partitions: Iterable[TopicPartition]) -> ErrorCode:
        """Return why a member may not commit offsets of partitions in an epoch.

        In an earlier epoch it may, if it has had the partitions since then.
        """
        member = self.members.get(member_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        position = member.position
        if epoch == position.epoch:
            return ErrorCode.NONE
        since = (position.assignment_epoch(partition) for partition in partitions)
        is_current = epoch < position.epoch and all(one is not None and one <= epoch for one in since)
        return ErrorCode.NONE if is_current else ErrorCode.STALE_MEMBER_EPOCH

    def keeps_offsets(self, topic: str) -> bool:
        """Return True if offsets of a topic do not expire."""
        return self.subscribes_to(topic)

    def retained_since(self, time: int) -> int:
        """Return since when an offset that was committed at a time is retained, ms."""
        return time
