"""Bodies compressed on the way to the broker, and inflated again by the consumer; see `engine.inflating`.

Standard: `CompressionType`, `CompressorFactory`, `MessageSysFlag`.
"""

from __future__ import annotations

import zlib
from enum import StrEnum
from typing import cast

import lz4.frame
import zstandard

from mqgateway.engine.inflating import LZ4_BODY, ZLIB_BODY, ZSTD_BODY, InflateError, inflate_body
from mqgateway.engine.message import SysFlag
from mqgateway.gateway.client.errors import ClientError

BODY_MAX = 256 * 1024**2
"""Bytes that a body may inflate to."""


class Compression(StrEnum):
    """How bodies are compressed; the names are those of the standard's `CompressionType`."""

    LZ4 = "LZ4"
    ZSTD = "ZSTD"
    ZLIB = "ZLIB"

    @property
    def flag(self) -> int:
        """Both of its parts in a system flag."""
        return SysFlag.COMPRESSED | _NUMBERS[self] << 8


_NUMBERS = {Compression.LZ4: LZ4_BODY, Compression.ZSTD: ZSTD_BODY, Compression.ZLIB: ZLIB_BODY}


def compress(body: bytes, kind: Compression, level: int) -> bytes:
    """The body, smaller; LZ4 has no levels here, as with the standard."""
    if kind is Compression.ZLIB:
        return zlib.compress(body, level)
    if kind is Compression.ZSTD:
        return zstandard.ZstdCompressor(level=level).compress(body)
    return cast(bytes, lz4.frame.compress(body))


def decompress(body: bytes, sys_flag: int, limit: int = BODY_MAX) -> bytes:
    """Return the body as it was before it was compressed, if the flag says that it was.

    Raises `ClientError`, also if it has more than `limit` bytes.
    """
    try:
        whole = inflate_body(body, sys_flag, limit)
    except InflateError as error:
        raise ClientError(f"a body cannot be inflated: {error}") from None
    if len(whole) > limit and sys_flag & SysFlag.COMPRESSED:
        raise ClientError(f"a body of {len(body)} bytes has more than {limit} bytes when it is inflated")
    return whole
