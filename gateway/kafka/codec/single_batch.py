"""Produce requests that have one batch, taken apart without a look at what precedes it.

A producer sends the same bytes before its batch again and again, but for the correlation id. So these bytes
are a key, under which a request is known.
"""

from __future__ import annotations

import struct
from typing import Final

from mqgateway.engine.extension import native
from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.reader import Reader
from mqgateway.gateway.kafka.codec.apis import PRODUCE
from mqgateway.gateway.kafka.codec.plain import UUID_SIZE
from mqgateway.gateway.kafka.codec.produce import FLEXIBLE_SINCE, TOPIC_ID_SINCE

_START: Final = struct.Struct(">hhi")
_VERSION_MAX: Final = 255
_ACKS_TIMEOUT_SIZE: Final = 6
_INDEX_SIZE: Final = 4
_NO_TAGS: Final = b"\0\0\0"
"""Ends of the partition, the topic and the request, none with tagged fields."""
_ONE: Final = b"\x02"
"""The length of an array of one element."""

SingleBatch = tuple[bytes, int, int, int]
"""The key, the correlation id, and where the batch begins and ends."""


def read_single_batch(frame: bytes) -> SingleBatch | None:
    """Take a request apart; None if it is not a Produce request of a flexible version with one batch, or has
    a transactional id or tagged fields."""
    return _single_batch(frame) if native is None else native.single_batch(frame)


def _single_batch(frame: bytes) -> SingleBatch | None:
    reader = Reader(frame)
    try:
        key, version, correlation_id = reader.unpack(_START)
        if key != PRODUCE or not FLEXIBLE_SINCE <= version <= _VERSION_MAX or not _skip(reader, version):
            return None
        begin = reader.position
        size = reader.compact_length()
    except CodecError:
        return None
    at = reader.position
    end = at + size
    if size < 0 or end + len(_NO_TAGS) != len(frame) or not frame.endswith(_NO_TAGS):
        return None
    return frame[:4] + frame[8:begin], correlation_id, at, end


def _skip(reader: Reader, version: int) -> bool:
    """Read past everything between the correlation id and the batch; return False if it is not like most."""
    length = reader.int16()
    if length < -1:
        return False
    reader.take(max(length, 0))
    if bytes(reader.take(2)) != b"\0\0":  # no tagged fields, no transactional id
        return False
    reader.take(_ACKS_TIMEOUT_SIZE)
    if bytes(reader.take(1)) != _ONE:
        return False
    reader.take(UUID_SIZE if version >= TOPIC_ID_SINCE else reader.compact_length())
    if bytes(reader.take(1)) != _ONE:
        return False
    reader.take(_INDEX_SIZE)
    return True
