"""Stored records for tests."""

from __future__ import annotations

import zlib
from typing import Any

from mqgateway.engine.message import Message, SysFlag, format_properties, pack_host
from mqgateway.engine.store.record import encode, record_size, sys_flag_for, topic_field
from mqgateway.gateway.client.batches import encode_element
from mqgateway.gateway.client.message import Message as ClientMessage

BORN, STORED = 1_700_000_000_000, 1_700_000_000_005


def record(
    queue_offset: int,
    body: bytes = b"body",
    *,
    topic: str = "t",
    queue_id: int = 2,
    position: int = 0,
    host: str = "10.0.0.9",
    compressed: bool = False,
    properties: dict[str, str] | None = None,
    flags: int = 0,
) -> bytes:
    """A record as brokers store it."""
    packed = format_properties({"TAGS": "a"} if properties is None else properties).encode()
    flag = flags | (SysFlag.COMPRESSED if compressed else 0)
    body = zlib.compress(body) if compressed else body
    message = Message(
        topic, queue_id, body, {}, BORN, pack_host(host, 1234), pack_host("10.0.0.1", 10911), 7, flag
    )
    field, sys_flag = topic_field(topic, True), sys_flag_for(message)
    size = record_size(sys_flag, len(body), len(field[1]), len(packed))
    return encode(message, body, packed, field, size, sys_flag, message.flag, queue_offset, position, STORED)


def batch(queue_offset: int, bodies: list[bytes], **fields: Any) -> bytes:
    """A record that holds several messages, as topics with `queue.type=BatchCQ` have them."""
    messages = [ClientMessage("t", body, tags="b", wait_store=False) for body in bodies]
    inner = b"".join(map(encode_element, messages))
    return record(queue_offset, inner, flags=SysFlag.INNER_BATCH | SysFlag.NEED_UNWRAP, **fields)


def log(count: int, **fields: Any) -> list[bytes]:
    """Records that lie one behind the other from the begin of a log."""
    found: list[bytes] = []
    for number in range(count):
        found.append(record(number, b"body %d" % number, position=sum(map(len, found)), **fields))
    return found
