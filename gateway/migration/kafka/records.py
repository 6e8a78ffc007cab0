"""Batches of a source as the target is sent them: committed records only, at offsets without gaps.

Source of the choice of committed records: `CompletedFetch` of Kafka's consumer.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from mqgateway.engine.record_batches.batches import (
    DELETE_HORIZON,
    HEADER_SIZE,
    LENGTH_AT,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
    Batch,
    build_batch,
    pack_batch,
)
from mqgateway.engine.record_batches.compression import compression_of
from mqgateway.engine.record_batches.records import Record, write_record

_LENGTH: Final = struct.Struct(">i")
_PREFIX_SIZE: Final = LENGTH_AT + _LENGTH.size
"""Bytes before those that the length counts, in all formats: a message of an old one may be small."""
_MARKER: Final = struct.Struct(">hh")
ABORT: Final = 0
"""Type of the control record that ends an aborted transaction."""


class Aborted(NamedTuple):
    """An aborted transaction: its producer, and the offset of its first record."""

    producer_id: int
    first_offset: int


class Stamp(NamedTuple):
    """The idempotent producer of a batch at the target, and the sequence number of its first record."""

    producer_id: int
    producer_epoch: int
    sequence: int


class CopiedBatch(NamedTuple):
    """A batch for the target, and the offsets of its records at the source, as spans of (offset, count)."""

    data: bytes
    spans: tuple[tuple[int, int], ...]

    @property
    def record_count(self) -> int:
        """The number of records."""
        return sum(count for _, count in self.spans)


def whole_batches(data: bytes | memoryview) -> Iterator[Batch]:
    """Yield the batches of an answer to Fetch, which may end within one. Raises `CodecError`."""
    view = memoryview(data)
    position = 0
    while len(view) - position >= _PREFIX_SIZE:
        [length] = _LENGTH.unpack_from(view, position + LENGTH_AT)
        if position + _PREFIX_SIZE + length > len(view):
            return
        batch = Batch(view, position)
        yield batch
        position += len(batch.data)


def committed(batches: Iterable[Batch], aborted: Iterable[Aborted]) -> Iterator[Batch]:
    """Yield the batches with records that readers of committed records get."""
    waiting = sorted(aborted, key=lambda one: one.first_offset)
    producers: set[int] = set()
    for batch in batches:
        while waiting and waiting[0].first_offset <= batch.last_offset:
            producers.add(waiting.pop(0).producer_id)
        if batch.is_control:
            if _is_abort(batch):
                producers.discard(batch.producer_id)
        elif batch.count and not (batch.is_transactional and batch.producer_id in producers):
            yield batch


def _is_abort(batch: Batch) -> bool:
    marker = next(batch.records(), None)
    if marker is None or marker.key is None:
        return False
    _, kind = _MARKER.unpack_from(marker.key)
    return bool(kind == ABORT)


def offsets_from(batch: Batch, first: int) -> tuple[tuple[int, int], ...]:
    """Return the offsets of a batch's records from offset `first` on, as spans of (offset, count)."""
    if batch.count == batch.last_offset_delta + 1 and batch.base_offset >= first:
        return ((batch.base_offset, batch.count),)
    return tuple(_spans(one for one in _offsets(batch) if one >= first))


def contents_of(record: Record) -> bytes:
    """Return a record's key, value and headers in one encoding."""
    data = bytearray()
    write_record(data, Record(record.key, record.value, record.headers))
    return bytes(data)


def contents_at(batch: Batch, offset: int) -> bytes:
    """Return the contents of the record at an offset; empty if the batch has none there."""
    delta = offset - batch.base_offset
    return next((contents_of(one) for one in batch.records() if one.offset_delta == delta), b"")


def copied(batch: Batch, first: int, stamp: Stamp) -> CopiedBatch | None:
    """Return a batch without the records before offset `first`, as one of the target's producer.

    A batch without gaps keeps its compressed records as they are. None if no record is left.
    """
    is_dense = batch.count == batch.last_offset_delta + 1
    if is_dense and batch.base_offset >= first and not batch.has_log_append_time:
        data = pack_batch(
            bytes(batch.data[HEADER_SIZE:]),
            batch.count,
            batch.last_offset_delta,
            base_timestamp=batch.base_timestamp,
            max_timestamp=batch.max_timestamp,
            attributes=batch.attributes & ~(TRANSACTIONAL | DELETE_HORIZON),
            producer_id=stamp.producer_id,
            producer_epoch=stamp.producer_epoch,
            base_sequence=stamp.sequence,
        )
        return CopiedBatch(bytes(data), ((batch.base_offset, batch.count),))
    return _rebuilt(batch, first, stamp)


def _offsets(batch: Batch) -> Iterator[int]:
    for record in batch.records():
        yield batch.base_offset + record.offset_delta


def _rebuilt(batch: Batch, first: int, stamp: Stamp) -> CopiedBatch | None:
    left = [record for record in batch.records() if batch.base_offset + record.offset_delta >= first]
    if not left:
        return None
    has_append_time = batch.has_log_append_time
    records = [
        Record(one.key, one.value, one.headers, 0 if has_append_time else one.timestamp_delta, index)
        for index, one in enumerate(left)
    ]
    data = build_batch(
        records,
        base_timestamp=batch.max_timestamp if has_append_time else batch.base_timestamp,
        compression=compression_of(batch.attributes),
        flags=batch.attributes & ~(TRANSACTIONAL | DELETE_HORIZON | LOG_APPEND_TIME | 7),
        producer_id=stamp.producer_id,
        producer_epoch=stamp.producer_epoch,
        base_sequence=stamp.sequence,
    )
    return CopiedBatch(bytes(data), tuple(_spans(batch.base_offset + one.offset_delta for one in left)))


def _spans(offsets: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield runs of consecutive offsets as (first, count)."""
    begin, count = -1, 0
    for offset in offsets:
        if count and offset == begin + count:
            count += 1
            continue
        if count:
            yield begin, count
        begin, count = offset, 1
    if count:
        yield begin, count


def timestamp_of(batch: Batch, record: Record) -> int:
    """Return the time of a record, in milliseconds."""
    time = batch.max_timestamp if batch.has_log_append_time else batch.base_timestamp + record.timestamp_delta
    return int(time)
