"""Elements of a batch of messages. Source: RocketMQ `MessageDecoder.encodeMessage`."""

from __future__ import annotations

import struct
from typing import Final

PROPERTIES_MAX: Final = 0x7FFF
"""Bytes that the properties of an element may take."""

_HEAD: Final = struct.Struct(">iiiii")
_PROPERTIES_LENGTH: Final = struct.Struct(">h")
FIXED_SIZE: Final = _HEAD.size + _PROPERTIES_LENGTH.size
"""Bytes of an element besides its body and properties."""


def encode_element(body: bytes, flag: int, properties: bytes) -> bytes:
    """Encode a message as an element; `properties` is text of at most `PROPERTIES_MAX` bytes."""
    head = _HEAD.pack(FIXED_SIZE + len(body) + len(properties), 0, 0, flag, len(body))
    return b"".join((head, body, _PROPERTIES_LENGTH.pack(len(properties)), properties))
