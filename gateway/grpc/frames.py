"""HTTP/2 frames as bytes: their kinds, flags, error codes and limits. See RFC 9113, sections 4, 6 and 7."""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Final

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
FRAME_HEAD: Final = struct.Struct(">BHBBL")
"""Length in 1 + 2 bytes, type, flags, stream."""
HEAD: Final = 9
"""Bytes of it."""
WINDOW_MAX: Final = 2147483647
STREAM_MAX: Final = 2147483647
DEFAULT_WINDOW: Final = 65535
FRAME_SIZE_MIN: Final = 16384
FRAME_SIZE_MAX: Final = 16777215
FRAME_SIZE: Final = 65536
"""Bytes of the longest frame that we accept."""

# Kinds of frames.
DATA: Final = 0
HEADERS: Final = 1
PRIORITY: Final = 2
RST_STREAM: Final = 3
SETTINGS: Final = 4
PUSH_PROMISE: Final = 5
PING: Final = 6
GOAWAY: Final = 7
WINDOW_UPDATE: Final = 8
CONTINUATION: Final = 9

# Flags.
ACK: Final = 0x1
END_STREAM: Final = 0x1
END_HEADERS: Final = 0x4
PADDED: Final = 0x8
PRIORITIZED: Final = 0x20

# Settings.
HEADER_TABLE_SIZE: Final = 1
ENABLE_PUSH: Final = 2
MAX_CONCURRENT_STREAMS: Final = 3
INITIAL_WINDOW_SIZE: Final = 4
MAX_FRAME_SIZE: Final = 5
MAX_HEADER_LIST_SIZE: Final = 6


class Http2Code(IntEnum):
    """Reasons for the end of a stream or a connection, by HTTP/2's numbers."""

    NO_ERROR = 0
    PROTOCOL_ERROR = 1
    INTERNAL_ERROR = 2
    FLOW_CONTROL_ERROR = 3
    SETTINGS_TIMEOUT = 4
    STREAM_CLOSED = 5
    FRAME_SIZE_ERROR = 6
    REFUSED_STREAM = 7
    CANCEL = 8
    COMPRESSION_ERROR = 9
    CONNECT_ERROR = 10
    ENHANCE_YOUR_CALM = 11


class Http2Error(Exception):
    """A mistake of the peer that ends the connection."""

    def __init__(self, code: Http2Code, reason: str) -> None:
        super().__init__(reason)
        self.code = code


def frame_of(kind: int, flags: int, stream: int, payload: bytes | memoryview) -> bytes:
    """Return a frame with this payload."""
    size = len(payload)
    return FRAME_HEAD.pack(size >> 16, size & 0xFFFF, kind, flags, stream) + payload


def window_update(stream: int, more: int) -> bytes:
    """Return a frame that lets the peer send so many bytes more."""
    return frame_of(WINDOW_UPDATE, 0, stream, more.to_bytes(4, "big"))


def unpadded(payload: bytes) -> bytes:
    """Return the payload of a frame without its padding. Raises `Http2Error`."""
    padding = payload[0] if payload else 0
    if padding >= len(payload):
        raise Http2Error(Http2Code.PROTOCOL_ERROR, "more padding than frame")
    return payload[1 : len(payload) - padding]
