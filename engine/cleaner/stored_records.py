"""Stored records of a compacted queue: one holds a batch of Kafka, or messages of RocketMQ.

The messages of a record are judged as a batch that is made of them, and stay or go together. What a record
keeps of its batch is stored in its place: all other fields stay, so that the record keeps its position in the
log, but for the checksums and the time of birth, which is the greatest of the batch's.
"""

from __future__ import annotations

import struct
from typing import Final

from mqgateway.engine.cleaner.batches import BatchCleaner, map_batch
from mqgateway.engine.cleaner.offset_map import OffsetMap
from mqgateway.engine.cleaner.transactions import PassedTransactions
from mqgateway.engine.message import PROPERTY_CRC32
from mqgateway.engine.record_batches.batches import Batch
from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.mapping import batch_of
from mqgateway.engine.store.batch_records import batch_place
from mqgateway.engine.store.record import (
    CRC_SIZE,
    HEADS,
    HOST_V6_FLAGS,
    SYS_FLAG_AT,
    crc32,
    decode,
    fill_crc,
    store_timestamp,
)
from mqgateway.engine.store.whole_batches import messages_in

_SYS_FLAG: Final = struct.Struct(f">{SYS_FLAG_AT}xi")
_CRC_PROPERTY: Final = f"{PROPERTY_CRC32}\1".encode()
_SIZE, _BODY_CRC, _BORN, _BODY_LENGTH = 0, 2, 8, 14
"""Fields of a record's head."""


def map_record(record: bytes, offsets: OffsetMap, transactions: PassedTransactions) -> bool:
    """Note the offsets of a record's keys; see `map_batch`."""
    place = batch_place(record)
    if place is None:
        return map_batch(_made_of(record), offsets, transactions)
    try:
        batch = Batch(memoryview(record)[place[0] : place[1]])
    except CodecError:
        return True
    return map_batch(batch, offsets, transactions)


def clean_record(record: bytes, cleaner: BatchCleaner) -> bytes | None:
    """Take the next record of a queue; return what stays of it, None for nothing."""
    place = batch_place(record)
    if place is None:
        return record if cleaner.keeps(_made_of(record), store_timestamp(record)) else None
    try:
        batch = Batch(memoryview(record)[place[0] : place[1]])
    except CodecError:
        cleaner.unreadable += 1
        return record
    kept = cleaner.clean(batch)
    if kept is None:
        return None
    return record if kept is batch.data else _with_batch(record, place, bytes(kept))


def _made_of(record: bytes) -> Batch:
    return Batch(memoryview(batch_of(messages_in(decode(record)), 0)))


def _with_batch(record: bytes, place: tuple[int, int], batch: bytes) -> bytes:
    """Return a record with another batch at the place of its own."""
    begin, end = place
    head = HEADS[int(_SYS_FLAG.unpack_from(record)[0]) & HOST_V6_FLAGS]
    fields = list(head.unpack_from(record))
    latest = Batch(memoryview(batch)).max_timestamp
    fields[_SIZE] += len(batch) - (end - begin)
    fields[_BODY_CRC] = crc32(batch) & 0x7FFFFFFF
    fields[_BORN] = latest if latest >= 0 else fields[_BORN]
    fields[_BODY_LENGTH] = len(batch)
    made = b"".join((head.pack(*fields), batch, record[end:]))
    return fill_crc(made) if record[-CRC_SIZE:].startswith(_CRC_PROPERTY) else made
