"""The way of a member from the partitions that it has to its target.

It gives up partitions first, in its old epoch. Only then it gets the epoch of the target and new partitions;
those that others still own follow once they are free. Standard: `CurrentAssignmentBuilder`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from typing import NamedTuple

from mqgateway.gateway.kafka.consumer_groups.member import AssignmentState, MemberPosition
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicPartition


class MemberTarget(NamedTuple):
    """The partitions that a member is to have, and the epoch of the assignment."""

    epoch: int
    partitions: Set[TopicPartition]


def reconciled(
    current: MemberPosition,
    target: MemberTarget,
    is_free: Callable[[TopicPartition], bool],
    owned: Set[TopicPartition] | None,
) -> MemberPosition:
    """Return the next position of a member, which is the current one if it has to wait or has arrived.

    `owned` are the partitions that it says it owns, None if it does not say. `is_free` returns True if no
    other member owns a partition.
    """
    if current.is_at(target.epoch):
        return current
    if current.state is AssignmentState.UNREVOKED_PARTITIONS and _owns_any(owned, current.revoking):
        return current
    kept = {one: epoch for one, epoch in current.assigned.items() if one in target.partitions}
    revoking = {one: epoch for one, epoch in current.assigned.items() if one not in target.partitions}
    if revoking and _owns_any(owned, revoking):
        unrevoked = AssignmentState.UNREVOKED_PARTITIONS
        return MemberPosition(current.epoch, current.previous_epoch, unrevoked, kept, revoking)
    missing = [one for one in target.partitions if one not in kept]
    free = [one for one in missing if is_free(one)]
    state = AssignmentState.STABLE if len(free) == len(missing) else AssignmentState.UNRELEASED_PARTITIONS
    assigned = {**kept, **dict.fromkeys(free, target.epoch)}
    previous = current.previous_epoch if current.epoch == target.epoch else current.epoch
    return MemberPosition(target.epoch, previous, state, assigned, {})


def _owns_any(owned: Set[TopicPartition] | None, partitions: Iterable[TopicPartition]) -> bool:
    return owned is None or not owned.isdisjoint(partitions)
