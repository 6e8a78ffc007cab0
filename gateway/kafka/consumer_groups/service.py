"""The consumer groups of a coordinator: heartbeats, time, and their records."""

from __future__ import annotations

from collections.abc import Callable

from mqgateway.engine.clock import Clock
from mqgateway.gateway.kafka.consumer_groups.group import ModernGroup
from mqgateway.gateway.kafka.consumer_groups.heartbeats import Heartbeats
from mqgateway.gateway.kafka.consumer_groups.records import CONSUMER_RECORDS, replay
from mqgateway.gateway.kafka.consumer_groups.settings import ConsumerGroupSettings
from mqgateway.gateway.kafka.consumer_groups.subscriptions import GroupSubscriptions
from mqgateway.gateway.kafka.consumer_groups.targets import computed_targets
from mqgateway.gateway.kafka.coordinator.deadlines import Deadlines
from mqgateway.gateway.kafka.coordinator.group_replay import replay_record
from mqgateway.gateway.kafka.coordinator.group_table import KafkaGroupTable
from mqgateway.gateway.kafka.coordinator.group_writer import GroupWriter, StepRunner
from mqgateway.gateway.kafka.coordinator.journal import RecordJournal
from mqgateway.gateway.kafka.coordinator.rebalance import Rebalances
from mqgateway.gateway.kafka.coordinator.settings import GroupSettings
from mqgateway.gateway.kafka.coordinator.target_updates import TargetUpdates
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicCatalog


class ConsumerGroups:
    """The consumer groups of one coordinator, in the table that has groups of other types too.

    `settings_of` returns the settings of a group, by its id.
    """

    def __init__(
        self,
        settings: GroupSettings,
        settings_of: Callable[[str], ConsumerGroupSettings],
        clock: Clock,
        groups: KafkaGroupTable,
        deadlines: Deadlines,
        rebalances: Rebalances,
        journal: RecordJournal,
        catalog: TopicCatalog,
        run_steps: StepRunner,
        new_id: Callable[[], str],
    ) -> None:
        self._groups = groups
        self.writer: GroupWriter[ModernGroup] = GroupWriter(
            clock, journal, run_steps, lambda group: groups.get(group.id) is group, CONSUMER_RECORDS
        )
        self._subscriptions = GroupSubscriptions(settings, clock, catalog, self.writer, run_steps)
        targets = TargetUpdates(
            clock,
            deadlines,
            self.writer,
            run_steps,
            lambda group_id: settings_of(group_id).assignment_interval,
            computed_targets,
        )
        self.heartbeats = Heartbeats(
            settings,
            settings_of,
            clock,
            groups,
            deadlines,
            rebalances,
            self.writer,
            self._subscriptions,
            targets,
            new_id,
        )

    def replay(self, record_key: bytes, value: bytes | None) -> None:
        """Take over a record that was read from the log, if it is about a consumer group. Raises
        `CodecError`."""
        replay_record(self._groups, CONSUMER_RECORDS, ModernGroup, replay, record_key, value)

    def restore(self, group: ModernGroup) -> None:
        """Complete a group that was read from the log, and expect its members."""
        group.settle()
        for member in group.members.values():
            self.heartbeats.expect(group, member)

    def retire(self, group: ModernGroup) -> None:
        """Remove a group without members, so that a classic one can take its place."""
        self.writer.delete(group)
        self._groups.discard(group.id)

    def repeat_writes(self) -> None:
        """Write again what was not written."""
        self.writer.repeat()

    def clear(self) -> None:
        """Forget work in flight: the groups are read again."""
        self.writer.clear()
        self._subscriptions.clear()
