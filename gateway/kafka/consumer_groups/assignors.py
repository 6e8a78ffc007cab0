"""Assignors: which member is to have which partitions.

They work in steps, so that very large groups do not hold the event loop. Standard: `UniformAssignor`,
`RangeAssignor`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush, heapreplace
from typing import Final, NamedTuple

from mqgateway.engine.steps import Steps
from mqgateway.gateway.kafka.coordinator.target_updates import Targets
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicInfo, TopicPartition

UNIFORM: Final = "uniform"
RANGE: Final = "range"
ASSIGNORS: Final = (UNIFORM, RANGE)
"""Names of all assignors, the default first."""
STEP: Final = 200
"""Partitions or members that are worked on in one step."""
PASSES_MAX: Final = 5
"""Passes over all subscriptions in which partitions are moved to members with fewer."""


class SubscribedMember(NamedTuple):
    """A member as assignors see it. `topics` are ids."""

    id: str
    instance_id: str | None
    topics: Set[bytes]


@dataclass
class Spec:
    """Members and topics to assign. `topics` are all subscribed ones, `previous` the last targets."""

    subscribers: Sequence[SubscribedMember]
    topics: Sequence[TopicInfo]
    previous: Mapping[str, Set[TopicPartition]] = field(default_factory=dict)


def assign(name: str, spec: Spec) -> Steps[Targets]:
    """Return the target of each member, by the assignor of a name."""
    targets = yield from (_range(spec) if name == RANGE else _Uniform(spec).assign())
    return targets


def _subscribers(spec: Spec) -> Steps[dict[bytes, list[SubscribedMember]]]:
    """Return the subscribers of each topic: static ones by instance first, then others by id."""
    found: dict[bytes, list[SubscribedMember]] = {topic.id: [] for topic in spec.topics}
    count = 0
    for one in sorted(spec.subscribers, key=lambda one: (one.instance_id is None, one.instance_id or one.id)):
        for topic_id in one.topics:
            if topic_id in found:
                found[topic_id].append(one)
            count += 1
            if not count % STEP:
                yield
    return found


def _range(spec: Spec) -> Steps[Targets]:
    """Give each subscriber of a topic partitions that follow one another; the first ones get one more."""
    targets: Targets = {one.id: set() for one in spec.subscribers}
    subscribers = yield from _subscribers(spec)
    count = 0
    for topic in spec.topics:
        members = subscribers[topic.id]
        if not members:
            continue
        each, more = divmod(topic.partitions, len(members))
        start = 0
        for number, one in enumerate(members):
            end = start + each + (number < more)
            for partition in range(start, end):
                targets[one.id].add((topic.id, partition))
                count += 1
                if not count % STEP:
                    yield
            start = end
    return targets


class _Uniform:
    """Spreads partitions evenly and leaves as many as possible where they were.

    Members with the same subscriptions get numbers of partitions that differ by one at most. With different
    subscriptions this is true as far as `PASSES_MAX` allows.
    """

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._targets: Targets = {one.id: set() for one in spec.subscribers}

    def assign(self) -> Steps[Targets]:
        yield from self._keep()
        subscribers = yield from _subscribers(self._spec)
        classes: dict[tuple[str, ...], list[TopicInfo]] = {}
        for topic in self._spec.topics:
            members = tuple(one.id for one in subscribers[topic.id])
            if members:
                classes.setdefault(members, []).append(topic)
            yield
        # Topics of few members first: the others can make up for them.
        ordered = sorted(classes.items(), key=lambda one: len(one[0]))
        for members, topics in ordered:
            yield from self._fill(members, topics)
        for _ in range(PASSES_MAX):
            moved = 0
            for members, topics in ordered:
                moved += yield from self._balance(members, {topic.id for topic in topics})
            if not moved:
                break
        return self._targets

    def _keep(self) -> Steps[None]:
        """Leave partitions with the members that had them, as far as they subscribe."""
        sizes = {topic.id: topic.partitions for topic in self._spec.topics}
        self._kept: set[TopicPartition] = set()
        for number, one in enumerate(self._spec.subscribers):
            for partition in self._spec.previous.get(one.id, ()):
                topic_id, index = partition
                valid = topic_id in one.topics and index < sizes.get(topic_id, 0)
                if valid and partition not in self._kept:
                    self._kept.add(partition)
                    self._targets[one.id].add(partition)
            if not number % STEP or len(self._kept) > STEP:
                yield

    def _fill(self, members: Sequence[str], topics: Sequence[TopicInfo]) -> Steps[None]:
        """Give partitions without a member to those that have fewest."""
        heap = [(len(self._targets[one]), one) for one in members]
        heapify(heap)
        count = 0
        for topic in topics:
            for index in range(topic.partitions):
                partition = topic.id, index
                if partition not in self._kept:
                    size, member = heap[0]
                    self._targets[member].add(partition)
                    heapreplace(heap, (size + 1, member))
                count += 1
                if not count % STEP:
                    yield

    def _balance(self, members: Sequence[str], topics: Set[bytes]) -> Steps[int]:
        """Move partitions from members with most to those with fewest; return how many were moved."""
        fewest = [(len(self._targets[one]), one) for one in members]
        most: list[tuple[int, str]] = []
        movable: dict[str, list[TopicPartition]] = {}
        least = min(fewest)[0]
        for number, (size, member) in enumerate(fewest):
            if size > least + 1:
                most.append((-size, member))
                movable[member] = [one for one in sorted(self._targets[member]) if one[0] in topics]
            if not number % STEP or size > STEP:
                yield
        heapify(fewest)
        heapify(most)
        moved = 0
        while most:
            size, donor = heappop(most)
            receiver_size, receiver = fewest[0]
            if -size != len(self._targets[donor]) or receiver_size != len(self._targets[receiver]):
                # An entry from before a move.
                heapreplace(fewest, (len(self._targets[receiver]), receiver))
                heappush(most, (-len(self._targets[donor]), donor))
                continue
            if -size - receiver_size <= 1:
                break
            if not movable[donor]:
                continue
            partition = movable[donor].pop()
            self._targets[donor].remove(partition)
            self._targets[receiver].add(partition)
            heapreplace(fewest, (receiver_size + 1, receiver))
            heappush(most, (size + 1, donor))
            moved += 1
            if not moved % STEP:
                yield
        return moved
