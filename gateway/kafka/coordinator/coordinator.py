"""The coordinator of groups: requests, time, and what survives a restart."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from itertools import islice

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.consumer_groups.group import ModernGroup
from mqgateway.gateway.kafka.consumer_groups.service import ConsumerGroups
from mqgateway.gateway.kafka.consumer_groups.settings import ConsumerGroupSettings
from mqgateway.gateway.kafka.coordinator.commits import Commits, Runner
from mqgateway.gateway.kafka.coordinator.deadlines import Deadlines
from mqgateway.gateway.kafka.coordinator.group import Group
from mqgateway.gateway.kafka.coordinator.group_table import KafkaGroupTable
from mqgateway.gateway.kafka.coordinator.journal import RecordJournal
from mqgateway.gateway.kafka.coordinator.membership import Membership
from mqgateway.gateway.kafka.coordinator.offsets import GroupOffsets
from mqgateway.gateway.kafka.coordinator.pending import PendingOffsets
from mqgateway.gateway.kafka.coordinator.rebalance import Rebalances
from mqgateway.gateway.kafka.coordinator.records import (
    OffsetKey,
    PendingKey,
    read_group,
    read_key,
    read_offset,
    read_pending,
)
from mqgateway.gateway.kafka.coordinator.records_log import NotWritten, RecordsLog
from mqgateway.gateway.kafka.coordinator.settings import GroupSettings
from mqgateway.gateway.kafka.coordinator.shared_offsets import SharedOffsets
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicCatalog
from mqgateway.gateway.kafka.coordinator.transactional import TransactionalCommits
from mqgateway.gateway.kafka.share_groups.group import ShareGroup
from mqgateway.gateway.kafka.share_groups.service import ShareGroups
from mqgateway.gateway.kafka.share_groups.settings import ShareGroupSettings

log = logging.getLogger(__name__)

LOAD_STEP = 200
"""Records that are read from the log at a time."""
TICK_STEPS = 100
"""Groups that a tick looks after."""
FOLLOW_INTERVAL = 5000
"""Interval at which the log follows the shared table, ms."""


class Coordinator:
    """Groups and their offsets. `new_id` returns the random part of a member's id, `catalog` has the topics.

    `share_catalog` has those that share groups can read, of this broker.

    `retention` returns for how long the log keeps its records, ms. `run_steps` runs cooperative tasks one
    after another. `consumer_settings` and `share_settings` return the settings of a group, by its id.
    """

    def __init__(
        self,
        settings: GroupSettings,
        clock: Clock,
        records: RecordsLog,
        shared: SharedOffsets,
        catalog: TopicCatalog,
        share_catalog: TopicCatalog,
        *,
        new_id: Callable[[], str],
        retention: Callable[[], int],
        run_steps: Runner[None],
        consumer_settings: Callable[[str], ConsumerGroupSettings],
        share_settings: Callable[[str], ShareGroupSettings],
    ) -> None:
        self.settings = settings
        self.is_loaded = False
        self.groups = KafkaGroupTable(settings)
        self.offsets = GroupOffsets()
        self.pending = PendingOffsets()
        self.shared = shared
        self._clock = clock
        self._retention = retention
        self._journal = RecordJournal(records, "groups and offsets")
        self._deadlines = Deadlines()
        self._rebalances = Rebalances(settings, clock, self.groups, self._deadlines, self._journal)
        self.consumers = ConsumerGroups(
            settings,
            consumer_settings,
            clock,
            self.groups,
            self._deadlines,
            self._rebalances,
            self._journal,
            catalog,
            run_steps,
            new_id,
        )
        self.shares = ShareGroups(
            settings,
            share_settings,
            clock,
            self.groups,
            self._deadlines,
            self._journal,
            share_catalog,
            run_steps,
        )
        self.membership = Membership(
            settings, clock, self.groups, self._rebalances, new_id, self.consumers.retire
        )
        self.commits = Commits(
            settings,
            clock,
            self.groups,
            self._rebalances,
            self._journal,
            self.offsets,
            self.pending,
            shared,
            run_steps,
        )
        self.transactional = TransactionalCommits(
            self.commits, self.pending, run_steps, lambda: self.is_loaded
        )
        self._works: dict[str, Iterator[None]] = {}
        now = elapsed_millis(clock)
        self._follow_due = now + FOLLOW_INTERVAL
        self._expire_due = now + settings.expiry_interval

    def unload(self) -> None:
        """Forget all groups: this broker does not coordinate them, or has to read them again."""
        self.is_loaded = False
        for group in self.groups:
            if isinstance(group, Group):
                self._rebalances.abandon(group)
        self.groups.clear()
        self.consumers.clear()
        self.shares.clear()
        self.commits.abandon()
        self.offsets.clear()
        self.pending.clear()
        self._journal.abandon(NotWritten(ErrorCode.NOT_COORDINATOR, "this broker is not the coordinator"))
        self._deadlines.clear()
        self._works.clear()

    def stop(self) -> None:
        """Answer the members that wait for others, and refuse requests from now on: the broker stops.

        Records that are being written are answered once they are.
        """
        self.is_loaded = False
        for group in self.groups:
            if isinstance(group, Group):
                self._rebalances.refuse_waiting(group)

    def load(self) -> Iterator[bool]:
        """Read the log in steps; yield True if nothing can be done at once, because the log is not there yet.

        Before it is read, no request is answered.
        """
        for number, record in enumerate(self._journal.load()):
            if record is None:
                yield True
                continue
            try:
                self._replay(*record)
            except CodecError as error:
                log.warning("a record of groups and offsets is skipped: %s", error)
            if number % LOAD_STEP == LOAD_STEP - 1:
                yield False
        for group in self.groups:
            if isinstance(group, ModernGroup):
                self.consumers.restore(group)
            elif isinstance(group, ShareGroup):
                self.shares.restore(group)
            else:
                for member in group.members.values():
                    self._rebalances.expect(group, member)
            self._restore(group.id)
            yield False
        self.is_loaded = True
        log.info("%d groups and %d offsets were read", len(self.groups), len(self.offsets))

    def _replay(self, key: bytes, value: bytes | None) -> None:
        place = read_key(key)
        if isinstance(place, OffsetKey):
            if value is None:
                self.offsets.remove(place)
            else:
                self.offsets.put(place, read_offset(value))
                self.groups.find_or_create(place.group, self._clock.millis())
        elif isinstance(place, PendingKey):
            if value is None:
                self.pending.remove(place)
            else:
                self.pending.put(place, read_pending(value))
                self.groups.find_or_create(place.offset.group, self._clock.millis())
        elif place is not None:
            if self.groups.classic(place) is not None:
                self.groups.discard(place)
            if value is not None:
                self.groups.put(read_group(place, value, self.groups.tally))
        else:
            self.consumers.replay(key, value)
            self.shares.replay(key, value)

    def _restore(self, group_id: str) -> None:
        """Enter offsets in the shared table, whose file may be older than the log."""
        for key in self.offsets.keys(group_id):
            committed = self.offsets.get(key)
            if committed is None or not self.commits.is_current(key.topic, committed):
                continue
            try:
                if self.shared.get(key) != committed.offset:
                    self.shared.put(key, committed.offset)
            except NotWritten as error:
                log.warning("the offset of %s is not restored: %s", key, error)

    def tick(self) -> None:
        """Do what is due."""
        if not self.is_loaded:
            return
        now = elapsed_millis(self._clock)
        self._deadlines.run(now)
        self._journal.refresh(self._clock.millis(), self._retention() // 2)
        if now >= self._follow_due:
            self._follow_due = now + FOLLOW_INTERVAL
            self.consumers.repeat_writes()
            self.shares.repeat_writes()
            self._works.setdefault("follow", self.commits.follow())
        if now >= self._expire_due:
            self._expire_due = now + self.settings.expiry_interval
            self._works.setdefault("expire", self.commits.expire())
        for name, work in tuple(self._works.items()):
            if sum(1 for _ in islice(work, TICK_STEPS)) < TICK_STEPS:
                del self._works[name]
