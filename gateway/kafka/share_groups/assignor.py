"""The assignor `simple`: it shares partitions among members evenly, and moves few.

With at least as many partitions as members each partition has one member. With more members than partitions
each partition has several. It works in steps, so that very large groups do not hold the event loop. Standard:
`SimpleAssignor`, `SimpleHomogeneousAssignmentBuilder`, `SimpleHeterogeneousAssignmentBuilder`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence, Set
from typing import Final, NamedTuple

from mqgateway.engine.steps import Steps
from mqgateway.gateway.kafka.coordinator.target_updates import Targets
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicPartition

SIMPLE: Final = "simple"
"""Name of the assignor."""
STEP: Final = 200
"""Partitions or members that are worked on in one step."""

Previous = Mapping[str, Set[TopicPartition]]
"""The last targets, by member."""


class ShareSubscriber(NamedTuple):
    """A member as the assignor sees it. `topics` are ids."""

    id: str
    topics: Set[bytes]


def share_targets(
    subscribers: Sequence[ShareSubscriber], partitions: Sequence[TopicPartition], previous: Previous
) -> Steps[Targets]:
    """Return the target of each member.

    If all subscribe to the same topics, partitions of all topics are shared evenly; else those of each topic.
    """
    targets: Targets = {one.id: set() for one in subscribers}
    if all(one.topics == subscribers[0].topics for one in subscribers):
        yield from _share(list(targets), partitions, previous, targets)
        return targets
    by_topic: dict[bytes, list[TopicPartition]] = {}
    for partition in partitions:
        by_topic.setdefault(partition[0], []).append(partition)
    for topic_id, own in by_topic.items():
        members = [one.id for one in subscribers if topic_id in one.topics]
        if members:
            yield from _share(members, own, previous, targets)
    return targets


def _share(
    members: Sequence[str], partitions: Sequence[TopicPartition], previous: Previous, targets: Targets
) -> Steps[None]:
    """Add partitions that members share to their targets."""
    if not partitions:
        return
    sharing = -(-len(members) // len(partitions))
    total = sharing * len(partitions)
    shares = {
        member: -(-total * (number + 1) // len(members)) + (-total * number // len(members))
        for number, member in enumerate(members)
    }
    owners = yield from _kept(shares, partitions, previous, sharing)
    counts = dict.fromkeys(members, 0)
    for known in owners.values():
        for member in known:
            counts[member] += 1
    yield from _fill(owners, {member: shares[member] - counts[member] for member in members}, sharing)
    for partition, known in owners.items():
        for member in known:
            targets[member].add(partition)


def _kept(
    shares: Mapping[str, int], partitions: Sequence[TopicPartition], previous: Previous, sharing: int
) -> Steps[dict[TopicPartition, list[str]]]:
    """Return the members that keep each partition: no more than may share it, and no more than their part."""
    owners: dict[TopicPartition, list[str]] = {partition: [] for partition in partitions}
    for number, (member, share) in enumerate(shares.items(), 1):
        kept = sorted(partition for partition in previous.get(member, ()) if partition in owners)
        for partition in kept[:share]:
            owners[partition].append(member)
        if not number % STEP:
            yield
    for known in owners.values():
        del known[sharing:]
    return owners


def _fill(
    owners: Mapping[TopicPartition, list[str]], missing: Mapping[str, int], sharing: int
) -> Steps[None]:
    """Add members in turn to partitions that have too few."""
    left = {member: count for member, count in missing.items() if count > 0}
    turn = deque(left)
    for number, known in enumerate(owners.values(), 1):
        passed = 0
        while turn and len(known) < sharing and passed < len(turn):
            member = turn.popleft()
            if member in known:
                passed += 1
                turn.append(member)
                continue
            passed = 0
            known.append(member)
            left[member] -= 1
            if left[member]:
                turn.append(member)
        if not number % STEP:
            yield
