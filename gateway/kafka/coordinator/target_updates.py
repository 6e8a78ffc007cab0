"""Computations of targets: at most one at a time for a group, and not more often than the settings allow.

Standard: KIP-1263.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from twisted.python.failure import Failure

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.engine.steps import Steps, run
from mqgateway.gateway.kafka.coordinator.assigned_group import AssignedGroup
from mqgateway.gateway.kafka.coordinator.deadlines import Deadlines
from mqgateway.gateway.kafka.coordinator.group_writer import GroupWriter, StepRunner
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicPartition

G = TypeVar("G", bound=AssignedGroup[Any])
Targets = dict[str, set[TopicPartition]]
"""Partitions by member."""

log = logging.getLogger(__name__)

AT_ONCE: Final = 500
"""Members and partitions whose targets are computed in one step."""


class TargetUpdates(Generic[G]):
    """The computations for groups of one type.

    `interval` returns the time between two computations for a group, by its id, ms. `compute` returns the
    targets of a group.
    """

    def __init__(
        self,
        clock: Clock,
        deadlines: Deadlines,
        writer: GroupWriter[G],
        run_steps: StepRunner,
        interval: Callable[[str], int],
        compute: Callable[[G], Steps[Targets]],
    ) -> None:
        self._clock = clock
        self._deadlines = deadlines
        self._writer = writer
        self._run_steps = run_steps
        self._interval = interval
        self._compute = compute

    def update(self, group: G) -> None:
        """Compute the targets of the current epoch, now or later, unless that is done."""
        if group.is_assigning or group.is_empty or group.epoch <= group.assignment_epoch:
            return
        now = elapsed_millis(self._clock)
        if now < group.assignment_due:
            self._deadlines.set(("assign", group.id), group.assignment_due, lambda: self._update_late(group))
            return
        self._deadlines.cancel(("assign", group.id))
        group.assignment_due = now + self._interval(group.id)
        partitions = sum(topic.partitions for topic in group.topics.values())
        if len(group.members) + partitions <= AT_ONCE:
            run(self._computing(group))
            return
        group.is_assigning = True
        self._run_steps(self._computing(group)).addBoth(self._computed, group)

    def _update_late(self, group: G) -> None:
        self.update(group)
        self._writer.write_later(group)

    def _computed(self, outcome: Failure | None, group: G) -> None:
        group.is_assigning = False
        if isinstance(outcome, Failure):
            log.error("targets of group %s are not computed: %s", group.id, outcome.getTraceback())
            return
        self._update_late(group)

    def _computing(self, group: G) -> Steps[None]:
        epoch = group.epoch
        targets = yield from self._compute(group)
        group.set_targets(epoch, targets, self._clock.millis())
        log.info("group %s has targets of epoch %d", group.id, epoch)
