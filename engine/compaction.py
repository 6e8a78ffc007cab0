"""Compacted queues, of the topics with that cleanup policy, and the schedule of their compaction.

    compaction/compactionLog, compactionCq    the files of each queue, see `compaction_files`
    compaction/position-checkpoint            the queue offset up to which each queue was compacted
    compaction/replacing                      only during a replacement: its files, to resume it

Messages are copied from the consume queue on each tick and each read, so a crash loses nothing that the
commit log has. One queue is compacted at a time, by a worker. RocketMQ: `CompactionStore`,
`CompactionService`, `CompactionPositionMgr`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Protocol
from zlib import crc32

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.engine.disk import Disk
from mqgateway.engine.message import StoredMessage
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.compaction_files import Original
from mqgateway.engine.store.compaction_log import (
    ENTRIES_MIN,
    ENTRY_SIZE,
    Compacted,
    CompactionLog,
    CompactionPlan,
    Replacement,
    compact,
    discard,
    places,
    replace,
)
from mqgateway.engine.store.file_queue import FilePool
from mqgateway.engine.store.results import NO_LIMITS, Accept, GetResult, GetStatus, TransferLimits
from mqgateway.engine.store.views.view import NOTHING, StoreStart, ViewCoverage
from mqgateway.engine.tables.jsonfile import load_table, save_table
from mqgateway.engine.worker import Worker

log = logging.getLogger(__name__)

SCAN_MILLIS = 30_000
"""Interval of the scan for queues that are not read. RocketMQ: `CompactionStore`."""
SYNC_MILLIS = 1000
COPIES_PER_TICK = 4

Key = tuple[str, int]


class CompactionSource(Protocol):
    """The consume queues to copy, and the log that they are derived from."""

    @property
    def max_physical_offset(self) -> int:
        """The log offset after the last record."""

    @property
    def flushed_offset(self) -> int:
        """The offset up to which the log is on stable storage."""

    def min_offset(self, topic: str, queue_id: int) -> int:
        """Return the offset of the oldest message."""

    def max_offset(self, topic: str, queue_id: int) -> int:
        """Return the offset after the last message."""

    def readable_end(self, topic: str, queue_id: int) -> int:
        """Return the offset up to which messages may be read."""

    def records(self, topic: str, queue_id: int, offset: int, count: int) -> list[tuple[bytes, int]]:
        """Return records, with tags codes, starting at an offset."""


class Compaction(Compacted):
    """All compacted queues of a store. Disk failures are logged and retried."""

    def __init__(
        self,
        options: StoreOptions,
        *,
        disk: Disk,
        clock: Clock,
        worker: Worker,
        root: str,
        source: CompactionSource,
        topics: Callable[[], Iterable[tuple[str, int]]],
        is_compacted: Callable[[str], bool],
    ) -> None:
        """`topics` returns all compacted topics with their queues; `is_compacted` checks one topic."""
        self._options = options
        self._disk = disk
        self._clock = clock
        self._worker = worker
        self._root = f"{root}/compaction"
        self._source = source
        self._topics = topics
        self._is_compacted = is_compacted
        self._pool = FilePool(disk)
        self._logs: dict[Key, CompactionLog] = {}
        self._due: dict[Key, int] = {}
        self._positions: dict[str, int] = {}
        self._scanned, self._synced = -SCAN_MILLIS, -SYNC_MILLIS
        self._is_working = self._is_syncing = False
        self._planned: tuple[Key, CompactionPlan, int] | None = None
        self._unfinished: tuple[Key, Replacement] | None = None
        self._check = True

    @property
    def _note(self) -> str:
        return f"{self._root}/replacing"

    @property
    def _checkpoint(self) -> str:
        return f"{self._root}/position-checkpoint"

    def covers(self, topic: str) -> bool:
        """Return True if a topic is compacted."""
        return self._is_compacted(topic)

    # Following the log: messages are copied from the consume queues.

    @property
    def takes_records(self) -> bool:
        """See `View`."""
        return False

    def repeat(self, message: StoredMessage) -> bool:
        """See `View`."""
        return True

    def load(self, start: StoreStart) -> Steps[ViewCoverage | None]:
        """Do nothing: `opened` loads, once the consume queues exist. See `View`."""
        yield from ()
        return None

    def opened(self, is_clean: bool) -> None:
        """Load all queues. Raises `CorruptFile`, `ConfigError` and `OSError`."""
        self._check = not is_clean
        table = load_table(self._disk, self._checkpoint) or {}
        self._positions = {str(key): int(value) for key, value in table.get("queueOffsetMap", {}).items()}
        self._end_replacement()
        for topic in self._disk.subdirs(f"{self._root}/compactionLog"):
            for queue_id in self._disk.subdirs(f"{self._root}/compactionLog/{topic}"):
                if queue_id.isdecimal():
                    discard(self._disk, places(self._options, self._root, topic, int(queue_id)))
                    self._open((topic, int(queue_id)))

    def _end_replacement(self) -> None:
        """Resume the replacement that a crash interrupted."""
        if not self._disk.exists(self._note):
            return
        note = load_table(self._disk, self._note) or {}
        key = str(note["topic"]), int(note["queueId"])
        replacement = Replacement(list(note["old"]), list(note["new"]), int(note["position"]))
        replace(self._disk, places(self._options, self._root, *key), replacement)
        self._positions[_name(key)] = replacement.position
        self._finish(key)

    def _finish(self, key: Key) -> None:
        """Clean up after a replacement and save the checkpoint."""
        discard(self._disk, places(self._options, self._root, *key))
        save_table(self._disk, self._checkpoint, {"queueOffsetMap": dict(self._positions)})
        for path in (self._note, f"{self._note}.bak"):
            if self._disk.exists(path):
                self._disk.unlink(path)
        self._disk.sync_dir(self._root)

    def _open(self, key: Key) -> CompactionLog:
        found = self._logs.get(key)
        if found is None:
            found = CompactionLog(self._options, self._pool, places(self._options, self._root, *key))
            found.load(self._original(key) if self._check else None, self._source.max_offset(*key))
            self._logs[key] = found
            # Spread over time. RocketMQ: `CompactionStore.loadAndGetClog`, which uses random delays.
            interval = self._options.compaction_schedule_internal
            delay = interval + 1000 + crc32(_name(key).encode()) % interval
            self._due[key] = elapsed_millis(self._clock) + delay
        return found

    def _original(self, key: Key) -> Original:
        """Return a function that reads the commit log's record of a message, for comparison."""

        def original(offset: int) -> bytes | None:
            if not self._source.min_offset(*key) <= offset < self._source.max_offset(*key):
                return None
            return next((record for record, _ in self._source.records(*key, offset, 1)), None)

        return original

    # Reading.

    def get(
        self,
        topic: str,
        queue_id: int,
        offset: int,
        max_count: int,
        max_bytes: int | None,
        accept: Accept | frozenset[int] | None,
        limits: TransferLimits = NO_LIMITS,
    ) -> GetResult:
        """Return the remaining messages of a queue from an offset on. RocketMQ: `CompactionStore`."""
        key = topic, queue_id
        if key not in self._logs and not self._source.max_offset(topic, queue_id):
            return GetResult(GetStatus.NO_MATCHED_LOGIC_QUEUE, 0, 0, 0)
        try:
            found = self._open(key)
            self._copy(key, found)
            return found.get(offset, max_count, max_bytes, accept, limits)
        except OSError as error:
            log.error("%s queue %d cannot be read at %d: %s", topic, queue_id, offset, error)
            return GetResult(GetStatus.OFFSET_FOUND_NULL, offset, 0, 0)

    def _copy(self, key: Key, found: CompactionLog) -> bool:
        """Copy some new messages; return True if there are more."""
        begin, end = self._source.min_offset(*key), self._source.readable_end(*key)
        return found.catch_up(lambda offset, count: self._source.records(*key, offset, count), begin, end)

    # Upkeep.

    def tick(self, is_failing: bool = False) -> None:
        """Copy and sync new messages, and compact what is due. Called every 100 ms or so."""
        now = elapsed_millis(self._clock)
        try:
            if now - self._scanned >= SCAN_MILLIS:
                self._scanned = now
                self._open_all()
            copies = 0
            for key, found in self._logs.items():
                while copies < COPIES_PER_TICK and self._copy(key, found):
                    copies += 1
            self._tick_files(now)
        except OSError as error:
            log.error("compacted queues cannot be written: %s", error)

    def _open_all(self) -> None:
        """Open the queues that have messages, whether they are read or not."""
        for topic, queues in self._topics():
            for queue_id in range(queues):
                if self._source.max_offset(topic, queue_id):
                    self._open((topic, queue_id))

    def _tick_files(self, now: int) -> None:
        if self._unfinished is not None:
            self._replace(*self._unfinished)
        if now - self._synced >= SYNC_MILLIS and not self._is_syncing:
            self._synced = now
            self._sync()
        for key, due in self._due.items():
            if due <= now and not self._is_working and self._planned is None:
                self._plan(key, now)
        if self._planned is not None and self._planned[2] <= self._source.flushed_offset:
            self._compact(*self._planned[:2])

    def _sync(self) -> None:
        logs = list(self._logs.values())
        begun = [(each, sync) for each in logs if (sync := each.files.begin_sync()) is not None]
        if not begun:
            return

        def work() -> None:
            for _, each_sync in begun:
                each_sync()

        def done(outcome: Exception | None) -> None:
            self._is_syncing = False
            for found, _ in begun:
                found.files.end_sync(outcome)

        self._is_syncing = True
        self._worker.run(work, done)

    def _plan(self, key: Key, now: int) -> None:
        """Choose the segments to compact. It starts once the log they were copied from is on stable storage.

        Otherwise a newer message that is lost could have deleted the older one.
        """
        interval = self._options.compaction_schedule_internal
        self._due[key] = now + interval + 1000 + crc32(_name(key).encode()) % interval
        room = self._options.max_offset_map_size // self._options.compaction_thread_num
        capacity = max(room // ENTRY_SIZE, ENTRIES_MIN)
        plan = self._logs[key].plan(self._positions.get(_name(key), -1), capacity)
        if plan is not None:
            self._planned = key, plan, self._source.max_physical_offset

    def _compact(self, key: Key, plan: CompactionPlan) -> None:
        """Run the plan on the worker."""
        self._planned = None
        began = self._clock.monotonic()

        def work() -> Replacement:
            made = compact(self._disk, plan)
            note = {"topic": key[0], "queueId": key[1], **made._asdict()}
            save_table(self._disk, self._note, note)
            return made

        def done(outcome: Replacement | Exception) -> None:
            self._is_working = False
            if isinstance(outcome, Exception):
                log.error("%s cannot be compacted: %s", _name(key), outcome)
                return
            seconds = self._clock.monotonic() - began
            log.info(
                "%s was compacted in %.3f s: %d files became %d",
                _name(key),
                seconds,
                len(outcome.old),
                len(outcome.new),
            )
            self._replace(key, outcome)

        self._is_working = True
        self._worker.run(work, done)

    def _replace(self, key: Key, replacement: Replacement) -> None:
        """Replace the files; retried on the next tick if the disk fails."""
        self._unfinished = key, replacement
        self._is_working = True
        try:
            if key in self._logs:
                self._logs[key].replaced(self._disk, replacement)
                self._positions[_name(key)] = replacement.position
        except OSError as error:
            log.error("compacted files of %s cannot be replaced: %s", _name(key), error)
            return

        def done(outcome: Exception | None) -> None:
            self._is_working = False
            if outcome is not None:
                log.error("%s cannot be written: %s", self._checkpoint, outcome)

        self._unfinished = None
        self._worker.run(lambda: self._finish(key), done)

    @property
    def is_idle(self) -> bool:
        """True unless a worker compacts or syncs."""
        return not self._is_working and not self._is_syncing

    def truncate(self, offset: int) -> int:
        """Truncate to the consume queues, which were truncated before. Raises `OSError`.

        A key whose older message was compacted away in favour of a truncated one is lost.
        """
        self._planned = None
        is_changed = False
        for key, found in self._logs.items():
            end = self._source.max_offset(*key)
            found.truncate(end)
            if self._positions.get(_name(key), -1) >= end:
                self._positions[_name(key)] = end - 1
                is_changed = True
        if is_changed:
            save_table(self._disk, self._checkpoint, {"queueOffsetMap": dict(self._positions)})
        return NOTHING

    def delete_topic(self, topic: str) -> bool:
        """Forget a topic and delete its files. Raises `OSError`."""
        is_known = any(key[0] == topic for key in self._logs)
        for key in [key for key in self._logs if key[0] == topic]:
            found = self._logs.pop(key)
            del self._due[key]
            if self._planned is not None and self._planned[0] == key:
                self._planned = None
            self._positions.pop(_name(key), None)
            for segment in found.files.segments:
                found.files.forget(segment.start)
        for kind in ("compactionLog", "compactionCq"):
            self._disk.rmtree(f"{self._root}/{kind}/{topic}")
        return is_known

    def state(self, oldest: int) -> object:
        """Return the newest message of each key, by queue, of those that the consume queues still have."""
        state = {}
        self._open_all()
        for key, found in self._logs.items():
            while self._copy(key, found):
                pass
            first = self._source.min_offset(*key)
            newest = {name: entry for name, entry in found.newest().items() if entry[0] >= first}
            if newest:
                state[key] = newest
        return state

    def stop(self) -> None:
        """Write and sync everything; messages whose write fails are copied again after the next start."""
        try:
            for found in self._logs.values():
                found.files.write_out()
                if (work := found.files.begin_sync()) is not None:
                    work()
        except OSError as error:
            log.error("compacted queues cannot be written: %s", error)
        self._logs.clear()
        self._due.clear()
        self._pool.clear()


def _name(key: Key) -> str:
    """Return RocketMQ's name of a queue in its checkpoint."""
    return f"{key[0]}_{key[1]}"
