"""gRPC framing inside HTTP/2: length-prefixed messages, timeouts, status texts; no I/O.

A message is one byte (1: compressed), its length in four bytes, big-endian, and its bytes. Source: the
document "gRPC over HTTP2".
"""

from __future__ import annotations

import re
import zlib
from typing import Any, Final

from mqgateway.gateway.grpc.call import CallFailed, Status

PREFIX: Final = 5
IDENTITY: Final = "identity"
GZIP: Final = "gzip"
ENCODINGS: Final = (IDENTITY, GZIP)
"""Supported compression of requests; answers are never compressed."""
_TIMEOUT: Final = re.compile(r"(\d{1,8})([HMSmun])", re.ASCII)
_SECONDS: Final = {"H": 3600.0, "M": 60.0, "S": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}
_PLAIN: Final = frozenset(range(0x20, 0x7F)) - {ord("%")}
_WINDOW_OF_GZIP: Final = 16 + zlib.MAX_WBITS


def whole_message(data: bytes, limit: int) -> bytes | None:
    """Return the message if data is exactly one, uncompressed and within the limit; else None."""
    if len(data) >= PREFIX and not data[0]:
        size = len(data) - PREFIX
        if size <= limit and int.from_bytes(data[1:PREFIX], "big") == size:
            return data[PREFIX:]
    return None


class MessageCutter:
    """Splitter of a call's data into messages of at most `limit` bytes, after decompression."""

    __slots__ = ("_buffer", "_encoding", "_limit")

    def __init__(self, limit: int, encoding: str = IDENTITY) -> None:
        self._limit = limit
        self._encoding = encoding
        self._buffer = bytearray()

    @property
    def buffered(self) -> int:
        """Bytes of an incomplete message."""
        return len(self._buffer)

    def feed(self, data: bytes) -> list[bytes]:
        """Return the messages completed by these bytes. Raises `CallFailed` for malformed ones."""
        buffer = self._buffer
        buffer += data
        messages = []
        at = 0
        while len(buffer) - at >= PREFIX:
            size = int.from_bytes(buffer[at + 1 : at + PREFIX], "big")
            if size > self._limit:
                raise too_large(size, self._limit)
            if len(buffer) - at < PREFIX + size:
                break
            messages.append(self._opened(buffer[at], bytes(buffer[at + PREFIX : at + PREFIX + size])))
            at += PREFIX + size
        del buffer[:at]
        return messages

    def _opened(self, flag: int, content: bytes) -> bytes:
        if not flag:
            return content
        if flag != 1:
            raise CallFailed(Status.INTERNAL, f"gRPC frame header malformed: compressed flag {flag}")
        if self._encoding == IDENTITY:
            raise CallFailed(Status.INTERNAL, "a compressed message without grpc-encoding")
        return inflate(content, self._limit)


def inflate(content: bytes, limit: int) -> bytes:
    """Decompress gzip data.

    Raises `CallFailed` if the result exceeds `limit` bytes or the data is invalid.
    """
    inflater = zlib.decompressobj(_WINDOW_OF_GZIP)
    try:
        plain = inflater.decompress(content, limit + 1)
    except zlib.error as error:
        raise CallFailed(Status.INTERNAL, f"a message is not valid gzip: {error}") from None
    if len(plain) > limit:
        raise CallFailed(Status.RESOURCE_EXHAUSTED, f"Decompressed gRPC message exceeds maximum size {limit}")
    if not inflater.eof:
        raise CallFailed(Status.INTERNAL, "a message is not valid gzip: its end is missing")
    return plain


def too_large(size: int, limit: int) -> CallFailed:
    """Return the refusal of a message that exceeds the limit."""
    return CallFailed(Status.RESOURCE_EXHAUSTED, f"gRPC message exceeds maximum size {limit}: {size}")


def prefixed(message: Any) -> bytes:
    """Encode a protobuf message with its prefix."""
    content: bytes = message.SerializeToString()
    return b"\0" + len(content).to_bytes(4, "big") + content


def read_timeout(text: str) -> float | None:
    """Parse a `grpc-timeout` header in seconds; None if it is invalid."""
    match = _TIMEOUT.fullmatch(text)
    return None if match is None else int(match[1]) * _SECONDS[match[2]]


def percent_encoded(text: str) -> bytes:
    """Encode a text for the `grpc-message` header."""
    raw = text.encode(errors="replace")
    if _PLAIN.issuperset(raw):
        return raw
    return b"".join(bytes((one,)) if one in _PLAIN else b"%%%02X" % one for one in raw)
