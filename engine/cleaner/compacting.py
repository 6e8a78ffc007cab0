"""One compaction of a queue, as a cooperative task.

Two passes: the first one maps the keys of the dirty records, behind the compacted part; the second one
copies what stays of the compacted part and of these records into a new file. Nothing is changed before that
takes the old one's place, so a compaction that ends early is repeated from its beginning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from mqgateway.engine.cleaner.batches import BatchCleaner, LastOfProducer
from mqgateway.engine.cleaner.offset_map import SLOT_SIZE, OffsetMap, slots_for
from mqgateway.engine.cleaner.stored_records import clean_record, map_record
from mqgateway.engine.cleaner.transactions import PassedTransactions
from mqgateway.engine.disk import Disk
from mqgateway.engine.producers.transactions import AbortedTransaction
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.batch_consume_queue import BATCH_COUNT_MAX
from mqgateway.engine.store.batch_records import offsets_of
from mqgateway.engine.store.compacted_part import CompactedPart, PartWriter

TOGETHER: Final = 8
"""Records of the compacted part that are copied in one step."""


class DirtyRecords(Protocol):
    """The queue behind its compacted part."""

    def read(self, offset: int) -> tuple[Sequence[bytes], int] | None:
        """Return some records from a queue offset on, and the greater offset to read next. Those that are
        gone are left out. None: they are there after a later step. Raises `OSError`."""


class CleaningPlan(NamedTuple):
    """The work of one compaction.

    Records before the queue offset `start` are dropped, those from `begin` to `end` are dirty. The map of
    keys has `slots`. `aborted` are the aborted transactions up to `end`, `last_records` has the active
    producers. Times are in ms.
    """

    start: int
    begin: int
    end: int
    slots: int
    aborted: Sequence[AbortedTransaction]
    last_records: Mapping[int, LastOfProducer]
    now: int
    delete_retention: int


class CompactionResult(NamedTuple):
    """The queue offset up to which a queue is compacted, the records that were read and kept, the bytes of
    the latter, and the batches among them that cannot be read."""

    end: int
    records_read: int
    records_kept: int
    size: int
    unreadable: int


def slots_within(memory: int, dirty: int) -> int:
    """Return the slots of a map for so many dirty records, in so many bytes. A batch fits at least."""
    return max(min(slots_for(dirty), memory // SLOT_SIZE), slots_for(BATCH_COUNT_MAX))


def compacting(
    disk: Disk, path: str, old: CompactedPart | None, dirty: DirtyRecords, plan: CleaningPlan
) -> Steps[CompactionResult]:
    """Write the compacted part at `path` again, with the dirty records as far as their keys fit into the map.

    Raises `CorruptFile` and `OSError`; then the old file is still there.
    """
    offsets = OffsetMap(plan.slots)
    end = yield from _mapping(dirty, plan, offsets)
    passed = PassedTransactions(plan.aborted)
    cleaner = BatchCleaner(offsets, passed, plan.last_records, end, plan.now, plan.delete_retention)
    writer = PartWriter(disk, path)
    read = kept = 0
    compacted = () if old is None else old.records(plan.start)
    for records in _chunks(compacted, dirty, plan.begin, end):
        for record in records or ():
            if offsets_of(record)[1] <= plan.start:
                continue
            read += 1
            rest = clean_record(record, cleaner)
            if rest is not None:
                kept += 1
                writer.add(rest)
        yield
    begin = plan.begin if old is None else old.begin
    size = writer.size
    writer.finish(max(begin, plan.start), end)
    return CompactionResult(end, read, kept, size, cleaner.unreadable)


def _mapping(dirty: DirtyRecords, plan: CleaningPlan, offsets: OffsetMap) -> Steps[int]:
    """Map the keys of the dirty records; return the end of those that fit."""
    passed = PassedTransactions(plan.aborted)
    end = plan.begin
    for records in _dirty_chunks(dirty, plan.begin, plan.end):
        for record in records or ():
            if not map_record(record, offsets, passed):
                return end
            end = offsets_of(record)[1]
        yield
    return plan.end


def _chunks(
    compacted: Iterable[bytes], dirty: DirtyRecords, begin: int, end: int
) -> Iterator[Sequence[bytes] | None]:
    """Yield all records before an offset, some together; None as long as the next ones are not there."""
    some: list[bytes] = []
    for record in compacted:
        some.append(record)
        if len(some) == TOGETHER:
            yield some
            some = []
    yield some
    yield from _dirty_chunks(dirty, begin, end)


def _dirty_chunks(dirty: DirtyRecords, begin: int, end: int) -> Iterator[Sequence[bytes] | None]:
    """Yield the records that have an offset of a range, as `_chunks` does."""
    offset = begin
    while offset < end:
        found = dirty.read(offset)
        if found is None:
            yield None
            continue
        records, offset = found
        places = [(record, *offsets_of(record)) for record in records]
        yield [record for record, first, after in places if after > begin and first < end]
