"""HTTP/2 frames as bytes: their kinds, flags, error codes and limits. See RFC 9113, sections 4, 6 and 7."""

from __future__ import annotations

import struct
from enum import IntEnum

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
FRAME_HEAD = struct.Struct(">BHBBL")
"""Length in 1 + 2 bytes, type, flags, stream."""
HEAD = FRAME_HEAD.size
WINDOW_MAX = STREAM_MAX = 2**31 - 1
DEFAULT_WINDOW = 65535
FRAME_SIZE_MIN, FRAME_SIZE_MAX = 16384, 2**24 - 1
FRAME_SIZE = 65536
"""Bytes of the longest frame that we accept."""

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = (
    range(10)
)
ACK = END_STREAM = 0x1
END_HEADERS, PADDED, PRIORITIZED = 0x4, 0x8, 0x20
(
    HEADER_TABLE_SIZE,
    ENABLE_PUSH,
    MAX_CONCURRENT_STREAMS,
    INITIAL_WINDOW_SIZE,
    MAX_FRAME_SIZE,
    MAX_HEADER_LIST_SIZE,
) = range(1, 7)
"""Settings, by their numbers."""


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
