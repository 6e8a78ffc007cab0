"""A run: topics are made, passes follow one another, and offsets of groups follow what was copied.

A run may end at any time and be repeated. The last one (`finish`) begins when producers and consumers have
stopped. It ends when all is copied, and no later run changes the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from mqgateway.gateway.client.errors import ClientError, Unreachable
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.migration.kafka.access import create_acls
from mqgateway.gateway.migration.kafka.cluster import KafkaCluster, Partition
from mqgateway.gateway.migration.kafka.connection import KafkaError
from mqgateway.gateway.migration.kafka.copying import BEGIN_AGAIN, Copier
from mqgateway.gateway.migration.kafka.group_settings import set_group_settings
from mqgateway.gateway.migration.kafka.groups import (
    OFFSET_KINDS,
    PENDING,
    CommittedOffset,
    commit_offsets,
    committed_offsets,
    read_groups,
)
from mqgateway.gateway.migration.kafka.plan import KafkaPlan, KafkaProgress
from mqgateway.gateway.migration.kafka.quotas import set_quotas
from mqgateway.gateway.migration.kafka.reading import LATEST, offsets
from mqgateway.gateway.migration.kafka.share_groups import set_share_offsets, share_offsets
from mqgateway.gateway.migration.kafka.topics import (
    add_partitions,
    create_topic,
    late,
    read_topics,
    set_configs,
)
from mqgateway.gateway.migration.plan import MigrationError

GROUPS_SECONDS: Final = 5.0
"""Interval of the copy of committed offsets, of the progress file, and of reports."""
PAUSES: Final = (0.5, 1.0, 2.0, 5.0, 10.0)
"""Seconds before an attempt after as many failures; the last one for all later ones."""
WITH_MEMBERS: Final = (
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.NON_EMPTY_GROUP,
)


class MigrationEnvironment(Protocol):
    """Time, output and the progress file of a run."""

    def monotonic(self) -> float:
        """Return the time in seconds."""
        ...

    def wait(self, seconds: float) -> None:
        """Wait."""
        ...

    def report(self, subject: str, what: str) -> None:
        """Show a line."""
        ...

    def keep(self) -> None:
        """Write the progress."""
        ...


class Migration:
    """A run of a plan."""

    def __init__(
        self,
        environment: MigrationEnvironment,
        source: KafkaCluster,
        target: KafkaCluster,
        plan: KafkaPlan,
        progress: KafkaProgress,
    ) -> None:
        self._environment = environment
        self._source = source
        self._target = target
        self._plan = plan
        self._progress = progress
        self._copier = Copier(source, target, plan.partitions(), progress)
        self._committed: dict[str, dict[Partition, CommittedOffset]] = {}
        self._held: dict[str, str] = {}
        self._reported = ""

    def prepare(self) -> None:
        """Make topics, partitions, access control lists and settings of groups.

        Raises `ClientError`, `MigrationError`.
        """
        if self._progress.is_finished:
            raise MigrationError("this migration is finished: clients may use the target already")
        present = read_topics(self._target)
        for topic in self._plan.kafka_topics():
            here = present.get(topic.name)
            if here is None:
                refusal = create_topic(self._target, topic)
            elif here.partitions < topic.partitions:
                refusal = add_partitions(self._target, topic.name, topic.partitions)
            else:
                refusal = ""
            if refusal:
                raise MigrationError(f"the target refuses {topic.name}: {refusal}")
        for refusal in create_acls(self._target, self._plan.acls):
            self._environment.report("acls", refusal)
        for group, refusal in set_group_settings(self._target, self._plan.group_settings).items():
            self._environment.report(f"settings of group {group}", refusal)

    def follow(self, *, until_caught_up: bool) -> None:
        """Copy until it is interrupted, or until all that the source has is copied.

        Failures of connections and of leaders are waited for. Raises `MigrationError`, and `ClientError` for
        refusals that last.
        """
        failures, due = -1, 0.0
        while True:
            try:
                if failures:
                    self._copier.begin()
                    # A run that is killed in its first pass leaves records at the target. The next one must
                    # know where the copy began.
                    self._environment.keep()
                count = self._copier.copy()
                failures = 0
                now = self._environment.monotonic()
                is_done = not count and self._copier.lag == 0
                if now >= due or (is_done and until_caught_up):
                    due = now + GROUPS_SECONDS
                    self._follow_groups(self._plan.groups)
                    self._settle()
                if is_done and until_caught_up:
                    return
                if not self._plan.topics:
                    self._environment.wait(GROUPS_SECONDS)  # no broker was asked, which would have waited
            except ClientError as error:
                if not _is_passing(error):
                    raise
                failures = max(failures, 0) + 1
                self._environment.report("waiting", str(error))
                self._environment.wait(PAUSES[min(failures, len(PAUSES)) - 1])

    def finish(self) -> None:
        """Copy the rest after all clients have stopped, and end the migration. Raises as `follow`."""
        self.follow(until_caught_up=True)
        self._check_plan()
        ends = offsets(self._source, self._plan.partitions(), LATEST)
        for partition in self._plan.partitions():
            position = self._progress.partitions[partition].position
            if partition not in ends:
                raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"{partition} of the source")
            if position < ends[partition]:
                raise MigrationError(
                    f"{partition} of the source has records after {position} that are not committed: end its "
                    "open transactions, stop the producers, and finish again"
                )
        if unmatched := self._copier.unmatched():
            raise MigrationError(
                f"{min(unmatched)} of the target has more records than the source: {BEGIN_AGAIN}"
            )
        self._move_share_groups()
        if self._held:
            held = ", ".join(f"{group} ({why})" for group, why in sorted(self._held.items()))
            raise MigrationError(f"offsets of these groups were not moved: {held}")
        for topic in self._plan.kafka_topics():
            if (configs := late(topic.configs)) and (
                refusal := set_configs(self._target, topic.name, configs)
            ):
                self._environment.report(topic.name, refusal)
        # Not earlier: they would throttle the copy.
        for refusal in set_quotas(self._target, self._plan.client_quotas):
            self._environment.report("quotas", refusal)
        self._progress.is_finished = True
        self._environment.keep()
        self._environment.report("finished", "start the clients with the addresses of the target")

    def _check_plan(self) -> None:
        """Compare the source with the plan. Raises `MigrationError` if partitions were added since."""
        present = read_topics(self._source)
        planned = {topic.name: topic.partitions for topic in self._plan.kafka_topics()}
        for name, count in planned.items():
            if name in present and present[name].partitions > count:
                raise MigrationError(
                    f"{name} has {present[name].partitions} partitions now: make the plan again"
                )
        if others := sorted(set(present) - set(planned)):
            self._environment.report("left out", f"topics that the plan does not have: {', '.join(others)}")
        groups = {one.name for one in read_groups(self._source) if one.kind in OFFSET_KINDS}
        if others := sorted(groups - set(self._plan.groups)):
            self._environment.report("left out", f"groups that the plan does not have: {', '.join(others)}")

    def _follow_groups(self, groups: Sequence[str]) -> None:
        self._held.clear()
        for group in groups:
            found = committed_offsets(self._source, group)
            moved = self._translated(group, found)
            if moved == self._committed.get(group, {}):
                continue
            try:
                commit_offsets(self._target, group, moved)
            except KafkaError as error:
                if error.code not in WITH_MEMBERS:
                    raise
                self._held[group] = "it has members at the target"
                continue
            self._committed[group] = moved

    def _move_share_groups(self) -> None:
        """Set the start offsets of the plan's share groups at the target."""
        for group in self._plan.share_groups:
            starts: dict[Partition, int] = {}
            for partition, one in share_offsets(self._source, group).items():
                progress = self._progress.partitions.get(partition)
                if progress is not None:
                    starts[partition] = progress.offsets.target(one.start)
            try:
                if starts:
                    set_share_offsets(self._target, group, starts)
            except KafkaError as error:
                if error.code not in WITH_MEMBERS:
                    raise
                self._held[group] = "it has members at the target"

    def _translated(
        self, group: str, found: dict[Partition, CommittedOffset]
    ) -> dict[Partition, CommittedOffset]:
        """Return a group's offsets at the target, of partitions that are copied so far."""
        moved = {}
        for partition, one in found.items():
            progress = self._progress.partitions.get(partition)
            if progress is None:
                continue
            if one.offset == PENDING:
                self._held[group] = f"a transaction is about to commit its offset of {partition}"
                continue
            if one.offset > progress.position:
                self._held[group] = f"{partition} is at {one.offset}, copied up to {progress.position}"
                continue
            moved[partition] = CommittedOffset(progress.offsets.target(one.offset), one.metadata)
        return moved

    def _settle(self) -> None:
        self._environment.keep()
        text = f"{sum(one.records for one in self._copier.figures.values())} records, lag {self._copier.lag}"
        if waiting := self._copier.open_transactions():
            text += f", {len(waiting)} partitions with open transactions"
        if deleted := sum(one.deleted for one in self._copier.figures.values()):
            text += f", {deleted} offsets deleted at the source before they were copied"
        if self._held:
            text += f", offsets of {len(self._held)} groups not moved yet"
        if text != self._reported:
            self._reported = text
            self._environment.report("copied", text)


def _is_passing(error: ClientError) -> bool:
    """Return True for a failure that a later attempt may not have."""
    if isinstance(error, KafkaError):
        try:
            return ErrorCode(error.code).is_retriable
        except ValueError:
            return False
    return isinstance(error, Unreachable)
