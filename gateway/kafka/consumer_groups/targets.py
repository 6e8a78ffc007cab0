"""Computations of targets: at most one at a time for a group, and not more often than the settings allow.

Standard: KIP-1263.
"""

from __future__ import annotations

import logging
from collections.abc import Set
from typing import Final

from twisted.python.failure import Failure

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.engine.steps import Steps, run
from mqgateway.gateway.kafka.consumer_groups.assignors import Spec, SubscribedMember, Targets, assign
from mqgateway.gateway.kafka.consumer_groups.group import ModernGroup
from mqgateway.gateway.kafka.consumer_groups.writer import GroupWriter, StepRunner
from mqgateway.gateway.kafka.coordinator.deadlines import Deadlines
from mqgateway.gateway.kafka.coordinator.settings import GroupSettings

log = logging.getLogger(__name__)

AT_ONCE: Final = 500
"""Members and partitions whose targets are computed in one step."""
STEP: Final = 50
"""Members whose subscriptions are looked up in one step."""


class TargetUpdates:
    """The computations of one coordinator."""

    def __init__(
        self,
        settings: GroupSettings,
        clock: Clock,
        deadlines: Deadlines,
        writer: GroupWriter,
        run_steps: StepRunner,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._deadlines = deadlines
        self._writer = writer
        self._run_steps = run_steps

    def update(self, group: ModernGroup) -> None:
        """Compute the targets of the current epoch, now or later, unless that is done."""
        if group.is_assigning or group.is_empty or group.epoch <= group.assignment_epoch:
            return
        now = elapsed_millis(self._clock)
        if now < group.assignment_due:
            self._deadlines.set(("assign", group.id), group.assignment_due, lambda: self._update_late(group))
            return
        self._deadlines.cancel(("assign", group.id))
        group.assignment_due = now + self._settings.consumer_assignment_interval
        partitions = sum(topic.partitions for topic in group.topics.values())
        if len(group.members) + partitions <= AT_ONCE:
            run(self._computing(group))
            return
        group.is_assigning = True
        self._run_steps(self._computing(group)).addBoth(self._computed, group)

    def _update_late(self, group: ModernGroup) -> None:
        self.update(group)
        self._writer.write_later(group)

    def _computed(self, outcome: Failure | None, group: ModernGroup) -> None:
        group.is_assigning = False
        if isinstance(outcome, Failure):
            log.error("targets of group %s are not computed: %s", group.id, outcome.getTraceback())
            return
        self._update_late(group)

    def _computing(self, group: ModernGroup) -> Steps[None]:
        epoch, assignor = group.epoch, group.assignor
        spec = yield from _spec(group)
        targets: Targets = yield from assign(assignor, spec)
        group.set_targets(epoch, targets, self._clock.millis())
        log.info("group %s has targets of epoch %d by %s", group.id, epoch, assignor)


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
