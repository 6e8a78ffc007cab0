"""A range of a store's log as objects of a tier, in small blocks."""

from collections.abc import Iterator

from mqgateway.engine.record_batches.crc32c import crc32c
from mqgateway.engine.store.batch_consume_queue import BATCH_UNIT
from mqgateway.engine.store.consume_queue import UNIT
from mqgateway.engine.store.key_hashes import KeyHashes
from mqgateway.engine.store.message_store import MessageStore
from mqgateway.engine.store.record import properties_start, store_timestamp
from mqgateway.engine.tier.format.epochs import TierEpoch
from mqgateway.engine.tier.format.index import (
    PLACE,
    Block,
    QueueKind,
    RangeHead,
    RangeHeader,
    SavedQueue,
    SegmentEntry,
    encode_index,
    pages_of,
)
from mqgateway.engine.tier.format.keys import KeyEntries
from mqgateway.engine.tier.format.names import SegmentName, TierNames
from mqgateway.engine.tier.format.segment import segment_header
from mqgateway.engine.tier.object_store import ObjectStore
from mqgateway.engine.upkeep.walk import hashes_of, keys_of

WRITER = "0123456789abcdef"
NAMES = TierNames("DefaultCluster", "broker-a")
Saved = tuple[int, int, int, int, bytes, bytes]
"""Position, first offset, offset after, store time, unit and record."""


def begin_epoch(objects: ObjectStore, epoch: int, start: int) -> None:
    """Create the object of an epoch."""
    objects.create(NAMES.epoch(epoch), TierEpoch(epoch, start, WRITER, 0, "/store").encode())


def save(
    store: MessageStore, objects: ObjectStore, begin: int, end: int, *, epoch: int = 1, block_bytes: int = 600
) -> None:
    """Save the records [begin, end) of the log. A segment has the blocks of one queue."""
    segments: list[SegmentEntry] = []
    queues: list[SavedQueue] = []
    units = b""
    places: list[tuple[int, int, int]] = []
    keys = KeyEntries()
    for topic, ids in sorted(store.queues().items()):
        for queue_id in sorted(ids):
            kind, rows = _rows(store, topic, queue_id, begin, end)
            if not rows:
                continue
            blocks: list[Block] = []
            data = segment_header(WRITER)
            for first, some in _in_blocks(rows, block_bytes):
                records = b"".join(row[5] for row in some)
                own = b"".join(row[4] for row in some)
                size = len(records)
                blocks.append(
                    Block(
                        len(segments),
                        len(data),
                        size,
                        size,
                        0,
                        crc32c(records),
                        crc32c(own),
                        first,
                        some[0][1],
                        some[0][3],
                    )
                )
                data += records
            places += [(row[0] - begin, len(queues), number) for number, row in enumerate(rows)]
            for row in rows:
                found = keys_of(row[5][properties_start(row[5]) :])
                keys.add(hashes_of(KeyHashes(), topic, found), row[0] - begin)
            times = [row[3] for row in rows]
            queues.append(
                SavedQueue(
                    topic,
                    queue_id,
                    kind,
                    rows[0][1],
                    rows[-1][2],
                    len(rows),
                    len(units),
                    min(times),
                    max(times),
                    tuple(blocks),
                )
            )
            units += b"".join(row[4] for row in rows)
            objects.create(NAMES.segment(SegmentName(epoch, begin, 3, len(segments), WRITER)), data)
            segments.append(SegmentEntry(3, len(segments), len(data)))
    packed = b"".join(PLACE.pack(*place) for place in sorted(places))
    head = RangeHead(tuple(segments), (), pages_of(begin, packed), tuple(queues))
    first_time = min((queue.first_time for queue in queues), default=0)
    last_time = max((queue.last_time for queue in queues), default=0)
    times_and_tail = first_time, last_time, begin, 0, bytes(32)
    header = RangeHeader(WRITER, epoch, begin, end, *times_and_tail, len(places), 0, 0, 0, 0, 0, 0, 0)
    index = encode_index(header, head, units, packed, keys.encode())
    objects.create(NAMES.range(epoch, begin), index)


def _rows(
    store: MessageStore, topic: str, queue_id: int, begin: int, end: int
) -> tuple[QueueKind, list[Saved]]:
    rows: list[Saved] = []
    last = store.max_offset(topic, queue_id)
    batches = store.batch_units(topic, queue_id, 0, 1000)
    for unit in batches:
        record = store.record_at(unit.physical_offset)
        assert record is not None
        row = unit.physical_offset, unit.base_offset, unit.end_offset, unit.store_timestamp
        rows.append((*row, BATCH_UNIT.pack(*unit), record))
    if not batches:
        first = store.local_min_offset(topic, queue_id)
        found = store.consume_queue_units(topic, queue_id, first, last - first)
        for offset, (position, size, code) in enumerate(found, first):
            record = store.record_at(position)
            assert record is not None
            unit_bytes = UNIT.pack(position, size, code)
            rows.append((position, offset, offset + 1, store_timestamp(record), unit_bytes, record))
    kind = QueueKind.BATCHES if batches else QueueKind.MESSAGES
    return kind, [row for row in rows if begin <= row[0] < end]


def _in_blocks(rows: list[Saved], block_bytes: int) -> Iterator[tuple[int, list[Saved]]]:
    first, some, size = 0, list[Saved](), 0
    for number, row in enumerate(rows):
        if some and size + len(row[5]) > block_bytes:
            yield first, some
            first, some, size = number, [], 0
        some.append(row)
        size += len(row[5])
    yield first, some
