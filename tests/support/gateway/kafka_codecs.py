"""Comparison of hand-written codecs of Kafka's messages with the plans of their classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.reader import Reader
from mqgateway.gateway.kafka.codec import plans
from mqgateway.gateway.kafka.codec.schema import Message


def assert_read_alike(
    read: Callable[[Reader, int], Message], of: type[Message], data: bytes, version: int
) -> None:
    """Compare messages or errors, and how much of the buffer and of the limit of elements is left."""
    found = []
    for each in (read, lambda reader, version: plans.read(of, reader, version)):
        reader = Reader(data)
        try:
            message = each(reader, version)
        except CodecError as error:
            found.append((str(error),))
        else:
            found.append((message, reader.position, reader.elements))
    assert found[0] == found[1]


def written(write: Callable[[bytearray, Any, int], None], message: Message, version: int) -> bytes | str:
    """Return what is appended to a buffer, or the error, which must leave the buffer as it was."""
    out = bytearray(b"head")
    try:
        write(out, message, version)
    except CodecError as error:
        return str(error)
    return bytes(out)


def damaged(data: bytes, random: Random) -> Iterator[bytes]:
    """Yield the bytes, and some with changes or an end of others."""
    yield data
    yield data + b"more"
    yield data[: random.randrange(len(data))]
    for _ in range(5):
        changed = bytearray(data)
        changed[random.randrange(len(changed))] = random.choice((0, 1, 2, 0x7F, 0x80, 0xFF))
        yield bytes(changed)
