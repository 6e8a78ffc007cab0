"""A group whose partitions the broker assigns: its members, its epochs, and what each member is to have.

Standard: `ModernGroup`.
"""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from enum import Enum, auto
from typing import Generic, NamedTuple, Protocol, TypeVar

from mqgateway.gateway.kafka.coordinator.member import MemberTally
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicCatalog, TopicInfo, TopicPartition

log = logging.getLogger(__name__)

INT_MAX = 2**31 - 1
START_EPOCH = 1
"""Epoch of a group without members. Epoch 0 is that of members that join."""


class Kind(Enum):
    """The subject of a record of a group."""

    GROUP = auto()
    MEMBER = auto()
    TARGET_EPOCH = auto()
    TARGET = auto()
    POSITION = auto()
    REGEX = auto()
    PARTITIONS = auto()


OF_MEMBERS = (Kind.POSITION, Kind.TARGET, Kind.MEMBER)
"""Subjects of records of each member, in the order of their deletion."""


class SubscriptionTooLarge(Exception):
    """Members subscribe to more topics or partitions than a group may have."""


class RecordKey(NamedTuple):
    """A record of a group: of one member or regular expression, by its name, or of the group itself."""

    kind: Kind
    name: str = ""


class AssignedMember(Protocol):
    """A member, as its group needs it. `topics` are the names it subscribes to."""

    id: str
    topics: tuple[str, ...]

    @property
    def size(self) -> int:
        """Characters of what it says of itself."""
        ...


M = TypeVar("M", bound=AssignedMember)


class AssignedGroup(Generic[M]):
    """One group. `unwritten` are the records that the log lacks, or has in an older form.

    `epoch` counts changes of members, subscriptions and topics; `assignment_epoch` is that of the targets.
    `assignment_due` is the elapsed time from which targets may be computed again, ms.
    """

    def __init__(self, group_id: str, tally: MemberTally) -> None:
        self.id = group_id
        self._tally = tally
        self.epoch = START_EPOCH
        self.assignment_epoch = START_EPOCH
        self.assigned_time = 0
        self.metadata_hash = 0
        self.members: dict[str, M] = {}
        self.targets: dict[str, Set[TopicPartition]] = {}
        self.topics: dict[str, TopicInfo] = {}
        self.unwritten: dict[RecordKey, None] = {}
        self.topics_version: bytes | None = None
        self.is_assigning = False
        self.assignment_due = 0
        self._names: Counter[str] = Counter()

    @property
    def is_empty(self) -> bool:
        """True if it has no members."""
        return not self.members

    # Members

    def put(self, member: M) -> None:
        """Add a member, or take over what it says of itself, in place of what it said before."""
        known = self.members.get(member.id)
        if known is not None:
            self._uncount(known)
        self.members[member.id] = member
        self._tally.members += 1
        self._tally.bytes += member.size
        self._names.update(member.topics)

    def _uncount(self, member: M) -> None:
        self._tally.members -= 1
        self._tally.bytes -= member.size
        self._names -= Counter(member.topics)

    def remove(self, member_id: str) -> None:
        """Remove a member with its target."""
        member = self.members.pop(member_id, None)
        if member is None:
            return
        self._uncount(member)
        self.targets.pop(member_id, None)
        self.mark(*(RecordKey(kind, member_id) for kind in OF_MEMBERS))

    def clear(self) -> None:
        """Remove all members, of a group that is no more."""
        for member_id in tuple(self.members):
            self.remove(member_id)

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
        keys = list(dict.fromkeys((*self.unwritten, *self._record_keys())))
        self.unwritten.clear()
        return keys

    def _record_keys(self) -> Iterator[RecordKey]:
        """Yield the records of the group, in the order of their deletion."""
        for member_id in self.members:
            yield from (RecordKey(kind, member_id) for kind in OF_MEMBERS)
        yield RecordKey(Kind.TARGET_EPOCH)
        yield RecordKey(Kind.GROUP)

    # Subscriptions

    def _topic_names(self) -> set[str]:
        """Return the names of the topics that members subscribe to; some may not exist."""
        return set(self._names)

    def subscribes_to(self, topic: str) -> bool:
        """Return True if a member subscribes to a topic."""
        return topic in self._names

    def refresh_topics(self, catalog: TopicCatalog, partitions_max: int) -> bool:
        """Look up the topics that members subscribe to; return True if they have changed.

        Raises `SubscriptionTooLarge`; then the topics stay as they are.
        """
        names = self._topic_names()
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

    def follow_topics(self, catalog: TopicCatalog, partitions_max: int) -> bool:
        """Look up the topics again if any topic has changed; return True if that changed the group.

        If the group has become too large, it keeps the topics that it had.
        """
        if self.topics_version == catalog.version:
            return False
        try:
            return self.refresh_topics(catalog, partitions_max)
        except SubscriptionTooLarge as error:
            log.warning("%s New topics and partitions are left out.", error)
            return False


def _hash(topics: Iterable[tuple[str, TopicInfo]]) -> int:
    """Return a number of 64 bits for topics, 0 for none."""
    text = "".join(f"{name} {topic.id.hex()} {topic.partitions}\n" for name, topic in topics)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big", signed=True) if text else 0
