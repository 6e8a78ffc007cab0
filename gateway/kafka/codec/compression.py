"""Records of a batch compressed and inflated; what inflates beyond a limit is refused.

gzip may have several members. LZ4 and Zstandard are frames, with or without sizes in them. Inflating stops at
the limit, so that a small batch cannot fill the memory. Standard: `CompressionType` and `compress` of Kafka.
"""

from __future__ import annotations

import zlib
from enum import IntEnum
from typing import Final

import lz4.frame
import zstandard

from mqgateway.gateway.kafka.codec.errors import CodecError
from mqgateway.gateway.kafka.codec.snappy import compress_snappy, decompress_snappy

GZIP_WINDOW: Final = 31
"""Largest window, with gzip's header and trailer."""
PIECE: Final = 256 * 1024
"""Bytes of a Zstandard frame inflated at a time."""
ZSTD_LEVEL: Final = 3
LZ4_BLOCK: Final = 4
"""Blocks of 64 KiB."""


class Compression(IntEnum):
    """Compression types, as bits 0 to 2 of a batch's attributes have them."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


def compression_of(attributes: int) -> Compression:
    """Return the compression type of a batch. Raises `CodecError` for 5 to 7."""
    number = attributes & 7
    if number > Compression.ZSTD:
        raise CodecError(f"unknown compression type {number}")
    return Compression(number)


def compress(data: bytes | bytearray | memoryview, kind: Compression) -> bytes:
    """Return the bytes compressed."""
    if kind is Compression.GZIP:
        return zlib.compress(data, wbits=GZIP_WINDOW)
    if kind is Compression.SNAPPY:
        return compress_snappy(data)
    if kind is Compression.LZ4:
        made: bytes = lz4.frame.compress(data, block_size=LZ4_BLOCK, block_linked=False, store_size=False)
        return made
    if kind is Compression.ZSTD:
        return zstandard.ZstdCompressor(level=ZSTD_LEVEL, write_content_size=False).compress(bytes(data))
    return bytes(data)


def decompress(data: memoryview, kind: Compression, limit: int) -> bytes | memoryview:
    """Return the inflated bytes, at most `limit`; uncompressed ones are returned as they are."""
    if kind is Compression.NONE:
        inflated: bytes | memoryview = data
    elif kind is Compression.GZIP:
        inflated = _gunzip(data, limit)
    elif kind is Compression.SNAPPY:
        inflated = decompress_snappy(data, limit)
    elif kind is Compression.LZ4:
        inflated = _unlz4(data, limit)
    else:
        inflated = _unzstd(data, limit)
    if len(inflated) > limit:
        raise CodecError(f"{kind.name.lower()}: the inflated records exceed the limit of {limit} bytes")
    return inflated


def _gunzip(data: memoryview, limit: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    rest: bytes | memoryview = data
    while len(rest):
        member = zlib.decompressobj(wbits=GZIP_WINDOW)
        try:
            # One byte more than allowed shows that there is more.
            part = member.decompress(rest, limit - size + 1)
        except zlib.error as error:
            raise CodecError(f"gzip: {error}") from error
        parts.append(part)
        size += len(part)
        if size > limit:
            break
        if not member.eof:
            raise CodecError("gzip: the data has no end")
        rest = member.unused_data
    return b"".join(parts)


def _unlz4(data: memoryview, limit: int) -> bytes:
    inflater = lz4.frame.LZ4FrameDecompressor()
    try:
        inflated: bytes = inflater.decompress(bytes(data), max_length=limit + 1)
    except (RuntimeError, MemoryError) as error:
        raise CodecError(f"lz4: {error}") from error
    if len(inflated) <= limit and not inflater.eof:
        raise CodecError("lz4: the frame has no end")
    return inflated


def _unzstd(data: memoryview, limit: int) -> bytes:
    out = bytearray()
    try:
        with zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(
            bytes(data), read_across_frames=True
        ) as stream:
            while len(out) <= limit and (part := stream.read(min(PIECE, limit + 1 - len(out)))):
                out += part
    except zstandard.ZstdError as error:
        raise CodecError(f"zstd: {error}") from error
    return bytes(out)
