"""Elements of a batch of messages. Source: RocketMQ `MessageDecoder.encodeMessage`."""

from __future__ import annotations

import struct

PROPERTIES_MAX = 0x7FFF
"""Bytes that the properties of an element may take."""

_HEAD = struct.Struct(">iiiii")
_PROPERTIES_LENGTH = struct.Struct(">h")


def encode_element(body: bytes, flag: int, properties: bytes) -> bytes:
    """Encode a message as an element; `properties` is text of at most `PROPERTIES_MAX` bytes."""
    size = _HEAD.size + len(body) + _PROPERTIES_LENGTH.size + len(properties)
    head = _HEAD.pack(size, 0, 0, flag, len(body))
    return b"".join((head, body, _PROPERTIES_LENGTH.pack(len(properties)), properties))
