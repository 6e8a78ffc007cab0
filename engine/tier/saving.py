"""Saves ranges of a log to a tier. See `ranges` for what several writers may do.

    1. the epochs and ranges are listed, and the logs compared: where does this writer begin?
    2. an epoch that begins there is created
    3. for each range: its segments, then its index, if no later epoch has begun

A writer that is killed leaves segments without an index, which are orphans (`checking`). The next one begins
at the end of the last range that counts. A `create` whose answer was lost fails with `ObjectExists` when it
is repeated: the names of segments have the writer's id, and so has an index.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from mqgateway.engine.errors import StoreError
from mqgateway.engine.record_batches.crc32c import crc32c
from mqgateway.engine.tier.collect import CollectedQueue, CollectedRange, Collector
from mqgateway.engine.tier.format.epochs import TierEpoch
from mqgateway.engine.tier.format.index import (
    PLAIN_CODEC,
    Block,
    RangeHead,
    RangeHeader,
    SavedQueue,
    SegmentEntry,
    encode_index,
    pages_of,
)
from mqgateway.engine.tier.format.names import SegmentName, TierNames
from mqgateway.engine.tier.format.segment import SEGMENT_MAX, segment_header
from mqgateway.engine.tier.local_log import LocalLog
from mqgateway.engine.tier.object_store import ObjectExists, ObjectStore
from mqgateway.engine.tier.survey import Survey, read_epoch, read_header, survey

log = logging.getLogger(__name__)

Progress = Callable[[str, int, int], None]
_STAGE: Final = "saving"


class WriterFenced(StoreError):
    """Another writer has begun a later epoch: this one must stop."""


@dataclass
class SaveReport:
    """Result of saving. `saved_from` and `saved_to` are log offsets; without a new range the latter is the
    end of the last one. `epoch` is -1 if none was needed. `cut_ranges` are those that no longer count,
    `skipped` the bytes between the tier and the log's begin.
    """

    epoch: int = -1
    saved_from: int = 0
    saved_to: int = 0
    ranges: int = 0
    records: int = 0
    record_bytes: int = 0
    left_out: int = 0
    objects: int = 0
    object_bytes: int = 0
    cut_ranges: int = 0
    skipped: int = 0
    holes: list[tuple[int, int]] = field(default_factory=list)


class TierWriter:
    """One writer of a broker's tier. `writer` is an id of 16 hexadecimal digits that no other one has, `now`
    a time in ms. With `accepts_gap` it continues although the log begins after the end of the tier.
    """

    def __init__(
        self, store: ObjectStore, names: TierNames, writer: str, now: int, *, accepts_gap: bool = False
    ) -> None:
        self._store = store
        self._names = names
        self._writer = writer
        self._now = now
        self._accepts_gap = accepts_gap
        self._epoch = -1
        self.report = SaveReport()

    def save(self, local: LocalLog, collector: Collector, progress: Progress = lambda *_: None) -> SaveReport:
        """Save the log up to its limit. Raises `StoreError`, `ObjectStoreError`, `OSError`; ranges that were
        saved before count.
        """
        begin = self.begin(local)
        if begin is None:
            return self.report
        while (found := collector.collect(begin, local.limit)).end > begin:
            self.save_range(found, local)
            begin = found.end
            progress(_STAGE, begin - self.report.saved_from, local.limit - self.report.saved_from)
        return self.report

    def position(self, local: LocalLog) -> int:
        """Return the offset at which this writer would begin; see `begin`."""
        return self._start(local, survey(self._store, self._names))[0]

    def begin(self, local: LocalLog) -> int | None:
        """Return the offset at which this writer begins, in an epoch of its own; None if there is nothing to
        save. Raises `StoreError` if the tier is that of another log, `WriterFenced`, `ObjectStoreError`.
        """
        found = survey(self._store, self._names)
        start, kept = self._start(local, found)
        self.report.saved_from = self.report.saved_to = start
        if local.limit <= start:
            return None
        self._take_epoch(local, found, start, kept)
        return start

    def begin_at(self, epoch: int, start: int, path: str) -> None:
        """Begin the epoch `epoch` at an offset, without a look at logs: that of the store in `path` is made
        of the tier. An epoch that this writer has begun continues. Raises `WriterFenced`, `ObjectStoreError`.
        """
        self._create_epoch(TierEpoch(epoch, start, self._writer, self._now, path, restored=True))
        self._epoch = self.report.epoch = epoch
        self.report.saved_from = self.report.saved_to = start

    def claim(self, local: LocalLog) -> int:
        """Begin an epoch although there may be nothing to save; return the offset at which this writer
        begins. Raises as `begin` does."""
        found = survey(self._store, self._names)
        start, kept = self._start(local, found)
        self.report.saved_from = self.report.saved_to = start
        self._take_epoch(local, found, start, kept)
        return start

    def _take_epoch(self, local: LocalLog, found: Survey, start: int, kept: int) -> None:
        cut = len(found.ranges) - kept
        if cut:
            log.warning(
                "the log of %s is another one from %d on: %d saved ranges no longer count",
                local.path,
                start,
                cut,
            )
        self.report.cut_ranges = cut
        number = max(found.epochs, default=0) + 1
        self._create_epoch(TierEpoch(number, start, self._writer, self._now, local.path))
        self._epoch = self.report.epoch = number

    def _start(self, local: LocalLog, found: Survey) -> tuple[int, int]:
        """Return where saving continues, and how many of the ranges that count it keeps."""
        if not found.ranges:
            return local.start, 0
        newest = read_header(self._store, self._names, found.ranges[-1])
        if local.start > newest.end:
            self._check_gap(local, newest.end)
            self.report.skipped = local.start - newest.end
            return local.start, len(found.ranges)
        differs = False
        for kept in range(len(found.ranges), 0, -1):
            header = read_header(self._store, self._names, found.ranges[kept - 1])
            if not header.tail_size:
                continue
            is_same = local.matches(header.tail_position, header.tail_size, header.tail_digest)
            if is_same:
                self._refuse_lost(local, found, header.begin)
                return (header.end, kept) if differs else (newest.end, len(found.ranges))
            if is_same is not None:
                differs = True
            elif header.tail_position < local.start:
                break
        if differs:
            raise StoreError(
                f"the tier {self._names.root} has another log than {local.path}: no record at the end of a "
                "saved range is the same in both. Use another cluster name, broker name or store for this one"
            )
        return newest.end, len(found.ranges)

    def _refuse_lost(self, local: LocalLog, found: Survey, begin: int) -> None:
        """Raise `StoreError` if the tier was restored after the last range that a log has, which begins at
        `begin`: the log is that of the broker that was lost."""
        for epoch in found.epochs.values():
            if epoch.restored and begin < epoch.start:
                raise StoreError(
                    f"the tier {self._names.root} was restored to {epoch.store} in epoch {epoch.epoch}, and "
                    f"{local.path} is the store that was lost: stop this broker, or use another broker name"
                )

    def _check_gap(self, local: LocalLog, end: int) -> None:
        if not self._accepts_gap:
            raise StoreError(
                f"the log of {local.path} begins at {local.start}, the tier ends at {end}: "
                f"{local.start - end} bytes were deleted before they were saved. Accept the gap to continue "
                "without them"
            )

    def _create_epoch(self, epoch: TierEpoch) -> None:
        name = self._names.epoch(epoch.epoch)
        data = epoch.encode()
        try:
            self._store.create(name, data)
        except ObjectExists:
            size = self._store.head(name) or 0
            if read_epoch(self._store, self._names, epoch.epoch, size) != epoch:
                raise WriterFenced(f"another writer began epoch {epoch.epoch} at the same time") from None

    def check_epoch(self) -> None:
        """Raise `WriterFenced` if a later epoch has begun."""
        for name, _ in self._store.list_from(self._names.epochs, self._names.epoch(self._epoch)):
            raise WriterFenced(f"a later writer has begun {name}: this one, of epoch {self._epoch}, stops")

    def save_range(self, found: CollectedRange, local: LocalLog) -> None:
        """Save a range, which begins where the last one ended. Raises `WriterFenced`, `StoreError`,
        `ObjectStoreError`, `OSError`.
        """
        self.check_epoch()
        segments = _Segments(self._store, self._names, self._epoch, found.begin, self._writer)
        blocks: dict[CollectedQueue, tuple[Block, ...]] = {}
        for queue in sorted(found.queues, key=lambda each: (each.days, each.topic, each.queue_id)):
            blocks[queue] = tuple(_saved_blocks(queue, local, segments))
        segments.end()
        entries = segments.entries
        del segments  # its memory is needed for the index
        index = encode_index(*_index_of(found, blocks, entries, self._epoch, self._writer))
        self.check_epoch()
        self._commit(found, index)
        report = self.report
        report.saved_to = found.end
        report.ranges += 1
        report.records += found.records
        report.record_bytes += found.record_bytes
        report.left_out += found.left_out
        report.objects += len(entries) + 1
        report.object_bytes += sum(each.size for each in entries) + len(index)
        report.holes += found.holes

    def _commit(self, found: CollectedRange, index: bytes) -> None:
        key = self._names.range(self._epoch, found.begin)
        try:
            self._store.create(key, index)
        except ObjectExists:
            size = self._store.head(key)
            if size != len(index) or self._store.get_range(key, 0, size) != index:
                raise StoreError(f"{key} was written by another writer in the epoch of this one") from None


class _Segments:
    """The segments of a range, written one after the other. One buffer has the bytes of each: to use the same
    memory again costs less than to get new memory for each segment."""

    def __init__(self, store: ObjectStore, names: TierNames, epoch: int, begin: int, writer: str) -> None:
        self._store = store
        self._names = names
        self._name = SegmentName(epoch, begin, 0, 0, writer)
        self._buffer = bytearray()
        self._size = 0
        self._days = 0
        self.entries: list[SegmentEntry] = []

    def add(self, days: int, data: bytes) -> tuple[int, int]:
        """Add a block of records of a retention class; return the number of its segment and its position."""
        if self._size and (days != self._days or self._size + len(data) > SEGMENT_MAX):
            self.end()
        if not self._size:
            self._days = days
            self._append(segment_header(self._name.writer))
        position = self._size
        self._append(data)
        return len(self.entries), position

    def _append(self, data: bytes) -> None:
        end = self._size + len(data)
        self._buffer[self._size : end] = data
        self._size = end

    def end(self) -> None:
        """Write the segment that was begun, if any."""
        if not self._size:
            return
        number, size = len(self.entries), self._size
        name = self._names.segment(self._name._replace(days=self._days, number=number))
        with memoryview(self._buffer)[:size] as data:
            try:
                self._store.create(name, data)
            except ObjectExists:
                if self._store.head(name) != size:
                    raise StoreError(f"{name} has this writer's name, but other bytes") from None
        self.entries.append(SegmentEntry(self._days, number, size))
        self._size = 0


def _saved_blocks(queue: CollectedQueue, local: LocalLog, segments: _Segments) -> Iterator[Block]:
    """Add the blocks of a queue to segments."""
    for number, start in enumerate(queue.blocks):
        data = queue.records_of(number, local.files)
        if len(data) != start.size:
            raise StoreError(
                f"a file of the log of {local.path} was deleted while it was being saved: keep files longer, "
                "or save more often"
            )
        segment, position = segments.add(queue.days, data)
        end = queue.blocks[number + 1].first_unit if number + 1 < len(queue.blocks) else queue.count
        size = queue.kind.unit_size
        units = queue.units[start.first_unit * size : end * size]
        yield Block(
            segment,
            position,
            len(data),
            len(data),
            PLAIN_CODEC,
            crc32c(data),
            crc32c(units),
            start.first_unit,
            start.first_offset,
            start.first_time,
        )


def _index_of(
    found: CollectedRange,
    blocks: dict[CollectedQueue, tuple[Block, ...]],
    segments: list[SegmentEntry],
    epoch: int,
    writer: str,
) -> tuple[RangeHeader, RangeHead, bytes, bytes, bytes]:
    """Return the parts of the index of a range."""
    queues, units_at = [], 0
    for queue in found.queues:
        entry = SavedQueue(
            queue.topic,
            queue.queue_id,
            queue.kind,
            queue.first_offset,
            queue.end_offset,
            queue.count,
            units_at,
            queue.first_time,
            queue.last_time,
            blocks[queue],
        )
        queues.append(entry)
        units_at += len(queue.units)
    places = bytes(found.places)
    head = RangeHead(tuple(segments), tuple(found.holes), pages_of(found.begin, places), tuple(queues))
    header = RangeHeader(
        writer,
        epoch,
        found.begin,
        found.end,
        min((queue.first_time for queue in found.queues), default=0),
        max((queue.last_time for queue in found.queues), default=0),
        found.tail_position,
        len(found.tail),
        hashlib.sha256(found.tail).digest(),
        found.records,
        found.record_bytes,
        found.left_out,
        found.left_out_bytes,
        0,
        0,
        0,
        0,
    )
    units = b"".join(bytes(queue.units) for queue in found.queues)
    return header, head, units, places, found.keys.encode()
