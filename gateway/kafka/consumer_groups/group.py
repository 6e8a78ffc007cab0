"""A consumer group: its members, its epochs, and what each member is to have. Standard: `ConsumerGroup`."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from enum import Enum
from typing import NamedTuple

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.consumer_groups.assignors import UNIFORM
from mqgateway.gateway.kafka.consumer_groups.member import START, MemberPosition, ModernMember
from mqgateway.gateway.kafka.consumer_groups.reconciliation import MemberTarget
from mqgateway.gateway.kafka.consumer_groups.topics import TopicCatalog, TopicInfo, TopicPartition
from mqgateway.gateway.kafka.coordinator.member import MemberTally

INT_MAX = 2**31 - 1
START_EPOCH = 1
"""Epoch of a group without members. Epoch 0 is that of members that join."""


class ModernGroupState(Enum):
    """A state of a group; the values are what Kafka calls them."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


class Kind(Enum):
    """The subject of a record of a group."""

    GROUP = 3
    MEMBER = 5
    TARGET_EPOCH = 6
    TARGET = 7
    POSITION = 8
    REGEX = 16


class SubscriptionTooLarge(Exception):
    """Members subscribe to more topics or partitions than a group may have."""


class RecordKey(NamedTuple):
    """A record of a group: of one member or regular expression, by its name, or of the group itself."""

    kind: Kind
    name: str = ""


class ResolvedRegex(NamedTuple):
    """The topics that a regular expression matched, the version of all topics then, and the wall time, ms."""

    topics: frozenset[str]
    version: bytes
    time: int


class ModernGroup:
    """One group. `unwritten` are the records that the log lacks, or has in an older form.

    `epoch` counts changes of members, subscriptions and topics; `assignment_epoch` is that of the targets.
    `assignment_due` is the elapsed time from which targets may be computed again, ms.
    """

    protocol_type = "consumer"

    def __init__(self, group_id: str, tally: MemberTally) -> None:
        self.id = group_id
        self._tally = tally
        self.epoch = START_EPOCH
        self.assignment_epoch = START_EPOCH
        self.assigned_time = 0
        self.metadata_hash = 0
        self.members: dict[str, ModernMember] = {}
        self.static: dict[str, str] = {}
        self.targets: dict[str, Set[TopicPartition]] = {}
        self.regexes: dict[str, ResolvedRegex] = {}
        self.topics: dict[str, TopicInfo] = {}
        self.unwritten: dict[RecordKey, None] = {}
        self.topics_version: bytes | None = None
        self.is_assigning = False
        self.assignment_due = 0
        self._owners: dict[TopicPartition, str] = {}
        self._names: Counter[str] = Counter()
        self._patterns: Counter[str] = Counter()

    @property
    def is_empty(self) -> bool:
        """True if it has no members."""
        return not self.members

    is_vacant = is_empty

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
        """Add a member, or take over what it says of itself, in place of what it said before."""
        known = self.members.get(member.id)
        if known is not None:
            self._uncount(known)
        self.members[member.id] = member
        if member.instance_id is not None:
            self.static[member.instance_id] = member.id
        self._tally.members += 1
        self._tally.bytes += member.size
        self._names.update(member.topics)
        if member.regex:
            self._patterns[member.regex] += 1

    def _uncount(self, member: ModernMember) -> None:
        self._tally.members -= 1
        self._tally.bytes -= member.size
        self._names -= Counter(member.topics)
        if member.regex:
            self._patterns -= Counter((member.regex,))

    def remove(self, member_id: str) -> None:
        """Remove a member with its target and its partitions, and expressions that it alone had."""
        member = self.members.pop(member_id, None)
        if member is None:
            return
        self._uncount(member)
        if member.instance_id is not None and self.static.get(member.instance_id) == member_id:
            del self.static[member.instance_id]
        self.targets.pop(member_id, None)
        self._disown(member)
        self.mark(*(RecordKey(kind, member_id) for kind in (Kind.POSITION, Kind.TARGET, Kind.MEMBER)))
        self.forget_regexes()

    def clear(self) -> None:
        """Remove all members, of a group that is no more."""
        for member_id in tuple(self.members):
            self.remove(member_id)

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

    # Epochs and records

    def mark(self, *keys: RecordKey) -> None:
        """Note that records have changed, in this order."""
        for key in keys:
            self.unwritten.pop(key, None)
            self.unwritten[key] = None

    def bump(self) -> None:
        """Begin the next epoch."""
        self.epoch = min(self.epoch + 1, INT_MAX)
        self.mark(RecordKey(Kind.GROUP))

    def set_targets(self, epoch: int, targets: dict[str, set[TopicPartition]], now: int) -> None:
        """Take over the targets of an epoch; members that have left meanwhile have none."""
        for member_id in self.members:
            target = targets.get(member_id, set())
            if target != self.targets.get(member_id):
                self.targets[member_id] = target
                self.mark(RecordKey(Kind.TARGET, member_id))
        self.assignment_epoch = epoch
        self.assigned_time = now
        self.mark(RecordKey(Kind.TARGET_EPOCH))

    def tombstones(self) -> list[RecordKey]:
        """Return the records that the log may have, of a group that is deleted; it is not written again."""
        keys = list(dict.fromkeys(self._record_keys()))
        self.unwritten.clear()
        return keys

    def _record_keys(self) -> Iterator[RecordKey]:
        yield from self.unwritten
        for member_id in self.members:
            yield from (RecordKey(kind, member_id) for kind in (Kind.POSITION, Kind.TARGET, Kind.MEMBER))
        yield from (RecordKey(Kind.REGEX, pattern) for pattern in self.regexes)
        yield RecordKey(Kind.TARGET_EPOCH)
        yield RecordKey(Kind.GROUP)

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

    def subscribes_to(self, topic: str) -> bool:
        """Return True if a member subscribes to a topic."""
        return topic in self._names or any(topic in one.topics for one in self.regexes.values())

    @property
    def patterns(self) -> int:
        """Number of regular expressions that members subscribe by."""
        return len(self._patterns)

    def subscribes_by(self, regex: str) -> bool:
        """Return True if a member subscribes by a regular expression."""
        return regex in self._patterns

    def refresh_topics(self, catalog: TopicCatalog, partitions_max: int) -> bool:
        """Look up the topics that members subscribe to; return True if they have changed.

        Raises `SubscriptionTooLarge`; then the topics stay as they are.
        """
        names: set[str] = set(self._names).union(*(one.topics for one in self.regexes.values()))
        found = ((name, catalog.topic(name)) for name in sorted(names))
        topics = {name: topic for name, topic in found if topic is not None}
        self.topics_version = catalog.version
        count = sum(topic.partitions for topic in topics.values())
        if len(names) > partitions_max or count > partitions_max:
            raise SubscriptionTooLarge(
                f"The members of group {self.id} subscribe to {len(names)} topics with {count} partitions; "
                f"{partitions_max} are allowed."
            )
        self.topics = topics
        metadata_hash = _hash(topics.items())
        has_changed = metadata_hash != self.metadata_hash
        self.metadata_hash = metadata_hash
        return has_changed

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


def _hash(topics: Iterable[tuple[str, TopicInfo]]) -> int:
    """Return a number of 64 bits for topics, 0 for none."""
    text = "".join(f"{name} {topic.id.hex()} {topic.partitions}\n" for name, topic in topics)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big", signed=True) if text else 0
