"""Parts of a tier that are loaded for readers: heads of ranges, blocks of records, pages of places.

The functions wait for the object store, so they run on a worker's thread. What they return does not change.
"""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Final, NamedTuple

from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.store.batch_consume_queue import BATCH_UNIT, BatchUnit
from mqgateway.engine.store.consume_queue import UNIT
from mqgateway.engine.tier.directory import SavedRange, read_head
from mqgateway.engine.tier.format.index import (
    PLACE,
    QueueKind,
    RangeHead,
    SavedQueue,
    place_of_page,
    places_of,
    units_of_block,
)
from mqgateway.engine.tier.format.names import SegmentName, TierNames
from mqgateway.engine.tier.format.segment import records_of
from mqgateway.engine.tier.object_store import ObjectMissing, ObjectStore

RUN_BYTES: Final = 4 << 20
"""Maximum of bytes of the blocks that are loaded by one request, unless one block is larger."""
_SIZE: Final = struct.Struct(">8xi")
_BASE: Final = struct.Struct(">28xq")
_BLOCK_WEIGHT: Final = 200
_QUEUE_WEIGHT, _ENTRY_WEIGHT = 600, 160
"""Bytes of memory of the objects of a queue, and of one of its blocks, in a head."""


class LoadedHead:
    """The head of a range, with its queues by topic and queue id."""

    def __init__(self, found: SavedRange, head: RangeHead) -> None:
        self.range = found
        self.head = head
        self._queues: dict[tuple[str, int], list[SavedQueue]] = {}
        for queue in head.queues:
            self._queues.setdefault((queue.topic, queue.queue_id), []).append(queue)
        blocks = sum(len(queue.blocks) for queue in head.queues)
        self.weight = len(head.queues) * _QUEUE_WEIGHT + blocks * _ENTRY_WEIGHT

    def queue(self, topic: str, queue_id: int, offset: int) -> SavedQueue | None:
        """Return the entry of a queue that has an offset; of several the last one, as the others were
        deleted."""
        for found in reversed(self._queues.get((topic, queue_id), [])):
            if found.first_offset <= offset < found.end_offset:
                return found
        return None

    def page_at(self, position: int) -> int:
        """Return the number of the page of places that has a position of the log, or -1."""
        return bisect_right(self.head.pages, position, key=lambda page: page[0]) - 1


class LoadedBlock:
    """Units and records of a block. `end_offset` is the queue offset after its last message."""

    __slots__ = ("_bases", "_starts", "_units", "end_offset", "first_offset", "kind", "records")

    def __init__(self, queue: SavedQueue, number: int, units: bytes, records: bytes) -> None:
        self.kind = queue.kind
        self.first_offset = queue.blocks[number].first_offset
        self.end_offset = queue.block_end(number)
        self.records = records
        self._units = units
        step = queue.kind.unit_size
        sizes = [_SIZE.unpack_from(units, at)[0] for at in range(0, len(units), step)]
        self._starts = array("I", accumulate(sizes, initial=0))
        self._bases = array("q")
        if queue.kind is QueueKind.BATCHES:
            self._bases.extend(_BASE.unpack_from(units, at)[0] for at in range(0, len(units), step))

    def __len__(self) -> int:
        return len(self._starts) - 1

    @property
    def weight(self) -> int:
        """Bytes of memory that it takes."""
        arrays = len(self._starts) * self._starts.itemsize + len(self._bases) * self._bases.itemsize
        return _BLOCK_WEIGHT + len(self._units) + len(self.records) + arrays

    def unit_at(self, offset: int) -> int:
        """Return the number of the unit with an offset."""
        if self.kind is QueueKind.MESSAGES:
            return offset - self.first_offset
        return max(bisect_right(self._bases, offset) - 1, 0)

    def unit(self, number: int) -> tuple[int, int, int]:
        """Return position in the log, size and tags code of a record."""
        # A unit of a batch begins with the same fields.
        position, size, code = UNIT.unpack_from(self._units, number * self.kind.unit_size)
        return position, size, code

    def batch_units(self, number: int) -> Iterator[BatchUnit]:
        """Yield the units of a queue of batches from a number on."""
        for at in range(number * BATCH_UNIT.size, len(self._units), BATCH_UNIT.size):
            yield BatchUnit(*BATCH_UNIT.unpack_from(self._units, at))

    def offset_of(self, number: int) -> int:
        """Return the queue offset of the first message of a unit."""
        return self._bases[number] if self._bases else self.first_offset + number

    def record(self, number: int) -> bytes:
        """Return the record of a unit."""
        return self.records[self._starts[number] : self._starts[number + 1]]


class GoneBlock(NamedTuple):
    """A block that cannot be read: its object was deleted, or is damaged; `reason` is for people."""

    reason: str
    weight: int = _BLOCK_WEIGHT


class PlacesPage(NamedTuple):
    """A page of places: where the records of a range are."""

    data: bytes

    @property
    def weight(self) -> int:
        """Bytes of memory that it takes."""
        return _BLOCK_WEIGHT + len(self.data)

    def find(self, distance: int) -> tuple[int, int] | None:
        """Return the numbers of the queue and of the unit of the record that begins at a distance from the
        range's begin."""
        low, high = 0, len(self.data) // PLACE.size
        while low < high:
            middle = (low + high) // 2
            if PLACE.unpack_from(self.data, middle * PLACE.size)[0] < distance:
                low = middle + 1
            else:
                high = middle
        if low * PLACE.size == len(self.data):
            return None
        found, queue, unit = PLACE.unpack_from(self.data, low * PLACE.size)
        return (queue, unit) if found == distance else None


def load_head(store: ObjectStore, found: SavedRange) -> LoadedHead:
    """Load the head of a range. Raises `CorruptFile`, `ObjectMissing` and `ObjectStoreUnavailable`."""
    _, head = read_head(store, found.name, found.header.object_size)
    return LoadedHead(found, head)


def load_page(store: ObjectStore, loaded: LoadedHead, page: int) -> PlacesPage:
    """Load a page of places. Raises as `load_head` does."""
    name, header = loaded.range.name, loaded.range.header
    at, size = place_of_page(header, page)
    return PlacesPage(places_of(header, loaded.head, page, store.get_range(name, at, size), name))


def run_of(queue: SavedQueue, first: int, most: int) -> range:
    """Return the numbers of up to `most` blocks from one on that one request loads: they adjoin."""
    blocks, total = queue.blocks, queue.blocks[first].stored_size
    end = first + 1
    while end < len(blocks) and end - first < most:
        before, block = blocks[end - 1], blocks[end]
        total += block.stored_size
        if (
            block.segment != before.segment
            or block.position != before.position + before.stored_size
            or total > RUN_BYTES
        ):
            break
        end += 1
    return range(first, end)


def load_run(
    store: ObjectStore, names: TierNames, loaded: LoadedHead, queue: SavedQueue, run: range
) -> list[LoadedBlock | GoneBlock]:
    """Load adjoining blocks of a queue by one request for their units and one for their records.

    A block that is damaged when it is loaded twice, or whose object is gone, is a `GoneBlock`. Raises
    `ObjectStoreUnavailable`.
    """
    blocks = _load_once(store, names, loaded, queue, run)
    if any(isinstance(block, GoneBlock) for block in blocks):
        blocks = _load_once(store, names, loaded, queue, run)
    return blocks


def _load_once(
    store: ObjectStore, names: TierNames, loaded: LoadedHead, queue: SavedQueue, run: range
) -> list[LoadedBlock | GoneBlock]:
    found, header = loaded.range, loaded.range.header
    first, last = queue.blocks[run[0]], queue.blocks[run[-1]]
    units_at = queue.units_place(run[0])[0]
    units_end = sum(queue.units_place(run[-1]))
    entry = loaded.head.segments[first.segment]
    segment = names.segment(
        SegmentName(found.key.epoch, found.key.begin, entry.days, entry.number, header.writer)
    )
    try:
        units = store.get_range(found.name, header.units_at + units_at, units_end - units_at)
        records = store.get_range(segment, first.position, last.position + last.stored_size - first.position)
    except (CorruptFile, ObjectMissing) as error:
        return [GoneBlock(str(error)) for _ in run]
    blocks: list[LoadedBlock | GoneBlock] = []
    for number in run:
        block = queue.blocks[number]
        at, size = queue.units_place(number)
        begin = block.position - first.position
        try:
            own = units_of_block(queue, number, units[at - units_at : at - units_at + size], found.name)
            data = records_of(block, records[begin : begin + block.stored_size], segment)
            blocks.append(LoadedBlock(queue, number, own, data))
        except CorruptFile as error:
            blocks.append(GoneBlock(str(error)))
    return blocks
