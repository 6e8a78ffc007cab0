"""One compacted queue: of messages with the same key only the newest stays, for good.

What the consume queue has is copied here as it comes (`catch_up`). From time to time the files that are full
are compacted, in three steps, so that a crash at any of them leaves the old files or the new ones:

    plan      which files, and what is known of them already
    compact   a worker reads them and writes those that stay to `compacting/`, and syncs them
    replace   a note of the replacement is on the disk: files change places, however often that is begun anew

A message whose body is empty deletes its key. Standard: `CompactionLog`.
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
"""Bytes that the standard's map of keys takes for each."""
ENTRIES_MIN = 100
MAX_PULL_BYTES = 128 << 20
MIN_PULL_BYTES = 100
COPIED_TOGETHER = 512
"""Messages that are copied from the consume queue in one go."""

Source = Callable[[int, int], list[tuple[bytes, int]]]
"""Given a queue offset and how many: records of the consume queue from there on, with tags codes."""


class Compacted(View):
    """All compacted queues of a store, as a view; see `engine.compaction`."""

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
        """Return messages of a queue from an offset on."""
        raise NotImplementedError


@dataclass(frozen=True)
class Places:
    """Where the files of one queue are, and how long."""

    log_directory: str
    queue_directory: str
    log_size: int
    queue_size: int

    def files(self, disk: Disk, pool: FilePool | None = None, below: str = "") -> CompactionFiles:
        """The files, or those in a directory below."""
        log_directory = f"{self.log_directory}/{below}".rstrip("/")
        queue_directory = f"{self.queue_directory}/{below}".rstrip("/")
        pool = pool or FilePool(disk, 8)
        return CompactionFiles(pool, log_directory, queue_directory, self.log_size, self.queue_size)


def places(options: StoreOptions, root: str, topic: str, queue_id: int) -> Places:
    """Where a queue's files are. Standard: `CompactionLog.getCompactionLogSize`."""
    queue_size = options.compaction_cq_mapped_file_size // BATCH_UNIT_SIZE * BATCH_UNIT_SIZE
    whole, rest = divmod(options.compaction_mapped_file_size, queue_size)
    if whole < 5:
        log_size = queue_size * 5
    elif 0 < rest < queue_size // 2:
        log_size = whole * queue_size
    else:
        log_size = (whole + 1) * queue_size
    name = f"{topic}/{queue_id}"
    return Places(f"{root}/compactionLog/{name}", f"{root}/compactionCq/{name}", log_size, queue_size)


class Plan(NamedTuple):
    """Full segments to compact, of which those after `position`, a queue offset, were not compacted before.

    `capacity` is how many keys may be told apart at a time.
    """

    places: Places
    segments: list[Segment]
    position: int
    capacity: int


class Replacement(NamedTuple):
    """Segments that take the place of others, by their starts; up to `position` keys are told apart."""

    old: list[int]
    new: list[int]
    position: int


class CompactionLog:
    """One queue. Nothing here leaves the thread it is called on but what `compact` is given."""

    def __init__(self, options: StoreOptions, pool: FilePool, where: Places) -> None:
        self._options = options
        self._pool = pool
        self.places = where
        self.files = where.files(pool.disk, pool)
        self._next = 0
        self.is_whole = False
        """Whether the files can be read: not before they are loaded, and not while they change places."""

    def load(self, original: Original | None = None, source_end: int = 0) -> None:
        """Find what is there; after a crash, when `original` is given, only what is whole and not beyond the
        end of the consume queue, `source_end`. Raises `CorruptFile` and `OSError`.
        """
        self.files.load(original)
        # A consume queue that has nothing at all may have lost more than what came last: full files stay.
        if original is not None and (source_end or len(self.files.segments) == 1):
            self.files.cut_from(source_end)
        self._next = self.files.max_offset
        self.is_whole = True

    def catch_up(self, source: Source, begin: int, end: int) -> bool:
        """Copy messages that have come, up to a limit; whether there are more. Raises `OSError`.

        The consume queue reaches from `begin` to `end`. Messages without a key, which only a batch can bring,
        stay out.
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
            self._next += 1  # it is not in the log any more
        return self._next < end

    def _put(self, record: bytes, message: StoredMessage, tags_code: int) -> None:
        if not message.properties.get(PROPERTY_KEYS, "").strip():
            log.warning("%s: message %d has no key", self.places.log_directory, message.queue_offset)
        elif not self.files.put(record, message.queue_offset, tags_code, message.store_timestamp):
            log.warning("%s: message %d is too long", self.places.log_directory, message.queue_offset)

    def truncate(self, end: int) -> None:
        """Forget messages from a queue offset on, where the consume queue ends now. Raises `OSError`."""
        self.files.write_out()
        self.files.cut_from(end)
        self._next = min(self._next, end)

    def newest(self) -> dict[str, tuple[int, bytes]]:
        """Return queue offset and body of the newest message of each key, if it deletes nothing."""
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
        """Messages from a queue offset on, those that are left. Raises `OSError`.

        Standard: `CompactionLog.getMessage`, which leaves the choice to the reader.
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
            # At worst by one, so that a reader gets past what cannot be read.
            return GetResult(GetStatus.NO_MATCHED_MESSAGE, max(next_offset, offset + 1), low, high)
        return GetResult(GetStatus.FOUND, next_offset, low, high, b"".join(records), offsets)

    # Compacting.

    def plan(self, position: int, capacity: int) -> Plan | None:
        """What is to be compacted; None if no full segment has messages after `position`."""
        full = [Segment(s.start, s.count, s.first, s.last, s.used) for s in self.files.segments[:-1]]
        if not any(segment.last > position for segment in full):
            return None
        return Plan(self.places, full, position, capacity)

    def replaced(self, disk: Disk, replacement: Replacement) -> None:
        """Let the new files take their places. Raises `OSError`; then nothing can be read until it is called
        again, or the next start.
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


def compact(disk: Disk, plan: Plan) -> Replacement:
    """Write what stays of full segments to `compacting/`, and sync it. Raises `OSError`.

    Runs on a worker: nobody writes these files any more. Standard: `CompactionLog.compaction`.
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


def _newest(source: CompactionFiles, plan: Plan) -> tuple[dict[str, int], int]:
    """The newest queue offset of each key after the plan's position, up to where keys can be told apart.

    The standard gives up where there are too many keys; here the rest has its turn the next time.
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


def replace(disk: Disk, where: Places, replacement: Replacement) -> None:
    """Put the files in `compacting/` in the place of the old ones; may be begun again at any time, until
    `discard`. Raises `OSError`.
    """
    for directory in (where.log_directory, where.queue_directory):
        if not disk.is_dir(directory):
            continue  # its topic is deleted
        for start in replacement.new:
            made = f"{directory}/{COMPACTING}/{file_name(start)}"
            if disk.exists(made):
                disk.rename(made, f"{directory}/{file_name(start)}")
        for start in replacement.old:
            path = f"{directory}/{file_name(start)}"
            if start not in replacement.new and disk.exists(path):
                disk.unlink(path)
        disk.sync_dir(directory)


def discard(disk: Disk, where: Places) -> None:
    """Remove `compacting/`: what an interrupted compaction left, or what is moved away. Raises `OSError`."""
    for directory in (where.log_directory, where.queue_directory):
        disk.rmtree(f"{directory}/{COMPACTING}")
