"""The share groups of a coordinator: heartbeats, start offsets, time, and their records."""

from __future__ import annotations

from collections.abc import Callable

from mqgateway.engine.clock import Clock
from mqgateway.gateway.kafka.coordinator.deadlines import Deadlines
from mqgateway.gateway.kafka.coordinator.group_replay import replay_record
from mqgateway.gateway.kafka.coordinator.group_table import KafkaGroupTable
from mqgateway.gateway.kafka.coordinator.group_writer import GroupWriter, StepRunner
from mqgateway.gateway.kafka.coordinator.journal import RecordJournal
from mqgateway.gateway.kafka.coordinator.settings import GroupSettings
from mqgateway.gateway.kafka.coordinator.target_updates import TargetUpdates
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicCatalog
from mqgateway.gateway.kafka.share_groups.group import ShareGroup
from mqgateway.gateway.kafka.share_groups.heartbeats import ShareHeartbeats
from mqgateway.gateway.kafka.share_groups.initialization import Initialization
from mqgateway.gateway.kafka.share_groups.offsets import ShareGroupOffsets
from mqgateway.gateway.kafka.share_groups.partitions import SharePartitionsInMemory, SharePartitionStates
from mqgateway.gateway.kafka.share_groups.records import SHARE_RECORDS, replay
from mqgateway.gateway.kafka.share_groups.settings import ShareGroupSettings
from mqgateway.gateway.kafka.share_groups.targets import computed_share_targets


class ShareGroups:
    """The share groups of one coordinator, in the table that has groups of other types too.

    `settings` returns the settings of a group, by its id.
    """

    def __init__(
        self,
        group_settings: GroupSettings,
        settings: Callable[[str], ShareGroupSettings],
        clock: Clock,
        groups: KafkaGroupTable,
        deadlines: Deadlines,
        journal: RecordJournal,
        catalog: TopicCatalog,
        run_steps: StepRunner,
    ) -> None:
        self.settings = settings
        self._groups = groups
        self._partitions: SharePartitionStates = SharePartitionsInMemory()
        self.writer: GroupWriter[ShareGroup] = GroupWriter(
            clock, journal, run_steps, lambda group: groups.get(group.id) is group, SHARE_RECORDS
        )
        self._initialization = Initialization(
            catalog, lambda: self._partitions, self.writer, group_settings.group_partitions_max
        )
        targets = TargetUpdates(
            clock,
            deadlines,
            self.writer,
            run_steps,
            lambda group_id: settings(group_id).assignment_interval,
            computed_share_targets,
        )
        self.heartbeats = ShareHeartbeats(
            group_settings,
            settings,
            clock,
            groups,
            deadlines,
            self.writer,
            catalog,
            self._initialization,
            targets,
        )
        self.offsets = ShareGroupOffsets(groups, self.writer, lambda: self._partitions)

    def attach(self, partitions: SharePartitionStates) -> None:
        """Use these states of share partitions, in place of those in memory."""
        self._partitions = partitions

    # Groups

    def get(self, group_id: str) -> ShareGroup | None:
        """Return a share group, None for an unknown one or one of another type."""
        group = self._groups.get(group_id)
        return group if isinstance(group, ShareGroup) else None

    def is_share_group(self, group_id: str) -> bool:
        """Return True if a group is a share group."""
        return self.get(group_id) is not None

    # What survives a restart

    def replay(self, record_key: bytes, value: bytes | None) -> None:
        """Take over a record that was read from the log, if it is about a share group.

        Raises `CodecError`.
        """
        replay_record(self._groups, SHARE_RECORDS, ShareGroup, replay, record_key, value)

    def restore(self, group: ShareGroup) -> None:
        """Complete a group that was read from the log, and expect its members."""
        group.unwritten.clear()
        for member in group.members.values():
            self.heartbeats.expect(group, member)

    def repeat_writes(self) -> None:
        """Write again what was not written."""
        self.writer.repeat()

    def clear(self) -> None:
        """Forget work in flight: the groups are read again."""
        self.writer.clear()
        self._initialization.clear()
