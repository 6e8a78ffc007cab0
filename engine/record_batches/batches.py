"""Record batches of format 2: their header, its checks, and batches built of records.

The checksum covers everything from the attributes on. Base offset and leader epoch stand before it, so that a
broker sets them without computing it again. Standard: `DefaultRecordBatch`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Final

from mqgateway.engine.record_batches.compression import CompressionType, compress, compression_of, decompress
from mqgateway.engine.record_batches.crc32c import crc32c
from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.records import Record, read_records, write_record

HEADER_SIZE: Final = 61
LENGTH_MIN: Final = HEADER_SIZE - 12
"""Smallest value of the length, which counts what follows it."""
CRC_START: Final = 21
MAGIC: Final = 2
INFLATED_MAX: Final = 64 * 1024 * 1024
"""Bytes that the records of a batch may inflate to."""
LOG_APPEND_TIME: Final = 1 << 3
TRANSACTIONAL: Final = 1 << 4
CONTROL: Final = 1 << 5
DELETE_HORIZON: Final = 1 << 6

_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_LENGTH: Final = struct.Struct(">i")
_OFFSET: Final = struct.Struct(">q")
_CRC: Final = struct.Struct(">I")
CRC_AT: Final = 17
LENGTH_AT: Final = 8
EPOCH_AT: Final = 12
MAGIC_AT: Final = 16
FLAGS_AT: Final = 22
"""The byte of the attributes that has the flags."""


class Batch:
    """The header of a batch, and a view of all its bytes."""

    __slots__ = (
        "attributes",
        "base_offset",
        "base_sequence",
        "base_timestamp",
        "count",
        "crc",
        "data",
        "last_offset_delta",
        "leader_epoch",
        "max_timestamp",
        "producer_epoch",
        "producer_id",
    )

    def __init__(self, data: memoryview, position: int = 0) -> None:
        """Read the header. Raises `CodecError` if the bytes hold no whole batch of format 2."""
        left = len(data) - position
        if left < HEADER_SIZE:
            raise CodecError(f"a batch has {HEADER_SIZE} bytes or more, {left} left", position)
        (
            self.base_offset,
            length,
            self.leader_epoch,
            magic,
            self.crc,
            self.attributes,
            self.last_offset_delta,
            self.base_timestamp,
            self.max_timestamp,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            self.count,
        ) = _HEADER.unpack_from(data, position)
        if magic != MAGIC:
            raise CodecError(f"batch of format {magic}, only {MAGIC} is supported", position + 16)
        if length < LENGTH_MIN or length + 12 > left:
            raise CodecError(f"batch length {length}, {left - 12} bytes left", position + LENGTH_AT)
        self.data = data[position : position + 12 + length]

    @property
    def is_transactional(self) -> bool:
        """Return True if the batch belongs to a transaction."""
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        """Return True if the batch has a control record."""
        return bool(self.attributes & CONTROL)

    @property
    def has_log_append_time(self) -> bool:
        """Return True if all records have `max_timestamp` as their time."""
        return bool(self.attributes & LOG_APPEND_TIME)

    @property
    def last_offset(self) -> int:
        """Return the offset of the last record."""
        return int(self.base_offset + self.last_offset_delta)

    def check_crc(self) -> None:
        """Raise `CodecError` if the bytes are not those that the checksum was computed of."""
        computed = crc32c(self.data[CRC_START:])
        if computed != self.crc:
            raise CodecError(f"checksum {self.crc:#010x}, computed {computed:#010x}", CRC_AT)

    def records(self, limit: int = INFLATED_MAX) -> Iterator[Record]:
        """Yield the records. Those of a compressed batch are inflated first, to `limit` bytes at most."""
        if self.count < 0:
            raise CodecError(f"negative number of records {self.count}", HEADER_SIZE - 4)
        data = decompress(self.data[HEADER_SIZE:], compression_of(self.attributes), limit)
        yield from read_records(data, self.count)


def batches(data: bytes | bytearray | memoryview) -> Iterator[Batch]:
    """Yield batches that follow one another. Raises `CodecError` at one that is cut short."""
    view = memoryview(data)
    position = 0
    while position < len(view):
        batch = Batch(view, position)
        yield batch
        position += len(batch.data)


def assigned(data: bytes | memoryview, base_offset: int, leader_epoch: int) -> bytes:
    """Return a copy of a batch with the offset and leader epoch that a broker gives to it; the checksum
    remains valid."""
    return b"".join(
        (
            _OFFSET.pack(base_offset),
            data[LENGTH_AT:EPOCH_AT],
            _LENGTH.pack(leader_epoch),
            data[EPOCH_AT + 4 :],
        )
    )


def build_batch(
    records: Sequence[Record],
    *,
    base_timestamp: int,
    compression: CompressionType = CompressionType.NONE,
    flags: int = 0,
    base_offset: int = 0,
    leader_epoch: int = -1,
    max_timestamp: int | None = None,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
) -> bytearray:
    """Return a batch of records, whose deltas are relative to the base offset and timestamp."""
    body = bytearray()
    for record in records:
        write_record(body, record)
    if max_timestamp is None:
        max_timestamp = base_timestamp + max((record.timestamp_delta for record in records), default=0)
    return pack_batch(
        compress(body, compression) if compression else body,
        len(records),
        records[-1].offset_delta if records else 0,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        attributes=flags | compression,
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
    )


def pack_batch(
    packed: bytes | bytearray,
    count: int,
    last_offset_delta: int,
    *,
    base_timestamp: int,
    max_timestamp: int,
    attributes: int = 0,
    base_offset: int = 0,
    leader_epoch: int = -1,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
) -> bytearray:
    """Return a batch of the bytes of records, which are compressed as the attributes say."""
    out = bytearray(
        _HEADER.pack(
            base_offset,
            LENGTH_MIN + len(packed),
            leader_epoch,
            MAGIC,
            0,
            attributes,
            last_offset_delta,
            base_timestamp,
            max_timestamp,
            producer_id,
            producer_epoch,
            base_sequence,
            count,
        )
    )
    out += packed
    _CRC.pack_into(out, CRC_AT, crc32c(memoryview(out)[CRC_START:]))
    return out
