"""Commits, deletions and expiry of offsets, and groups that consist of them only.

Standard: `OffsetMetadataManager`, `GroupMetadataManager.cleanupGroupMetadata`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from twisted.internet.defer import Deferred, fail, gatherResults, succeed
from twisted.python.failure import Failure

from mqgateway.engine.clock import Clock
from mqgateway.engine.steps import Steps, in_parts, run
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
)
from mqgateway.gateway.kafka.codec.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestTopic,
)
from mqgateway.gateway.kafka.codec.schema import NO_UUID
from mqgateway.gateway.kafka.consumer_groups.group import ModernGroup
from mqgateway.gateway.kafka.consumer_groups.records import CONSUMER_RECORDS
from mqgateway.gateway.kafka.coordinator.group import CONSUMER, GroupState
from mqgateway.gateway.kafka.coordinator.group_table import AnyGroup, KafkaGroupTable
from mqgateway.gateway.kafka.coordinator.journal import RecordJournal
from mqgateway.gateway.kafka.coordinator.offsets import GroupOffsets
from mqgateway.gateway.kafka.coordinator.pending import PendingOffsets
from mqgateway.gateway.kafka.coordinator.rebalance import Rebalances
from mqgateway.gateway.kafka.coordinator.records import (
    NEVER,
    Committed,
    OffsetKey,
    PendingKey,
    group_key,
    offset_key,
    offset_value,
    pending_key,
)
from mqgateway.gateway.kafka.coordinator.records_log import NotWritten, Records
from mqgateway.gateway.kafka.coordinator.settings import GroupSettings
from mqgateway.gateway.kafka.coordinator.shared_offsets import SharedOffsets
from mqgateway.gateway.kafka.coordinator.topic_catalog import TopicPartition
from mqgateway.gateway.kafka.share_groups.group import ShareGroup
from mqgateway.gateway.kafka.share_groups.records import SHARE_RECORDS

log = logging.getLogger(__name__)

MEMBER_EPOCH_SINCE = 9
"""Version of OffsetCommit from which members of consumer groups commit."""
GROUP_NOT_FOUND_SINCE = 9
"""Version of OffsetCommit from which an unknown group has an error of its own."""
HANDOVER = 60_000
"""Time after which a group that members of another protocol took over is theirs alone, ms."""
SLICE = 40
"""Offsets that are worked on in one step."""
WRITTEN_MAX = 500
"""Offsets that are deleted, or follow the shared table, by one batch of records."""

T = TypeVar("T")
Runner = Callable[[Steps["T | Deferred[T]"]], "Deferred[T]"]
"""Runs cooperative tasks one after another."""


class OffsetBatch:
    """Offsets that are committed together: all of them or none."""

    __slots__ = ("offsets", "records")

    def __init__(self) -> None:
        self.offsets: list[tuple[OffsetKey, Committed]] = []
        self.records = Records()

    def add(self, key: OffsetKey, committed: Committed) -> None:
        """Add the offset of a partition."""
        self.offsets.append((key, committed))
        self.records.add(offset_key(key), offset_value(committed))


class Commits:
    """Offsets of the groups of one coordinator.

    Records become durable in the order in which they were written, and the tables change in the order in
    which records become durable. Very many offsets are entered in steps, which `run_steps` runs; later
    changes wait behind them.
    """

    def __init__(
        self,
        settings: GroupSettings,
        clock: Clock,
        groups: KafkaGroupTable,
        rebalances: Rebalances,
        journal: RecordJournal,
        offsets: GroupOffsets,
        pending: PendingOffsets,
        shared: SharedOffsets,
        run_steps: Runner[None],
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._groups = groups
        self._rebalances = rebalances
        self._journal = journal
        self._offsets = offsets
        self._pending = pending
        self._shared = shared
        self._run_steps = run_steps
        self._taken_over: dict[str, int] = {}
        self._entering: list[Steps[None]] = []

    def abandon(self) -> None:
        """Enter nothing more: the tables are emptied, and read again."""
        for steps in self._entering:
            steps.close()

    # Commit

    def error(self, request: OffsetCommitRequest, version: int) -> ErrorCode:
        """Return why a commit is refused. A group that has only offsets is made by its first commit."""
        generation, member_id = request.generation_id_or_member_epoch, request.member_id
        group = self._groups.get(request.group_id)
        if group is None:
            if generation >= 0:
                unknown = version >= GROUP_NOT_FOUND_SINCE
                return ErrorCode.GROUP_ID_NOT_FOUND if unknown else ErrorCode.ILLEGAL_GENERATION
            return self._make_error(request.group_id)
        if isinstance(group, ShareGroup):
            return ErrorCode.GROUP_ID_NOT_FOUND
        if generation < 0 and group.is_empty:
            foreign = self._shared.has_members(group.id)
            return ErrorCode.UNKNOWN_MEMBER_ID if foreign else ErrorCode.NONE
        if isinstance(group, ModernGroup):
            return self._member_error(group, request, version)
        if generation < 0 and not member_id and request.group_instance_id is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        error = group.member_error(member_id, request.group_instance_id)
        if error:
            return error
        if generation != group.generation:
            return ErrorCode.ILLEGAL_GENERATION
        if group.state is GroupState.COMPLETING:
            return ErrorCode.REBALANCE_IN_PROGRESS
        self._rebalances.expect(group, group.members[member_id])
        return ErrorCode.NONE

    def _member_error(self, group: ModernGroup, request: OffsetCommitRequest, version: int) -> ErrorCode:
        """Return why a member of a consumer group may not commit."""
        if request.member_id in group.members and version < MEMBER_EPOCH_SINCE:
            return ErrorCode.UNSUPPORTED_VERSION
        epoch, places = request.generation_id_or_member_epoch, self._places(request.topics)
        return group.commit_error(request.member_id, epoch, places)

    def _places(
        self, topics: Sequence[OffsetCommitRequestTopic] | Sequence[TxnOffsetCommitRequestTopic]
    ) -> Iterator[TopicPartition]:
        """Yield the partitions of a commit. A topic that does not exist has an id that no topic has."""
        for topic in topics:
            topic_id = topic.topic_id if topic.topic_id != NO_UUID else self._shared.topic_id(topic.name)
            for partition in topic.partitions:
                yield topic_id or NO_UUID, partition.partition_index

    def transactional_error(self, request: TxnOffsetCommitRequest) -> ErrorCode:
        """Return why a commit in a transaction is refused. Clients of old versions name no member, and may
        commit while the group has members; a rebalance does not matter."""
        generation, member_id = request.generation_id_or_member_epoch, request.member_id
        group = self._groups.get(request.group_id)
        if group is None:
            return ErrorCode.ILLEGAL_GENERATION if generation >= 0 else self._make_error(request.group_id)
        if isinstance(group, ShareGroup):
            return ErrorCode.GROUP_ID_NOT_FOUND
        if generation < 0 and group.is_empty:
            foreign = self._shared.has_members(group.id)
            return ErrorCode.UNKNOWN_MEMBER_ID if foreign else ErrorCode.NONE
        if generation < 0 and not member_id and request.group_instance_id is None:
            return ErrorCode.NONE
        if isinstance(group, ModernGroup):
            error = group.commit_error(member_id, generation, self._places(request.topics))
            # Producers know no STALE_MEMBER_EPOCH.
            return ErrorCode.ILLEGAL_GENERATION if error is ErrorCode.STALE_MEMBER_EPOCH else error
        error = group.member_error(member_id, request.group_instance_id)
        if not error and generation != group.generation:
            return ErrorCode.ILLEGAL_GENERATION
        return error

    def _make_error(self, group_id: str) -> ErrorCode:
        """Make a group that has only offsets, or return why that is not possible."""
        if self._shared.has_members(group_id):
            return ErrorCode.UNKNOWN_MEMBER_ID
        made = self._groups.find_or_create(group_id, self._clock.millis())
        return ErrorCode.COORDINATOR_NOT_AVAILABLE if made is None else ErrorCode.NONE

    def is_too_large(self, metadata: str | None) -> bool:
        """Return True if metadata of an offset is too large; Java counts UTF-16 units."""
        if metadata is None or 2 * len(metadata) <= self._settings.offset_metadata_max:
            return False
        return len(metadata.encode("utf-16-le", "surrogatepass")) // 2 > self._settings.offset_metadata_max

    def has_room(self, count: int) -> bool:
        """Return True if so many offsets may be added."""
        return len(self._offsets) + len(self._pending) + count <= self._settings.offsets_max

    def commit(self, batch: OffsetBatch) -> Deferred[None]:
        """Record offsets once their records are durable; all of them or none. Fails with `NotWritten`."""
        if not batch.offsets:
            return succeed(None)
        superseded: list[PendingKey] = []
        if self._pending:
            superseded = [place for key, _ in batch.offsets for place in self._pending.at(key)]
        for place in superseded:
            batch.records.add(pending_key(place), None)
        if batch.records.is_too_large:
            return fail(
                NotWritten(ErrorCode.INVALID_COMMIT_OFFSET_SIZE, f"{len(batch.offsets)} offsets are too many")
            )
        return self.write(batch.records, self._superseding(batch.offsets, superseded))

    def _superseding(
        self, offsets: Sequence[tuple[OffsetKey, Committed]], superseded: Sequence[PendingKey]
    ) -> Steps[None]:
        """Enter offsets, and remove pending ones that they prevail over."""
        yield from self.entering(offsets)
        for place in superseded:
            self._pending.remove(place)

    def entering(self, offsets: Sequence[tuple[OffsetKey, Committed]]) -> Steps[None]:
        """Enter offsets in the tables; to be passed to `write`."""
        for part in in_parts(offsets, SLICE):
            for key, committed in part:
                self._offsets.put(key, committed)
                self._groups.find_or_create(key.group, committed.time)
            for key, committed in part:
                self._shared.put(key, committed.offset)
            yield

    def write(self, records: Records, entering: Steps[None]) -> Deferred[None]:
        """Write records; once they are durable, change the tables. Fails with `NotWritten`."""
        written = self._journal.write(records, self._clock.millis())
        return written.addCallback(lambda _: self._enter(entering, len(records)))

    def _enter(self, entering: Steps[None], count: int) -> Deferred[None] | None:
        if count <= SLICE and not self._entering:
            return run(entering)
        self._entering.append(entering)

        def done(outcome: T) -> T:
            self._entering.remove(entering)
            return outcome

        return self._run_steps(entering).addBoth(done)

    def committed(self, key: OffsetKey) -> Committed | None:
        """Return how far a group is, None if that is not known."""
        offset = self._shared.get(key)
        if offset is None:
            return None
        known = self._offsets.get(key)
        if known is not None and known.offset == offset and self.is_current(key.topic, known):
            return known
        return Committed(offset, -1, "", self._clock.millis())

    def is_current(self, topic: str, committed: Committed) -> bool:
        """Return True if an offset is of the topic that has the name now."""
        topic_id = self._shared.topic_id(topic)
        return topic_id is not None and committed.topic_id in (NO_UUID, topic_id)

    # Deletion

    def delete_error(self, group_id: str, group: AnyGroup | None) -> ErrorCode:
        """Return why offsets of a group cannot be deleted."""
        if self._shared.has_members(group_id):
            return ErrorCode.NON_EMPTY_GROUP
        if group is None:
            return ErrorCode.NONE if self._shared.keys(group_id) else ErrorCode.GROUP_ID_NOT_FOUND
        if isinstance(group, ShareGroup):
            return ErrorCode.GROUP_ID_NOT_FOUND
        is_busy = not group.is_empty and group.protocol_type != CONSUMER
        return ErrorCode.NON_EMPTY_GROUP if is_busy else ErrorCode.NONE

    def delete(self, keys: Iterable[OffsetKey]) -> Deferred[None]:
        """Delete offsets. Fails with `NotWritten`; a part of them may then be deleted."""
        return self._delete(tuple(keys))

    def delete_group(self, group_id: str) -> Deferred[ErrorCode]:
        """Delete a group without members, with its offsets."""
        group = self._groups.get(group_id)
        if self._shared.has_members(group_id) or (group is not None and not group.is_empty):
            return succeed(ErrorCode.NON_EMPTY_GROUP)
        if group is None and not self._shared.has_group(group_id):
            return succeed(ErrorCode.GROUP_ID_NOT_FOUND)
        keys = {
            *self._offsets.keys(group_id),
            *self._shared.keys(group_id),
            *self._pending.keys(group_id),
        }
        return self._delete(tuple(keys), group_id).addCallback(lambda _: self._end(group))

    def _end(self, group: AnyGroup | None) -> ErrorCode:
        """End a group that was deleted, unless members came meanwhile."""
        if group is not None and self._groups.get(group.id) is group:
            if not group.is_empty:
                return ErrorCode.NON_EMPTY_GROUP
            self._rebalances.end(group)
        return ErrorCode.NONE

    def _delete(
        self, keys: Sequence[OffsetKey], group_id: str | None = None, *, shared: bool = True
    ) -> Deferred[None]:
        """Delete offsets and, after them, the record of a group that has no members."""
        steps = self._deleting(keys, group_id, shared)
        return run(steps) if len(keys) <= SLICE else self._run_steps(steps)

    def _deleting(
        self, keys: Sequence[OffsetKey], group_id: str | None, shared: bool
    ) -> Steps[Deferred[None]]:
        writes: list[Deferred[None]] = []
        for part in in_parts(keys, WRITTEN_MAX):
            records = Records((offset_key(key), None) for key in part)
            for key in part:
                for place in self._pending.at(key):
                    records.add(pending_key(place), None)
            writes.append(self.write(records, self._removing(part, shared)))
            yield
        group = None if group_id is None else self._groups.get(group_id)
        if group_id is not None and (group is None or group.is_empty):
            tombstones = Records((key, None) for key in _keys_of(group_id, group))
            writes.append(self._journal.write(tombstones, self._clock.millis()))
        done = gatherResults(writes, consumeErrors=True)
        return done.addCallbacks(lambda _: None, lambda failure: failure.value.subFailure)

    def _removing(self, keys: Sequence[OffsetKey], shared: bool) -> Steps[None]:
        for part in in_parts(keys, SLICE):
            for key in part:
                self._offsets.remove(key)
                for place in self._pending.at(key):
                    self._pending.remove(place)
                if shared:
                    self._shared.remove(key.group, key.topic, (key.partition,))
            yield

    # What time does

    def follow(self) -> Iterator[None]:
        """Bring what others changed in the shared table into the log, in steps.

        A group that has had members of another protocol for a minute is removed from the log: the file of the
        shared table has its offsets by then.
        """
        now = self._clock.millis()
        for group in self._groups:
            yield from self._follow(group, now)
            self._hand_over(group, now)
        for group_id in [one for one in self._taken_over if self._groups.get(one) is None]:
            del self._taken_over[group_id]

    def _follow(self, group: AnyGroup, now: int) -> Iterator[None]:
        for keys in in_parts(tuple(self._offsets.keys(group.id)), SLICE):
            changed = OffsetBatch()
            removed: list[OffsetKey] = []
            for key in keys:
                known, offset = self._offsets.get(key), self._shared.get(key)
                if known is None:
                    continue
                if offset is None or not self.is_current(key.topic, known):
                    removed.append(key)
                elif offset != known.offset:
                    changed.add(key, Committed(offset, -1, "", now, NEVER, known.topic_id))
            # At once: a later commit must not be undone.
            self.commit(changed).addErrback(_failed, group.id)
            if removed:
                self._delete(removed, shared=False).addErrback(_failed, group.id)
            yield

    def _hand_over(self, group: AnyGroup, now: int) -> None:
        if isinstance(group, ShareGroup) or not group.is_empty or not self._shared.has_members(group.id):
            self._taken_over.pop(group.id, None)
        elif now - self._taken_over.setdefault(group.id, now) >= HANDOVER:
            log.info("group %s has members of another protocol and is theirs now", group.id)
            self._retire(group, tuple(self._offsets.keys(group.id)), shared=False)

    def expire(self) -> Iterator[None]:
        """Delete offsets that have expired, and groups without members that have none left, in steps."""
        now = self._clock.millis()
        for group in self._groups:
            yield
            if not self._shared.has_members(group.id):
                yield from self._expire(group, now)

    def _expire(self, group: AnyGroup, now: int) -> Iterator[None]:
        keys = tuple(self._offsets.keys(group.id))
        *parts, last = list(in_parts(keys, SLICE)) or [()]
        is_left = False
        for part in parts:
            expired = [key for key in part if self._is_expired(group, key, now)]
            is_left = is_left or len(expired) < len(part)
            self._delete(expired).addErrback(_failed, group.id)
            yield
        expired = [key for key in last if self._is_expired(group, key, now)]
        if (
            group.is_vacant
            and not is_left
            and len(expired) == len(last)
            and not self._pending.has_group(group.id)
        ):
            self._retire(group, expired, shared=True)
        else:
            self._delete(expired).addErrback(_failed, group.id)

    def _retire(self, group: AnyGroup, keys: Sequence[OffsetKey], *, shared: bool) -> None:
        done = self._delete(keys, group.id, shared=shared)
        done.addCallback(lambda _: self._end(group)).addErrback(_failed, group.id)

    def _is_expired(self, group: AnyGroup, key: OffsetKey, now: int) -> bool:
        committed = self._offsets.get(key)
        if committed is not None and self._pending.at(key):
            return False
        if committed is None or group.keeps_offsets(key.topic):
            return False
        if committed.expires != NEVER:
            return now >= committed.expires
        return now - group.retained_since(committed.time) >= self._settings.offsets_retention


def _keys_of(group_id: str, group: AnyGroup | None) -> Iterable[bytes]:
    """Return the keys of the records of a group, besides those of its offsets."""
    if isinstance(group, ModernGroup):
        return CONSUMER_RECORDS.tombstones(group)
    if isinstance(group, ShareGroup):
        return SHARE_RECORDS.tombstones(group)
    return (group_key(group_id),)


def _failed(failure: Failure, group_id: str) -> None:
    log.warning("offsets of group %s are not written: %s", group_id, failure.getErrorMessage())
