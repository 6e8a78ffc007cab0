"""The share partitions of one broker: their sessions, their time, and what survives a restart.

An answered acknowledgement is a record that is as durable as the broker's flush and replication settings
demand. Locks are not written: after a restart, records that were acquired are available again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple, Protocol

from twisted.internet.defer import Deferred, FirstError, gatherResults, succeed
from twisted.python.failure import Failure

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.coordinator.deadlines import Deadlines
from mqgateway.gateway.kafka.coordinator.journal import RecordJournal
from mqgateway.gateway.kafka.coordinator.records_log import NotWritten, Records, RecordsLog
from mqgateway.gateway.kafka.share_groups.settings import ShareGroupSettings
from mqgateway.gateway.kafka.share_partitions.dead_letters import DeadLetters
from mqgateway.gateway.kafka.share_partitions.partition import NEVER, SharePartition
from mqgateway.gateway.kafka.share_partitions.ranges import OffsetRange
from mqgateway.gateway.kafka.share_partitions.records import (
    SNAPSHOT,
    ShareKey,
    StoredState,
    read_key,
    read_snapshot,
    read_update,
    snapshot_key,
    snapshot_value,
    update_key,
    update_value,
)
from mqgateway.gateway.kafka.share_partitions.sessions import MemberKey, ShareSessions, TopicPartitionId
from mqgateway.gateway.kafka.share_partitions.settings import PARTITIONS_MAX
from mqgateway.gateway.kafka.share_partitions.waiters import ShareWaiters

log = logging.getLogger(__name__)

LOAD_STEP: Final = 200
"""Records that are read from the log, and share partitions that are restored, at a time."""
CHANGES_MAX: Final = 64
"""Changed ranges after which a snapshot is written instead of an update."""
WRITE_BYTES: Final = 256 * 1024
"""Bytes of records that are written together; a share partition's more."""
SWEEP_INTERVAL: Final = 60_000
"""Time between searches for share partitions without topic or group, ms."""
SWEEP_STEP: Final = 100
"""Share partitions that a tick looks at."""
RETRY_INTERVAL: Final = 1000
"""Time after which a refused write is repeated that dead letters wait for, ms."""


class ShareGroupSource(Protocol):
    """The groups and topics that share partitions belong to."""

    def settings(self, group: str) -> ShareGroupSettings:
        """Return the settings of a group."""
        ...

    def is_gone(self, key: ShareKey) -> bool:
        """Return True if the topic or the group of a share partition does not exist any more."""
        ...

    def write_dead_letters(self, key: ShareKey, letters: Sequence[DeadLetters]) -> Deferred[None]:
        """Write dead letters of a share partition; fires, without a failure, once they are written or cannot
        be."""
        ...


class _Retry(NamedTuple):
    """The deadline of a share partition whose write is repeated."""

    key: ShareKey


class ShareEntry:
    """A share partition, with the state of its records.

    `changes` are those since the last snapshot; `needs_snapshot` says that they do not suffice.
    """

    __slots__ = ("changes", "created", "needs_snapshot", "partition", "snapshot")

    def __init__(self, partition: SharePartition, created: int, snapshot: int = 0) -> None:
        self.partition = partition
        self.created = created
        self.snapshot = snapshot
        self.changes: list[OffsetRange] = []
        self.needs_snapshot = True


class ShareTable:
    """The share partitions, and `max_sessions` share sessions at most.

    `retention` returns for how long the log keeps its records, ms.
    """

    def __init__(
        self,
        clock: Clock,
        records: RecordsLog,
        source: ShareGroupSource,
        retention: Callable[[], int],
        max_sessions: int,
    ) -> None:
        self.is_loaded = False
        self.sessions = ShareSessions(max_sessions)
        self.waiters = ShareWaiters()
        self._clock = clock
        self._source = source
        self._retention = retention
        self._journal = RecordJournal(records, "share partitions")
        self._entries: dict[ShareKey, ShareEntry] = {}
        self._groups: dict[str, set[ShareKey]] = {}
        self._deadlines = Deadlines()
        self._sweep: Iterator[None] = iter(())
        self._sweep_due = elapsed_millis(clock) + SWEEP_INTERVAL

    def __len__(self) -> int:
        return len(self._entries)

    # Start and end

    def unload(self) -> None:
        """Forget all share partitions: this broker has not got them, or has to read them again."""
        self.is_loaded = False
        self._entries.clear()
        self._groups.clear()
        self._deadlines.clear()
        self._sweep = iter(())
        self._journal.abandon(NotWritten(ErrorCode.NOT_COORDINATOR, "this broker is not the coordinator"))

    def load(self) -> Iterator[bool]:
        """Read the log in steps; yield True if nothing can be done at once: the log is not there yet."""
        snapshots: dict[ShareKey, bytes | None] = {}
        updates: dict[ShareKey, bytes | None] = {}
        for number, record in enumerate(self._journal.load(), 1):
            if record is None:
                yield True
                continue
            try:
                found = read_key(record[0])
            except CodecError as error:
                log.warning("a record of a share partition is skipped: %s", error)
                continue
            if found is not None:
                (snapshots if found[0] == SNAPSHOT else updates)[found[1]] = record[1]
            if not number % LOAD_STEP:
                yield False
        dead: dict[ShareKey, list[DeadLetters]] = {}
        for number, (key, value) in enumerate(snapshots.items(), 1):
            letters = [] if value is None else self._restore(key, value, updates.get(key))
            if letters:
                dead[key] = letters
            if not number % LOAD_STEP:
                yield False
        self.is_loaded = True
        for key, letters in dead.items():
            self._write_dead_letters(key, letters)
        log.info("%d share partitions were read", len(self._entries))

    def _restore(self, key: ShareKey, value: bytes, update_value: bytes | None) -> list[DeadLetters]:
        """Add a share partition; return the dead letters that were not written, as far as is known."""
        try:
            state = read_snapshot(value)
            update = None if update_value is None else read_update(update_value)
        except CodecError as error:
            log.warning("the state of share partition %s is skipped: %s", key, error)
            return []
        start, batches = state.start, list(state.batches)
        if update is not None and update.snapshot == state.snapshot:
            start = update.start
            batches += update.batches
        partition = SharePartition.restored(start, batches)
        self._add(key, ShareEntry(partition, state.created, state.snapshot))
        return partition.restored_dead_letters(self._source.settings(key.group).delivery_count_limit)

    # Share partitions

    def get(self, key: ShareKey) -> SharePartition | None:
        """Return a share partition, None for one that was not begun."""
        entry = self._entries.get(key)
        return None if entry is None else entry.partition

    def of_group(self, group: str) -> list[ShareKey]:
        """Return the share partitions of a group."""
        return list(self._groups.get(group, ()))

    def _add(self, key: ShareKey, entry: ShareEntry) -> ShareEntry:
        self._entries[key] = entry
        self._groups.setdefault(key.group, set()).add(key)
        return entry

    def _remove(self, key: ShareKey) -> None:
        del self._entries[key]
        self._deadlines.cancel(key)
        keys = self._groups[key.group]
        keys.discard(key)
        if not keys:
            del self._groups[key.group]

    def begin(self, key: ShareKey, start: int) -> SharePartition | None:
        """Begin a share partition at an offset; return None if there are as many as are allowed."""
        known = self._entries.get(key)
        if known is not None:
            return known.partition
        if len(self._entries) >= PARTITIONS_MAX:
            log.warning("share partition %s is refused: there are %d already", key, len(self._entries))
            return None
        entry = self._add(key, ShareEntry(SharePartition(start), self._clock.millis()))
        self._write_unawaited([key])
        return entry.partition

    def set_start(self, key: ShareKey, start: int) -> Deferred[None]:
        """Begin a share partition again at an offset; fires once that is durable. Fails with `NotWritten`."""
        entry = self._entries.get(key)
        if entry is None:
            entry = self._add(key, ShareEntry(SharePartition(start), self._clock.millis()))
        entry.partition, entry.needs_snapshot = SharePartition(start), True
        self.waiters.wake(key)
        return self.write([key])

    def discard(self, keys: Iterable[ShareKey]) -> Deferred[None]:
        """Remove share partitions; fires once that is durable. Fails with `NotWritten`."""
        records = Records()
        for key in keys:
            if key in self._entries:
                self._remove(key)
                records.add(snapshot_key(key), None)
                records.add(update_key(key), None)
                self.waiters.wake(key)
        return self._journal.write(records, self._clock.millis()) if records else succeed(None)

    def truncate(self, key: ShareKey, end: int) -> None:
        """Forget what is known of offsets that the log has not got."""
        entry = self._entries[key]
        entry.partition.truncate(end)
        entry.needs_snapshot = True

    def lock_deadline(self, settings: ShareGroupSettings) -> int:
        """Return until when records are locked that are acquired now, ms of the steady clock."""
        return elapsed_millis(self._clock) + settings.record_lock_duration

    def watch(self, key: ShareKey) -> None:
        """Free the records of a share partition once their time is up."""
        deadline = self._entries[key].partition.deadline
        if deadline != NEVER:
            self._deadlines.set(key, deadline, lambda: self._expire(key))

    def release(self, member: MemberKey, partitions: Iterable[TopicPartitionId]) -> Deferred[None]:
        """Free what a member has acquired; fires once that is durable. Fails with `NotWritten`."""
        settings = self._source.settings(member.group)
        freed: list[ShareKey] = []
        for one in partitions:
            key = ShareKey(member.group, *one)
            entry = self._entries.get(key)
            if entry is not None and entry.partition.release(member.member, settings):
                freed.append(key)
        return self.write(freed)

    def close_session(self, member: MemberKey) -> Deferred[None]:
        """Close the session of a member, if it has one, and free what it has acquired."""
        session = self.sessions.remove(member)
        return succeed(None) if session is None else self.release(member, session.partitions)

    # Records

    def write(self, keys: Iterable[ShareKey]) -> Deferred[None]:
        """Write what has changed of share partitions, and wake the fetches that wait for it.

        Fires once it is durable. Fails with `NotWritten`; the next write has the changes then.
        """
        now = self._clock.millis()
        writes: list[Deferred[None]] = []
        records = Records()
        written: dict[ShareKey, list[DeadLetters]] = {}
        for key in keys:
            entry = self._entries.get(key)
            if entry is not None:
                records.add(*self._record(key, entry, now))
                written[key] = entry.partition.dead_letters()
            if len(records.body) > WRITE_BYTES:
                writes.append(self._write(records, written, now))
                records, written = Records(), {}
        if records:
            writes.append(self._write(records, written, now))
        return gatherResults(writes, consumeErrors=True).addCallbacks(lambda _: None, _first_error)

    def _record(self, key: ShareKey, entry: ShareEntry, now: int) -> tuple[bytes, bytes]:
        partition = entry.partition
        entry.changes += partition.changed()
        start, done = partition.start, partition.done
        if not entry.needs_snapshot and len(entry.changes) <= CHANGES_MAX:
            state = StoredState(entry.snapshot, start, done, entry.changes)
            return update_key(key), update_value(state)
        entry.snapshot += 1
        entry.changes, entry.needs_snapshot = [], False
        state = StoredState(entry.snapshot, start, done, partition.stored(), entry.created)
        return snapshot_key(key), snapshot_value(state, now)

    def _write(
        self, records: Records, keys: Mapping[ShareKey, list[DeadLetters]], now: int
    ) -> Deferred[None]:
        """Write the records of share partitions, and their dead letters once that is durable."""
        written: Deferred[Any] = self._journal.write(records, now)
        written.addCallbacks(self._written, self._not_written, callbackArgs=(keys,), errbackArgs=(keys,))
        for key in keys:
            self.waiters.wake(key)
        return written

    def _written(self, result: object, keys: Mapping[ShareKey, list[DeadLetters]]) -> object:
        for key, letters in keys.items():
            self._write_dead_letters(key, letters)
        return result

    def _not_written(self, failure: Failure, keys: Mapping[ShareKey, list[DeadLetters]]) -> Failure:
        """Write a snapshot the next time: whether the log has this record is not known."""
        due = elapsed_millis(self._clock) + RETRY_INTERVAL
        for key, letters in keys.items():
            entry = self._entries.get(key)
            if entry is None:
                continue
            entry.needs_snapshot = True
            if letters:
                entry.partition.return_dead_letters(letters)
                self._deadlines.set(_Retry(key), due, partial(self._write_unawaited, [key]))
        return failure

    def _write_dead_letters(self, key: ShareKey, letters: Sequence[DeadLetters]) -> None:
        """Write dead letters, and archive their records, unless the share partition was begun again."""
        entry = self._entries.get(key)
        if entry is None or not letters:
            return
        partition = entry.partition

        def archive(_: object) -> None:
            known = self._entries.get(key)
            if known is not None and known.partition is partition:
                partition.archive_dead_letters(letters)
                self._write_unawaited([key])

        self._source.write_dead_letters(key, letters).addCallback(archive)

    def _write_unawaited(self, keys: Iterable[ShareKey]) -> None:
        self.write(keys).addErrback(log_not_written)

    # Time

    def tick(self) -> None:
        """Do what is due."""
        now = elapsed_millis(self._clock)
        self._deadlines.run(now)
        self._journal.refresh(self._clock.millis(), self._retention() // 2)
        if now >= self._sweep_due:
            self._sweep_due = now + SWEEP_INTERVAL
            self._sweep = self._swept()
        for _ in islice(self._sweep, SWEEP_STEP):
            pass

    def _expire(self, key: ShareKey) -> None:
        entry = self._entries.get(key)
        if entry is None:
            return
        if entry.partition.expire(elapsed_millis(self._clock), self._source.settings(key.group)):
            self._write_unawaited([key])
        self.watch(key)

    def _swept(self) -> Iterator[None]:
        """Remove the share partitions whose topic or group is gone."""
        for key in tuple(self._entries):
            if self._source.is_gone(key):
                self.discard([key]).addErrback(log_not_written)
            yield


def _first_error(failure: Failure) -> Failure:
    """Return the failure of the first write that failed."""
    assert isinstance(failure.value, FirstError)
    reason: Failure = failure.value.subFailure
    return reason


def log_not_written(failure: Failure) -> None:
    """Log that changes of share partitions are not written yet."""
    if not isinstance(failure.value, NotWritten):
        failure.raiseException()
    log.warning("the state of share partitions is not written: %s", failure.getErrorMessage())
