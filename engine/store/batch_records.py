"""Stored records of a queue of batches: where a record's batch is, and which offsets its messages have."""

from __future__ import annotations

import struct
from typing import Final

from mqgateway.engine.message import PROPERTY_TAGS, SysFlag, tags_code
from mqgateway.engine.store.batch_consume_queue import NOT_COMPACTED, BatchUnit
from mqgateway.engine.store.dispatch_request import inner_batch
from mqgateway.engine.store.expansion import holds_record_batch
from mqgateway.engine.store.record import HEAD_SIZE, SYS_FLAG_AT, properties_of, store_timestamp
from mqgateway.engine.store.results import Record

_FLAG_AND_SIZE: Final = struct.Struct(f">{SYS_FLAG_AT}xi{HEAD_SIZE - SYS_FLAG_AT - 8}xi")
"""The flag of a record, and the size of its body if both hosts are IPv4 addresses."""
_HOSTS_V6: Final = SysFlag.BORN_HOST_V6 | SysFlag.STORE_HOST_V6
_INT: Final = struct.Struct(">i")
_OFFSETS: Final = struct.Struct(">20xqq")
"""Queue offset and position in the log of a record."""
_LAST_OFFSET_DELTA: Final = struct.Struct(">23xi")
_IPV6_MORE: Final = 12
"""Bytes that an IPv6 address takes more than one of IPv4."""


def batch_place(record: Record) -> tuple[int, int] | None:
    """Return where the batch in a record begins and ends; None for a record that holds no batch whole. The
    record is known to be valid."""
    if not holds_record_batch(record):
        return None
    sys_flag, size = _FLAG_AND_SIZE.unpack_from(record)
    begin = HEAD_SIZE
    if sys_flag & _HOSTS_V6:
        begin += _IPV6_MORE * int(sys_flag & _HOSTS_V6).bit_count()
        [size] = _INT.unpack_from(record, begin - 4)
    return begin, begin + int(size)


def offsets_of(record: bytes) -> tuple[int, int]:
    """Return the queue offset of the first message of a record, and the one after its last."""
    base = int(_OFFSETS.unpack_from(record)[0])
    place = batch_place(record)
    if place is not None:
        return base, base + int(_LAST_OFFSET_DELTA.unpack_from(record, place[0])[0]) + 1
    held = inner_batch(properties_of(record))
    return base, base + (1 if held is None else held[1])


def unit_of(record: bytes) -> BatchUnit:
    """Return the unit that a queue would have for a record."""
    base, after = offsets_of(record)
    position = int(_OFFSETS.unpack_from(record)[1])
    tags = None if holds_record_batch(record) else properties_of(record).get(PROPERTY_TAGS)
    return BatchUnit(
        position,
        len(record),
        tags_code(tags),
        store_timestamp(record),
        base,
        after - base,
        NOT_COMPACTED,
        0,
    )
