"""Fences of queues: the control batches after which a queue takes no batches, as its partition moves.

    batch  = header of format 2, control, no producer, one record
    key    = version i2, type i2: 2, as that of a change of the leader
    value  = version i2, number of the move i4

A fence is as durable as the batches before it, and is copied with them: the queue of the new leader begins to
take batches after it. Kafka's clients skip control batches. Kafka: `ControlRecordType`.
"""

from __future__ import annotations

import struct
from typing import Final

from mqgateway.engine.record_batches.batches import CONTROL, FLAGS_AT, HEADER_SIZE, Batch, build_batch
from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.records import Record

LEADER_CHANGE: Final = 2
VERSION: Final = 0
NOT_FENCED: Final = -1

_KEY: Final = struct.Struct(">hh")
_VALUE: Final = struct.Struct(">hi")


def fence_batch(move: int, now: int) -> bytes:
    """Return the fence of a move by its number, written at `now`, ms. It has the base offset 0."""
    record = Record(_KEY.pack(VERSION, LEADER_CHANGE), _VALUE.pack(VERSION, move))
    return bytes(build_batch([record], base_timestamp=now, flags=CONTROL))


def fence_of(data: bytes | bytearray | memoryview) -> int:
    """Return the number of the move whose fence a batch is, -1 for any other batch."""
    if len(data) <= HEADER_SIZE or not data[FLAGS_AT] & CONTROL:
        return NOT_FENCED
    try:
        batch = Batch(memoryview(data))
        records = list(batch.records(len(data))) if batch.count == 1 else []
    except CodecError:
        return NOT_FENCED
    key, value = (records[0].key, records[0].value) if records else (None, None)
    if key is None or value is None or len(key) < _KEY.size or len(value) < _VALUE.size:
        return NOT_FENCED
    is_fence = int(_KEY.unpack_from(key)[1]) == LEADER_CHANGE
    return int(_VALUE.unpack_from(value)[1]) if is_fence else NOT_FENCED
