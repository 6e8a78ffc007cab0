"""Records of a batch compressed and inflated; what inflates beyond a limit is refused.

gzip may have several members. LZ4 and Zstandard are frames, with or without sizes in them.
Standard: `CompressionType` and `compress` of Kafka.
"""

from __future__ import annotations

import zlib
from enum import IntEnum
from typing import Final

from mqgateway.engine.inflating import GZIP_WINDOW, InflateError, inflate_gzip, inflate_lz4, inflate_zstd
from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.snappy import compress_snappy, decompress_snappy

ZSTD_LEVEL: Final = 3
LZ4_BLOCK: Final = 4
"""Blocks of 64 KiB."""
_LZ4_MAGIC: Final = bytes.fromhex("04224d18")
_LZ4_RESERVED: Final = 0b11
"""Bits of the frame descriptor that Kafka requires to be 0. Bit 0 announces a dictionary."""
_LZ4_INDEPENDENT: Final = 0b100000


class CompressionType(IntEnum):
    """Compression types, as bits 0 to 2 of a batch's attributes have them."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


_TYPES: Final = tuple(CompressionType)  # a call of an enumeration is slow


def compression_of(attributes: int) -> CompressionType:
    """Return the compression type of a batch. Raises `CodecError` for 5 to 7."""
    number = attributes & 7
    if number >= len(_TYPES):
        raise CodecError(f"unknown compression type {number}")
    return _TYPES[number]


def compress(data: bytes | bytearray | memoryview, kind: CompressionType) -> bytes:
    """Return the bytes compressed."""
    if kind is CompressionType.GZIP:
        return zlib.compress(data, wbits=GZIP_WINDOW)
    if kind is CompressionType.SNAPPY:
        return compress_snappy(data)
    if kind is CompressionType.LZ4:
        import lz4.frame  # both are loaded by the first batch that needs them

        made: bytes = lz4.frame.compress(data, block_size=LZ4_BLOCK, block_linked=False, store_size=False)
        return made
    if kind is CompressionType.ZSTD:
        import zstandard

        return zstandard.ZstdCompressor(level=ZSTD_LEVEL, write_content_size=False).compress(bytes(data))
    return bytes(data)


def check_frame(data: memoryview, kind: CompressionType) -> None:
    """Check that compressed records are of a form that Kafka's readers know. Raises `CodecError`.

    Of LZ4 they know one frame of independent blocks, without a dictionary. Apache Kafka refuses other frames
    when they are produced; `decompress` inflates them.
    Source: `Lz4BlockInputStream.readHeader`, `FLG.validate`.
    """
    if kind is not CompressionType.LZ4:
        return
    if data[:4] != _LZ4_MAGIC or len(data) <= 4:
        raise CodecError("lz4: the data does not begin with a frame")
    flags = data[4]
    if flags & _LZ4_RESERVED:
        raise CodecError("lz4: a reserved bit of the frame descriptor is set")
    if not flags & _LZ4_INDEPENDENT:
        raise CodecError("lz4: blocks that depend on one another are not supported")


def decompress(data: memoryview, kind: CompressionType, limit: int) -> bytes | memoryview:
    """Return the inflated bytes, at most `limit`; uncompressed ones are returned as they are."""
    try:
        inflated = _inflated(data, kind, limit)
    except InflateError as error:
        raise CodecError(str(error)) from error
    if len(inflated) > limit:
        raise CodecError(f"{kind.name.lower()}: the inflated records exceed the limit of {limit} bytes")
    return inflated


def _inflated(data: memoryview, kind: CompressionType, limit: int) -> bytes | memoryview:
    if kind is CompressionType.NONE:
        return data
    if kind is CompressionType.GZIP:
        return inflate_gzip(data, limit)
    if kind is CompressionType.SNAPPY:
        return decompress_snappy(data, limit)
    return inflate_lz4(data, limit) if kind is CompressionType.LZ4 else inflate_zstd(data, limit)
