"""Reports on a tier: what it has, and whether its objects fit together.

A check reads the index of every range that counts, verifies its digest, and compares it with the ranges
beside it and with the list of segments. If it reads records too, every block is verified, every record
examined, and units, places and keys compared with it, but for segments that have expired. Nothing is changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from typing import Final

from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.store.batch_consume_queue import BATCH_UNIT
from mqgateway.engine.store.dispatch_request import inner_batch
from mqgateway.engine.store.key_hashes import KeyHashes
from mqgateway.engine.store.record import decode, examine, properties_start
from mqgateway.engine.store.unit_queue import PLACE as RECORD_PLACE
from mqgateway.engine.tier.format.index import (
    PAGE_ENTRIES,
    PLACE,
    Block,
    QueueKind,
    RangeHead,
    RangeHeader,
    SavedQueue,
    decode_head,
    has_digest,
    place_of_page,
    places_of,
    units_of_block,
)
from mqgateway.engine.tier.format.keys import KEY, KeyEntries
from mqgateway.engine.tier.format.names import SegmentName, TierNames
from mqgateway.engine.tier.format.segment import records_of, segment_header
from mqgateway.engine.tier.object_store import ObjectMissing, ObjectStore
from mqgateway.engine.tier.ranges import RangeKey
from mqgateway.engine.tier.removal import orphans_of, segments_in
from mqgateway.engine.tier.survey import Survey, read_header, survey
from mqgateway.engine.upkeep.walk import hashes_of, keys_of

Progress = Callable[[str, int, int], None]
_STAGE: Final = "checking"


@dataclass
class TierStatus:
    """Content of the tier of a broker: log offsets, bytes, times in ms.

    `saved_to` is -1 if nothing is saved. `bytes_by_class` are those of segments, by retention class in days
    (0 is unlimited). `ignored` ranges do not count. `expired` segments are marked, and not deleted yet.
    `orphans` are objects of ranges that do not count, and were not written in the last epoch.
    """

    root: str
    epochs: int = 0
    ranges: int = 0
    ignored: int = 0
    saved_from: int = -1
    saved_to: int = -1
    first_time: int = 0
    last_time: int = 0
    segments: int = 0
    bytes_by_class: Counter[int] = field(default_factory=Counter)
    expired: int = 0
    expired_bytes: int = 0
    orphans: int = 0
    orphan_bytes: int = 0


@dataclass
class TierCheck:
    """Result of a check. `gaps` are parts of the log between ranges that were lost before they were saved,
    `holes` parts without a valid record. `unused` are names and sizes of segments of no range that counts.
    `expired` are the numbers of segments that are marked, and of bytes of those that are not deleted yet.
    """

    root: str
    ranges: int = 0
    queues: int = 0
    records: int = 0
    record_bytes: int = 0
    saved_from: int = -1
    saved_to: int = -1
    damaged: list[str] = field(default_factory=list)
    gaps: list[tuple[int, int]] = field(default_factory=list)
    holes: list[tuple[int, int]] = field(default_factory=list)
    unused: list[tuple[str, int]] = field(default_factory=list)
    expired: tuple[int, int] = (0, 0)


def tier_status(store: ObjectStore, names: TierNames) -> TierStatus:
    """Return what a tier has. Raises `CorruptFile`, `ObjectStoreError`."""
    found = survey(store, names)
    status = TierStatus(names.root, len(found.epochs), len(found.ranges))
    status.ignored = len(found.all_ranges) - len(found.ranges)
    if found.ranges:
        first, last = (read_header(store, names, key) for key in (found.ranges[0], found.ranges[-1]))
        status.saved_from, status.saved_to = first.begin, last.end
        status.first_time, status.last_time = first.first_time, last.last_time
    segments, counting = segments_in(store, names), set(found.ranges)
    for segment, size in segments:
        key = RangeKey(segment.epoch, segment.begin)
        status.segments += 1
        status.bytes_by_class[segment.days] += size
        if key in counting and segment.number in found.expired_in(key):
            status.expired += 1
            status.expired_bytes += size
    orphans = list(orphans_of(found, names, segments))
    status.orphans, status.orphan_bytes = len(orphans), sum(each.size for each in orphans)
    return status


def check_tier(
    store: ObjectStore, names: TierNames, *, reads_records: bool = True, progress: Progress = lambda *_: None
) -> TierCheck:
    """Check the tier of a broker; see the module docstring. Raises `ObjectStoreError`, and `CorruptFile` for
    an epoch, without which it is unknown what counts.
    """
    return _Check(store, names, reads_records, progress).run()


class _Check:
    """One check in progress."""

    def __init__(self, store: ObjectStore, names: TierNames, reads_records: bool, progress: Progress) -> None:
        self._store = store
        self._names = names
        self._reads_records = reads_records
        self._progress = progress
        self._report = TierCheck(names.root)
        self._segments: dict[SegmentName, int] = {}
        self._used: set[SegmentName] = set()

    def run(self) -> TierCheck:
        found = survey(self._store, self._names)
        self._segments = dict(segments_in(self._store, self._names))
        report = self._report
        for number, key in enumerate(found.ranges):
            self._progress(_STAGE, number, len(found.ranges))
            try:
                self._check_range(key, found)
            except (CorruptFile, ObjectMissing) as error:
                report.damaged.append(str(error))
                # Its segments are needed to repair it.
                self._used.update(each for each in self._segments if each[:2] == key)
        unused = self._segments.keys() - self._used
        report.unused = sorted((self._names.segment(each), self._segments[each]) for each in unused)
        self._progress(_STAGE, len(found.ranges), len(found.ranges))
        return report

    def _check_range(self, key: RangeKey, found: Survey) -> None:
        name, report = self._names.range(*key), self._report
        header = read_header(self._store, self._names, key)
        self._check_tiling(header, found)
        index = self._store.get_range(name, 0, header.object_size)
        if self._store.head(name) != header.object_size or not has_digest(index):
            raise CorruptFile(name, 0, "the index does not match its digest")
        head = decode_head(header, index[header.head_at : header.units_at], name)
        report.ranges += 1
        report.queues += len(head.queues)
        report.records += header.records
        report.record_bytes += header.record_bytes
        report.holes += head.holes
        expired = found.expired_in(key)
        for entry in head.segments:
            segment = SegmentName(header.epoch, header.begin, entry.days, entry.number, header.writer)
            self._used.add(segment)
            if entry.number in expired:
                marked, left = report.expired
                report.expired = marked + 1, left + self._segments.get(segment, 0)
            elif self._segments.get(segment) != entry.size:
                size = self._segments.get(segment)
                state = "is missing" if size is None else f"has {size} bytes, its index says {entry.size}"
                raise CorruptFile(self._names.segment(segment), 0, f"the segment {state}")
        if self._reads_records:
            _RangeReader(self._store, self._names, header, head, index, expired).check()

    def _check_tiling(self, header: RangeHeader, found: Survey) -> None:
        """Compare the begin of a range with the end of the one before."""
        report, end = self._report, self._report.saved_to
        if end < 0:
            report.saved_from = header.begin
        elif header.begin > end and header.begin == found.epochs[header.epoch].start:
            report.gaps.append((end, header.begin))
        elif header.begin != end:
            what = f"the range begins at {header.begin}, the one before it ends at {end}"
            report.damaged.append(f"{self._names.range(header.epoch, header.begin)}: {what}")
        report.saved_to = max(end, header.end)


class _RangeReader:
    """Reads all records of a range, a segment at a time, except those that have expired."""

    def __init__(
        self,
        store: ObjectStore,
        names: TierNames,
        header: RangeHeader,
        head: RangeHead,
        index: bytes,
        expired: Container[int],
    ) -> None:
        self._store = store
        self._names = names
        self._header = header
        self._head = head
        self._index = index
        self._expired = expired
        self._name = names.range(header.epoch, header.begin)
        self._keys = KeyEntries()
        self._hashes = KeyHashes()
        self._unread = set[int]()
        """Positions of expired records, less the begin of the range."""

    def check(self) -> None:
        """Raise `CorruptFile` for the first thing that is wrong."""
        blocks: dict[int, list[tuple[SavedQueue, int]]] = {}
        for queue in self._head.queues:
            for index, entry in enumerate(queue.blocks):
                blocks.setdefault(entry.segment, []).append((queue, index))
        records = 0
        for number, stored in enumerate(self._head.segments):
            if stored.number in self._expired:
                records += sum(self._leave_out(queue, block) for queue, block in blocks.get(number, ()))
                continue
            header = self._header
            segment = self._names.segment(
                SegmentName(header.epoch, header.begin, stored.days, stored.number, header.writer)
            )
            data = self._store.get_range(segment, 0, stored.size)
            if not data.startswith(segment_header(header.writer)):
                raise CorruptFile(segment, 0, "the segment has another header")
            for queue, block in blocks.get(number, ()):
                records += self._check_block(queue, block, data, segment)
        if records != self._header.records:
            what = f"the range has {records} records, its header says {self._header.records}"
            raise CorruptFile(self._name, 0, what)
        self._check_places()
        self._check_keys()

    def _units(self, queue: SavedQueue, number: int) -> bytes:
        at, size = queue.units_place(number)
        at += self._header.units_at
        return units_of_block(queue, number, self._index[at : at + size], self._name)

    def _leave_out(self, queue: SavedQueue, number: int) -> int:
        """Note the records of an expired block; return how many there are."""
        places = list(_places_in(queue, queue.blocks[number], self._units(queue, number)))
        self._unread.update(position - self._header.begin for position, _, _ in places)
        return len(places)

    def _check_block(self, queue: SavedQueue, number: int, segment: bytes, name: str) -> int:
        """Compare the records of a block with their units; return how many there are."""
        block = queue.blocks[number]
        units = self._units(queue, number)
        end = block.position + block.stored_size
        records = records_of(block, segment[block.position : end], name)
        at = 0
        for position, size, offset in _places_in(queue, block, units):
            found = examine(records, at, position, True)
            if found != size:
                raise CorruptFile(name, block.position + at, f"no record of {size} bytes: {found}")
            hashes = self._hashes_in(records[at : at + size], queue.topic)
            self._keys.add(hashes, position - self._header.begin)
            message = decode(records, at)
            batch = inner_batch(message.properties) if queue.kind is QueueKind.BATCHES else None
            stored = message.topic, message.queue_id, batch[0] if batch else message.queue_offset
            if stored != (queue.topic, queue.queue_id, offset):
                what = f"the record is {stored}, the index says {(queue.topic, queue.queue_id, offset)}"
                raise CorruptFile(name, block.position + at, what)
            at += size
        return len(units) // queue.kind.unit_size

    def _hashes_in(self, record: bytes, topic: str) -> list[int]:
        return hashes_of(self._hashes, topic, keys_of(record[properties_start(record) :]))

    def _check_keys(self) -> None:
        """Compare the keys with those of the records that were read. Version 1 has none."""
        header = self._header
        keys = self._index[header.keys_at : header.keys_at + header.keys_size]
        if self._unread:
            entries = KEY.iter_unpack(keys)
            keys = b"".join(KEY.pack(key, place) for key, place in entries if place not in self._unread)
        if header.version > 1 and keys != self._keys.encode():
            raise CorruptFile(self._name, header.keys_at, "the keys are not those of the records")

    def _check_places(self) -> None:
        """Compare the places with the units they name."""
        header, head = self._header, self._head
        entries = 0
        for page in range(len(head.pages)):
            at, size = place_of_page(header, page)
            data = places_of(header, head, page, self._index[at : at + size], self._name)
            for entry, (offset, number, unit) in enumerate(PLACE.iter_unpack(data), page * PAGE_ENTRIES):
                where = header.places_at + entry * PLACE.size
                if number >= len(head.queues) or unit >= head.queues[number].units:
                    raise CorruptFile(self._name, where, "the place names a unit that is not there")
                queue = head.queues[number]
                at = header.units_at + queue.units_at + unit * queue.kind.unit_size
                if RECORD_PLACE.unpack_from(self._index, at)[0] != header.begin + offset:
                    raise CorruptFile(self._name, where, "the place names the unit of another record")
                entries += 1
        if entries != header.records:
            what = f"the index has {entries} places, its header says {header.records} records"
            raise CorruptFile(self._name, 0, what)


def _places_in(queue: SavedQueue, block: Block, units: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield log offset, size and queue offset of the records of a block."""
    for number, at in enumerate(range(0, len(units), queue.kind.unit_size)):
        position, size = RECORD_PLACE.unpack_from(units, at)
        if queue.kind is QueueKind.BATCHES:
            yield position, size, BATCH_UNIT.unpack_from(units, at)[4]
        else:
            yield position, size, block.first_offset + number
