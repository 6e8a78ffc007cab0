"""Records of the log that hold a batch of Kafka, made without a store, or put into one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mqgateway.engine.message import Message, SysFlag, properties_text
from mqgateway.engine.record_batches.batches import HEADER_SIZE, assigned, build_batch
from mqgateway.engine.record_batches.compression import CompressionType
from mqgateway.engine.record_batches.records import Record
from mqgateway.engine.store.message_store import MessageStore
from mqgateway.engine.store.record import encode, record_size, sys_flag_for, topic_field
from tests.support.engine.store.stores import HOST, Bench, batch, message

POSITION = 4096
STORED = 1_700_000_000_000


def whole_record(
    batch: bytes | bytearray,
    *,
    topic: str = "kafka",
    queue_id: int = 0,
    queue_offset: int = 0,
    base_offset: int | None = None,
    host: bytes = HOST,
    sys_flag: int = SysFlag.INNER_BATCH,
    properties: dict[str, str] | None = None,
) -> bytes:
    """Return the record of a batch, which has `base_offset` and lies at `POSITION`."""
    body = bytes(batch)
    if len(body) >= HEADER_SIZE:
        body = assigned(body, queue_offset if base_offset is None else base_offset, 0)
    if properties is None:
        properties = {"INNER_NUM": "1", "INNER_BASE": str(queue_offset), "__KAFKA": "2"}
    message = Message(topic, queue_id, body, properties, 1, host, host, sys_flag=sys_flag)
    text, field, flag = properties_text(properties), topic_field(topic, True), sys_flag_for(message)
    size = record_size(flag, len(body), len(field[1]), len(text))
    return encode(message, message.body, text, field, size, flag, 0, queue_offset, POSITION, STORED)


def put_batch(
    store: MessageStore, given: Sequence[Record], *, topic: str = "batched", queue_id: int = 0, **more: Any
) -> int:
    """Put a batch of records whole; the queue offset of its first record."""
    data = build_batch(given, **{"base_timestamp": STORED, **more})
    count = given[-1].offset_delta + 1
    result = store.batches.put(message(topic, queue_id, b"", {}), memoryview(data), count, 0)
    store.dispatch()
    assert result.status.name == "PUT_OK", result.remark
    return result.queue_offset


def records(*values: bytes | None, tags: Sequence[str] = ()) -> list[Record]:
    """Records with these values, the keys `k0`, `k1` and so on, and these tags in turn."""
    return [
        Record(
            b"k%d" % index,
            value,
            [("TAGS", tags[index % len(tags)].encode())] if tags else (),
            index,
            index,
        )
        for index, value in enumerate(values)
    ]


def large(**changes: Any) -> Bench:
    """A store with room for large batches."""
    return Bench(mapped_file_size_commit_log=8 << 20, **changes)


def mixed() -> Bench:
    """A store whose queue has a batch of Kafka, a message, another batch, and a batch of RocketMQ."""
    made = large()
    put_batch(made.store, records(b"a", b"b", b"c", tags=["x", "y"]))
    made.put(message("batched", 0, b"d", {"TAGS": "y"}))
    put_batch(made.store, records(b"e", b"f", tags=["y"]), compression=CompressionType.ZSTD)
    made.store.put_inner_batch(message("batched", 0, batch(b"g", b"h"), {"TAGS": "x"}))
    made.store.dispatch()
    return made
