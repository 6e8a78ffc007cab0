"""Compression of message bodies by producers and decompression by consumers; see `engine.inflating`.

RocketMQ: `CompressionType`, `CompressorFactory`, `MessageSysFlag`.
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
"""Maximum size of a decompressed body, in bytes."""


class Compression(StrEnum):
    """Compression algorithms, with the names of RocketMQ's `CompressionType`."""

    LZ4 = "LZ4"
    ZSTD = "ZSTD"
    ZLIB = "ZLIB"

    @property
    def flag(self) -> int:
        """System flags of a compressed body: the compression flag and the algorithm."""
        return SysFlag.COMPRESSED | _NUMBERS[self] << 8


_NUMBERS = {Compression.LZ4: LZ4_BODY, Compression.ZSTD: ZSTD_BODY, Compression.ZLIB: ZLIB_BODY}


def compress(body: bytes, kind: Compression, level: int) -> bytes:
    """Return the compressed body. `level` does not apply to LZ4, as in RocketMQ."""
    if kind is Compression.ZLIB:
        return zlib.compress(body, level)
    if kind is Compression.ZSTD:
        return zstandard.ZstdCompressor(level=level).compress(body)
    return cast(bytes, lz4.frame.compress(body))


def decompress(body: bytes, sys_flag: int, limit: int = BODY_MAX) -> bytes:
    """Return the decompressed body, or `body` itself if `sys_flag` does not mark it as compressed.

    Raises `ClientError` for a corrupt body, and for one of more than `limit` bytes.
    """
    try:
        whole = inflate_body(body, sys_flag, limit)
    except InflateError as error:
        raise ClientError(f"a body cannot be inflated: {error}") from None
    if len(whole) > limit and sys_flag & SysFlag.COMPRESSED:
        raise ClientError(f"a body of {len(body)} bytes has more than {limit} bytes when it is inflated")
    return whole
