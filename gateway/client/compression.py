"""Bodies made smaller on the way to the broker and made whole again by the consumer.

The system flag says how: bit 0 that a body is compressed, bits 8 to 10 by what. Clients before 5.0, and
other languages' clients, set bit 0 alone, and then it is zlib. LZ4 is its frame format. What becomes larger
than `limit` when it is made whole is refused: a small body could otherwise fill the memory.
Standard: `CompressionType`, `CompressorFactory`, `MessageSysFlag`.
"""

from __future__ import annotations

import zlib
from enum import StrEnum
from io import BytesIO
from typing import cast

import lz4.frame
import zstandard

from mqgateway.engine.message import SysFlag
from mqgateway.gateway.client.errors import ClientError

BODY_MAX = 256 * 1024**2
"""Bytes of a body that has been made whole."""


class Compression(StrEnum):
    """How bodies are compressed; the names are those of the standard's `CompressionType`."""

    LZ4 = "LZ4"
    ZSTD = "ZSTD"
    ZLIB = "ZLIB"

    @property
    def flag(self) -> int:
        """Both of its parts in a system flag."""
        return SysFlag.COMPRESSED | _NUMBERS[self] << 8


_NUMBERS = {Compression.LZ4: 1, Compression.ZSTD: 2, Compression.ZLIB: 3}
_BY_NUMBER = {0: Compression.ZLIB} | {number: kind for kind, number in _NUMBERS.items()}


def compress(body: bytes, kind: Compression, level: int) -> bytes:
    """The body, smaller; LZ4 has no levels here, as with the standard."""
    if kind is Compression.ZLIB:
        return zlib.compress(body, level)
    if kind is Compression.ZSTD:
        return zstandard.ZstdCompressor(level=level).compress(body)
    return cast(bytes, lz4.frame.compress(body))


def decompress(body: bytes, sys_flag: int, limit: int = BODY_MAX) -> bytes:
    """The body as it was before it was compressed, if the flag says that it was. Raises `ClientError`."""
    if not sys_flag & SysFlag.COMPRESSED:
        return body
    number = (sys_flag & SysFlag.COMPRESSION_TYPE_MASK) >> 8
    kind = _BY_NUMBER.get(number)
    if kind is None:
        raise ClientError(f"a body is compressed in an unknown way ({number})")
    try:
        whole = _READERS[kind](body, limit)
    except (zlib.error, zstandard.ZstdError, RuntimeError, EOFError, OSError) as error:
        raise ClientError(f"a body that should be {kind} is not: {error}") from None
    if len(whole) > limit:
        raise ClientError(f"a body of {len(body)} bytes has more than {limit} bytes when it is made whole")
    return whole


def _read_zlib(body: bytes, limit: int) -> bytes:
    stream = zlib.decompressobj()
    whole = stream.decompress(body, limit + 1)
    if not stream.eof and len(whole) <= limit:
        raise EOFError("it ends too early")
    return whole


def _read_zstd(body: bytes, limit: int) -> bytes:
    with zstandard.ZstdDecompressor().stream_reader(BytesIO(body)) as reader:
        return reader.read(limit + 1)


def _read_lz4(body: bytes, limit: int) -> bytes:
    with lz4.frame.open(BytesIO(body)) as reader:
        return cast(bytes, reader.read(limit + 1))


_READERS = {Compression.ZLIB: _read_zlib, Compression.ZSTD: _read_zstd, Compression.LZ4: _read_lz4}
