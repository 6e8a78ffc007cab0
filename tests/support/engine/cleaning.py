"""Stored records of a compacted queue, for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mqgateway.engine.message import (
    BATCH_FORMAT,
    PROPERTY_INNER_BASE,
    PROPERTY_INNER_NUM,
    PROPERTY_KAFKA,
    Message,
    SysFlag,
    properties_text,
)
from mqgateway.engine.record_batches.batches import Batch, build_batch
from mqgateway.engine.record_batches.records import Record
from mqgateway.engine.store.record import encode, fill_crc, record_size, topic_field, with_room_for_crc

HOST = bytes(4) + (10911).to_bytes(4, "big")
TOPIC = "t"
Row = tuple[bytes | None, bytes | None]
"""Key and value."""


def stored(
    body: bytes,
    properties: Mapping[str, str],
    offset: int,
    *,
    sys_flag: int = 0,
    time: int = 0,
    host: bytes = HOST,
    has_crc_property: bool = False,
) -> bytes:
    """Return a record at a queue offset, stored at a time; its position in the log is 1000 times that."""
    message = Message(TOPIC, 0, body, {}, time, host, host, sys_flag=sys_flag)
    if len(host) > len(HOST):
        sys_flag |= SysFlag.BORN_HOST_V6 | SysFlag.STORE_HOST_V6
    text = properties_text(dict(properties))
    text = with_room_for_crc(text) if has_crc_property else text
    topic = topic_field(TOPIC, True)
    size = record_size(sys_flag, len(body), len(topic[1]), len(text))
    record = encode(message, body, text, topic, size, sys_flag, 0, offset, 1000 * offset, time)
    return fill_crc(record) if has_crc_property else record


def holding(data: bytes, *, time: int = 0, host: bytes = HOST, has_crc_property: bool = False) -> bytes:
    """Return the record that holds a batch."""
    batch = Batch(memoryview(data))
    properties = {
        PROPERTY_INNER_NUM: str(batch.last_offset_delta + 1),
        PROPERTY_INNER_BASE: str(batch.base_offset),
        PROPERTY_KAFKA: BATCH_FORMAT,
    }
    return stored(
        data,
        properties,
        batch.base_offset,
        sys_flag=SysFlag.INNER_BATCH,
        time=time,
        host=host,
        has_crc_property=has_crc_property,
    )


def batch_record(
    offset: int, rows: Sequence[Row], *, time: int = 0, host: bytes = HOST, has_crc_property: bool = False
) -> bytes:
    """Return a record that holds a batch of these keys and values."""
    records = [Record(key, value, (), number, number) for number, (key, value) in enumerate(rows)]
    data = bytes(build_batch(records, base_timestamp=time, base_offset=offset))
    return holding(data, time=time, host=host, has_crc_property=has_crc_property)
