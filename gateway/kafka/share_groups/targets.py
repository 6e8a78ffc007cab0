"""Targets of a share group: what is to be shared, and by whom."""

from __future__ import annotations

from collections.abc import Set
from typing import Final

from mqgateway.engine.steps import Steps
from mqgateway.gateway.kafka.coordinator.target_updates import Targets
from mqgateway.gateway.kafka.share_groups.assignor import ShareSubscriber, share_targets
from mqgateway.gateway.kafka.share_groups.group import ShareGroup

STEP: Final = 50
"""Members whose subscriptions are looked up in one step."""


def computed_share_targets(group: ShareGroup) -> Steps[Targets]:
    """Return the partitions that each member is to have.

    Topics are looked up once for members with the same subscriptions.
    """
    known: dict[tuple[str, ...], Set[bytes]] = {}
    subscribers: list[ShareSubscriber] = []
    partitions, previous = list(group.assignable()), dict(group.targets)
    for number, member in enumerate(tuple(group.members.values()), 1):
        if member.topics not in known:
            known[member.topics] = group.topic_ids(member)
        subscribers.append(ShareSubscriber(member.id, known[member.topics]))
        if not number % STEP:
            yield
    targets = yield from share_targets(subscribers, partitions, previous)
    return targets
