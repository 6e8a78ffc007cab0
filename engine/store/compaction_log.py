"""One compacted queue: of messages with the same key only the newest is kept, without a time limit.

Messages of the consume queue are copied here as they arrive (`catch_up`). Full files are compacted from time
to time, in three steps, so that a crash at any of them leaves the old files or the new ones:

    plan      the files, and what is known of them already
    compact   a worker reads them, writes the remaining records to `compacting/`, and syncs them
    replace   after the replacement is recorded on disk, files are renamed; this is idempotent

A message with an empty body deletes its key. RocketMQ: `CompactionLog`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from mqgateway.engine.disk import Disk
from mqgateway.engine.message import PROPERTY_KEYS, StoredMessage
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.store.batch_consume_queue import BATCH_UNIT_SIZE, BatchUnit
from mqgateway.engine.store.compaction_files import CompactionFiles, Original, Segment
from mqgateway.engine.store.file_queue import FilePool, file_name
from mqgateway.engine.store.record import decode, properties_of
from mqgateway.engine.store.results import NO_LIMITS, Accept, GetResult, GetStatus, TransferLimits
from mqgateway.engine.store.views.view import View

log = logging.getLogger(__name__)

COMPACTING = "compacting"
ENTRY_SIZE = 24
"""Bytes that an entry takes in RocketMQ's map of keys."""
ENTRIES_MIN = 100
MAX_PULL_BYTES = 128 << 20
MIN_PULL_BYTES = 100
COPIED_TOGETHER = 512
"""Messages copied from the consume queue in one call."""

Source = Callable[[int, int], list[tuple[bytes, int]]]
"""Given a queue offset and a count: returns records of the consume queue with their tags codes."""


class Compacted(View):
    """A view of all compacted queues of a store; see `engine.compaction`."""

    def covers(self, topic: str) -> bool:
        """Return True if a topic is compacted."""
        raise NotImplementedError

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
        """Return messages of a queue, starting at an offset."""
        raise NotImplementedError


@dataclass(frozen=True)
class CompactionLayout:
    """Directories and file sizes of one queue."""

    log_directory: str
    queue_directory: str
    log_size: int
    queue_size: int

    def files(self, disk: Disk, pool: FilePool | None = None, below: str = "") -> CompactionFiles:
        """Return the files, or those in the subdirectory `below`."""
        log_directory = f"{self.log_directory}/{below}".rstrip("/")
        queue_directory = f"{self.queue_directory}/{below}".rstrip("/")
        pool = pool or FilePool(disk, 8)
        return CompactionFiles(pool, log_directory, queue_directory, self.log_size, self.queue_size)


def places(options: StoreOptions, root: str, topic: str, queue_id: int) -> CompactionLayout:
    """Return the directories and file sizes of a queue. RocketMQ: `CompactionLog.getCompactionLogSize`."""
    queue_size = options.compaction_cq_mapped_file_size // BATCH_UNIT_SIZE * BATCH_UNIT_SIZE
    whole, rest = divmod(options.compaction_mapped_file_size, queue_size)
    if whole < 5:
        log_size = queue_size * 5
    elif 0 < rest < queue_size // 2:
        log_size = whole * queue_size
    else:
        log_size = (whole + 1) * queue_size
    name = f"{topic}/{queue_id}"
    return CompactionLayout(
        f"{root}/compactionLog/{name}", f"{root}/compactionCq/{name}", log_size, queue_size
    )


class CompactionPlan(NamedTuple):
    """Full segments to compact, of which those after the queue offset `position` were not compacted before.

    `capacity` is the maximum of keys per compaction.
    """

    places: CompactionLayout
    segments: list[Segment]
    position: int
    capacity: int


class Replacement(NamedTuple):
    """Start offsets of old segments and of their replacements; keys are unique up to `position`."""

    old: list[int]
    new: list[int]
    position: int


class CompactionLog:
    """One compacted queue. All methods run on the caller's thread; only `compact` runs on a worker."""

    def __init__(self, options: StoreOptions, pool: FilePool, where: CompactionLayout) -> None:
        self._options = options
        self._pool = pool
        self.places = where
        self.files = where.files(pool.disk, pool)
        self._next = 0
        self.is_whole = False
        """True if the files can be read: they are loaded, and no replacement is incomplete."""

    def load(self, original: Original | None = None, source_end: int = 0) -> None:
        """Load the files; after a crash (`original` is given) keep only intact records before `source_end`.

        `source_end` is the end of the consume queue. Raises `CorruptFile` and `OSError`.
        """
        self.files.load(original)
        # An empty consume queue may have lost more than its newest units: full files are kept.
        if original is not None and (source_end or len(self.files.segments) == 1):
            self.files.cut_from(source_end)
        self._next = self.files.max_offset
        self.is_whole = True

    def catch_up(self, source: Source, begin: int, end: int) -> bool:
        """Copy new messages, up to a limit; return True if there are more. Raises `OSError`.

        The consume queue ranges from `begin` to `end`. Messages without a key are skipped; only a batch can
        contain them.
        """
        self._next = max(self._next, begin)
        copied = source(self._next, min(COPIED_TOGETHER, end - self._next)) if self._next < end else []
        for record, tags_code in copied:
            message = decode(record)
            if message.queue_offset >= self._next:
                self._put(record, message, tags_code)
                self._next = message.queue_offset + 1
        self.files.write_out()
        if not copied and self._next < end:
            self._next += 1  # it is no longer in the log
        return self._next < end

    def _put(self, record: bytes, message: StoredMessage, tags_code: int) -> None:
        if not message.properties.get(PROPERTY_KEYS, "").strip():
            log.warning("%s: message %d has no key", self.places.log_directory, message.queue_offset)
        elif not self.files.put(record, message.queue_offset, tags_code, message.store_timestamp):
            log.warning("%s: message %d is too long", self.places.log_directory, message.queue_offset)

    def truncate(self, end: int) -> None:
        """Truncate at a queue offset, the new end of the consume queue. Raises `OSError`."""
        self.files.write_out()
        self.files.cut_from(end)
        self._next = min(self._next, end)

    def newest(self) -> dict[str, tuple[int, bytes]]:
        """Return queue offset and body of the newest message of each key, except deleted keys."""
        found: dict[str, tuple[int, bytes]] = {}
        for segment in self.files.segments:
            for unit in self.files.units(segment, 0, segment.count):
                message = decode(self.files.read(segment, unit.physical_offset, unit.size))
                found[message.properties[PROPERTY_KEYS]] = (unit.base_offset, message.body)
        return {key: entry for key, entry in found.items() if entry[1]}

    # Reading.

    def get(
        self,
        offset: int,
        max_count: int,
        max_bytes: int | None,
        accept: Accept | frozenset[int] | None,
        limits: TransferLimits = NO_LIMITS,
    ) -> GetResult:
        """Return the remaining messages from a queue offset on. Raises `OSError`.

        RocketMQ: `CompactionLog.getMessage`, which leaves filtering to the consumer.
        """
        low, high = self.files.min_offset, self.files.max_offset
        if not self.is_whole:
            return GetResult(GetStatus.OFFSET_FOUND_NULL, offset, low, high)
        if high == 0:
            return GetResult(GetStatus.NO_MESSAGE_IN_QUEUE, 0, low, high)
        if offset == high:
            return GetResult(GetStatus.OFFSET_OVERFLOW_ONE, offset, low, high)
        if offset > high:
            return GetResult(GetStatus.OFFSET_OVERFLOW_BADLY, high if low else low, low, high)
        return self._found(offset, max_count, max_bytes, accept, limits)

    def _found(
        self,
        offset: int,
        max_count: int,
        max_bytes: int | None,
        accept: Accept | frozenset[int] | None,
        limits: TransferLimits,
    ) -> GetResult:
        low, high = self.files.min_offset, self.files.max_offset
        limit = MAX_PULL_BYTES if max_bytes is None else min(max(max_bytes, MIN_PULL_BYTES), MAX_PULL_BYTES)
        limit = min(limit, limits.fresh_bytes)
        max_count = min(max_count, limits.fresh_count)
        found = self.files.find(offset)
        records: list[bytes] = []
        offsets: list[int] = []
        size, next_offset = 0, offset
        if found is not None:
            segment, number = self.files.segments[found[0]], found[1]
            window = max_count if accept is None else max(max_count, COPIED_TOGETHER)
            for unit in self.files.units(segment, number, window):
                if records and (len(records) >= max_count or size + unit.size > limit):
                    break
                record = self.files.read(segment, unit.physical_offset, unit.size)
                next_offset = unit.base_offset + 1
                if _is_wanted(accept, unit, record):
                    records.append(record)
                    offsets.append(unit.base_offset)
                    size += unit.size
        if not records:
            # Advance by at least one, so that a consumer gets past an unreadable message.
            return GetResult(GetStatus.NO_MATCHED_MESSAGE, max(next_offset, offset + 1), low, high)
        return GetResult(GetStatus.FOUND, next_offset, low, high, b"".join(records), offsets)

    # Compacting.

    def plan(self, position: int, capacity: int) -> CompactionPlan | None:
        """Return the plan of a compaction; None if no full segment has messages after `position`."""
        full = [Segment(s.start, s.count, s.first, s.last, s.used) for s in self.files.segments[:-1]]
        if not any(segment.last > position for segment in full):
            return None
        return CompactionPlan(self.places, full, position, capacity)

    def replaced(self, disk: Disk, replacement: Replacement) -> None:
        """Replace the old files by the new ones.

        Raises `OSError`; then the queue is unreadable until the call is repeated, or until the next start.
        """
        self.is_whole = False
        kept = [segment for segment in self.files.segments if segment.start not in replacement.old]
        for start in {*replacement.old, *replacement.new}:
            self.files.forget(start)
        replace(disk, self.places, replacement)
        fresh = self.places.files(disk, self._pool)
        fresh.load(None)
        self.files.segments = [s for s in fresh.segments if s.start in replacement.new] + kept
        self.is_whole = True


def _is_wanted(accept: Accept | frozenset[int] | None, unit: BatchUnit, record: bytes) -> bool:
    if accept is None:
        return True
    if isinstance(accept, frozenset):
        return unit.tags_code in accept
    return accept(properties_of(record))


def compact(disk: Disk, plan: CompactionPlan) -> Replacement:
    """Write the remaining records of full segments to `compacting/`, and sync them. Raises `OSError`.

    Runs on a worker: full segments are no longer written to. RocketMQ: `CompactionLog.compaction`.
    """
    discard(disk, plan.places)
    source = plan.places.files(disk)
    newest, position = _newest(source, plan)
    target = plan.places.files(disk, below=COMPACTING)
    for segment in plan.segments:
        for unit in source.units(segment, 0, segment.count):
            record = source.read(segment, unit.physical_offset, unit.size)
            if unit.base_offset > position or _stays(decode(record), newest):
                target.put(record, unit.base_offset, unit.tags_code, unit.store_timestamp)
        target.write_out()
    if target.segments:
        target.close()
    for made in target.segments:
        target.sync(made.start)
    old = [segment.start for segment in plan.segments]
    return Replacement(old, [segment.start for segment in target.segments], position)


def _newest(source: CompactionFiles, plan: CompactionPlan) -> tuple[dict[str, int], int]:
    """Return the newest queue offset of each key after the plan's position, and the last offset covered.

    RocketMQ fails if there are too many keys. Here the remaining messages are compacted the next time.
    """
    newest: dict[str, int] = {}
    position = plan.position
    for segment in plan.segments:
        if segment.last <= plan.position:
            continue
        for unit in source.units(segment, 0, segment.count):
            if unit.base_offset <= plan.position:
                continue
            record = source.read(segment, unit.physical_offset, unit.size)
            key = decode(record).properties.get(PROPERTY_KEYS, "")
            if key not in newest and len(newest) >= plan.capacity:
                return newest, position
            newest[key] = position = unit.base_offset
    return newest, position


def _stays(message: StoredMessage, newest: dict[str, int]) -> bool:
    key = message.properties.get(PROPERTY_KEYS, "")
    return message.queue_offset >= newest.get(key, -1) and bool(message.body)


def replace(disk: Disk, where: CompactionLayout, replacement: Replacement) -> None:
    """Move the files in `compacting/` over the old ones. Idempotent until `discard`. Raises `OSError`."""
    for directory in (where.log_directory, where.queue_directory):
        if not disk.is_dir(directory):
            continue  # its topic was deleted
        for start in replacement.new:
            made = f"{directory}/{COMPACTING}/{file_name(start)}"
            if disk.exists(made):
                disk.rename(made, f"{directory}/{file_name(start)}")
        for start in replacement.old:
            path = f"{directory}/{file_name(start)}"
            if start not in replacement.new and disk.exists(path):
                disk.unlink(path)
        disk.sync_dir(directory)


def discard(disk: Disk, where: CompactionLayout) -> None:
    """Remove `compacting/`, after an interrupted compaction or a replacement. Raises `OSError`."""
    for directory in (where.log_directory, where.queue_directory):
        disk.rmtree(f"{directory}/{COMPACTING}")
