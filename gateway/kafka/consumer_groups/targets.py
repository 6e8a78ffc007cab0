"""Targets of a consumer group: what is to be assigned, and to whom."""

from __future__ import annotations

from collections.abc import Set
from typing import Final

from mqgateway.engine.steps import Steps
from mqgateway.gateway.kafka.consumer_groups.assignors import Spec, SubscribedMember, assign
from mqgateway.gateway.kafka.consumer_groups.group import ModernGroup
from mqgateway.gateway.kafka.coordinator.target_updates import Targets

STEP: Final = 50
"""Members whose subscriptions are looked up in one step."""


def computed_targets(group: ModernGroup) -> Steps[Targets]:
    """Return the partitions that each member is to have."""
    assignor = group.assignor
    spec = yield from _spec(group)
    targets = yield from assign(assignor, spec)
    return targets


def _spec(group: ModernGroup) -> Steps[Spec]:
    """Return what is to be assigned. Members with the same subscriptions share one set of topics."""
    known: dict[tuple[tuple[str, ...], str], Set[bytes]] = {}
    subscribers: list[SubscribedMember] = []
    topics, previous = dict(group.topics), dict(group.targets)
    for number, member in enumerate(tuple(group.members.values()), 1):
        key = member.topics, member.regex
        if key not in known:
            names = set(group.subscribed_names(member)) & topics.keys()
            known[key] = frozenset(topics[name].id for name in names)
        subscribers.append(SubscribedMember(member.id, member.instance_id, known[key]))
        if not number % STEP:
            yield
    return Spec(subscribers, list(topics.values()), previous)
