"""Markers of transactions: the control batches with which a coordinator ends a transaction in a queue.

    batch  = header of format 2, transactional and control, no sequence, one record
    key    = version i2, type i2: 0 abort, 1 commit
    value  = version i2, coordinator epoch i4

Kafka: `EndTransactionMarker`, `ControlRecordType`, `MemoryRecords.withEndTransactionMarker`.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from mqgateway.engine.record_batches.batches import (
    CONTROL,
    FLAGS_AT,
    HEADER_SIZE,
    TRANSACTIONAL,
    Batch,
    build_batch,
)
from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.records import Record

ABORT: Final = 0
COMMIT: Final = 1
VERSION: Final = 0

_KEY: Final = struct.Struct(">hh")
_VALUE: Final = struct.Struct(">hi")


class Marker(NamedTuple):
    """The end of a producer's transaction in a queue; `commit` is False if it is aborted.

    `coordinator_epoch` is that of the coordinator that ends it.
    """

    producer_id: int
    producer_epoch: int
    commit: bool
    coordinator_epoch: int


def control_batch(marker: Marker, now: int) -> bytes:
    """Return the batch of a marker that is written at `now`, ms. It has the base offset 0."""
    key = _KEY.pack(VERSION, COMMIT if marker.commit else ABORT)
    record = Record(key, _VALUE.pack(VERSION, marker.coordinator_epoch))
    return bytes(
        build_batch(
            [record],
            base_timestamp=now,
            flags=TRANSACTIONAL | CONTROL,
            producer_id=marker.producer_id,
            producer_epoch=marker.producer_epoch,
        )
    )


def marker_of(data: bytes | bytearray | memoryview) -> Marker | None:
    """Return the marker that a batch is; None for any other batch, other control batches among them."""
    if len(data) <= HEADER_SIZE or not data[FLAGS_AT] & CONTROL:
        return None
    try:
        batch = Batch(memoryview(data))
        records = list(batch.records(len(data))) if batch.count == 1 else []
    except CodecError:
        return None
    if not records or batch.producer_id < 0:
        return None
    key, value = records[0].key, records[0].value
    if key is None or value is None or len(key) < _KEY.size or len(value) < _VALUE.size:
        return None
    kind = int(_KEY.unpack_from(key)[1])
    if kind not in (ABORT, COMMIT):
        return None
    return Marker(batch.producer_id, batch.producer_epoch, kind == COMMIT, int(_VALUE.unpack_from(value)[1]))
