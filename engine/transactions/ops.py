"""Op messages: lists of settled half offsets in a queue of their own.

The body is each offset in decimal followed by a comma; version 4 wrote one offset without the comma.
RocketMQ: `TransactionalMessageServiceImpl.getOpMessage`, `TransactionalMessageUtil`.
"""

from collections.abc import Sequence

from mqgateway.engine.message import (
    PROPERTY_TAGS,
    PROPERTY_UNIQ_KEY,
    PROPERTY_WAIT_STORE_MSG_OK,
    TRANS_OP_HALF_TOPIC,
    Message,
    StoredMessage,
)
from mqgateway.engine.transactions.half import HALF_QUEUE

OP_TAG = "d"
SEPARATOR = ","


def size_of(offset: int) -> int:
    """Return the bytes of an offset in a body."""
    return len(str(offset)) + len(SEPARATOR)


def first_body(offsets: Sequence[int], most: int) -> tuple[int, bytes]:
    """Return the number of offsets for one op message of about `most` bytes, and its body."""
    count = size = 0
    for offset in offsets:
        if count and size >= most:
            break
        size += size_of(offset)
        count += 1
    return count, "".join([f"{offset}{SEPARATOR}" for offset in offsets[:count]]).encode()


def op_message(body: bytes, unique_key: str, now: int, host: bytes) -> Message:
    """Return an op message to store; `now` in ms."""
    properties = {PROPERTY_TAGS: OP_TAG, PROPERTY_WAIT_STORE_MSG_OK: "true", PROPERTY_UNIQ_KEY: unique_key}
    return Message(TRANS_OP_HALF_TOPIC, HALF_QUEUE, body, properties, now, host, host)


def listed(stored: StoredMessage | None) -> list[int]:
    """Return the half offsets that an op message lists; [] for another message."""
    if stored is None or stored.properties.get(PROPERTY_TAGS) != OP_TAG:
        return []
    parts = stored.body.decode(errors="replace").split(SEPARATOR)
    return [int(part) for part in parts if part.isascii() and part.isdigit() and len(part) < 20]
