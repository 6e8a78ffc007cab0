"""Compressed bytes inflated to a limit, so that a few bytes cannot fill the memory.

Functions return one byte more than the limit if there is more; callers refuse that. The system flag of a
message says how its body is compressed: bit 0 that it is, bits 8 to 10 by what. Clients before 5.0, and those
of other languages, set bit 0 alone, which means zlib.
Standard: `CompressionType`, `CompressorFactory`, `MessageSysFlag`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Final

from mqgateway.engine.message import SysFlag

GZIP_WINDOW: Final = 31
"""Largest window, with gzip's header and trailer."""
CHUNK_SIZE: Final = 256 * 1024
"""Bytes of a frame inflated at a time."""
LZ4_BODY: Final = 1
ZSTD_BODY: Final = 2
ZLIB_BODY: Final = 3

Data = bytes | memoryview
One = Callable[[Data, int], tuple[bytes, Data]]
"""Inflates one stream, and returns what follows it."""


class InflateError(ValueError):
    """Bytes that are not compressed as they should be, or that end too early."""


def inflate_body(body: bytes, sys_flag: int, limit: int) -> bytes:
    """Return the body of a message as it was before its client compressed it, if the flag says so."""
    if not sys_flag & SysFlag.COMPRESSED:
        return body
    number = (sys_flag & SysFlag.COMPRESSION_TYPE_MASK) >> 8
    if number in (0, ZLIB_BODY):
        return _zlib_stream(body, limit)[0]
    if number == LZ4_BODY:
        return _all(_lz4_frame, body, limit)
    if number == ZSTD_BODY:
        return inflate_zstd(body, limit)
    raise InflateError(f"compression type {number} is unknown")


def inflate_gzip(data: Data, limit: int) -> bytes:
    """Return the bytes of all members."""
    return _all(_gzip_member, data, limit)


def inflate_lz4(data: Data, limit: int) -> bytes:
    """Return the bytes of the first frame."""
    return _lz4_frame(data, limit)[0]


def inflate_zstd(data: Data, limit: int) -> bytes:
    """Return the bytes of all frames."""
    import zstandard  # loaded by the first message that needs it

    out = bytearray()
    try:
        with zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(
            bytes(data), read_across_frames=True
        ) as stream:
            while len(out) <= limit and (part := stream.read(min(CHUNK_SIZE, limit + 1 - len(out)))):
                out += part
    except zstandard.ZstdError as error:
        raise InflateError(f"zstd: {error}") from error
    return bytes(out)


def _all(one: One, data: Data, limit: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while len(data) and size <= limit:
        part, data = one(data, limit - size)
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _gzip_member(data: Data, limit: int) -> tuple[bytes, Data]:
    return _inflated(zlib.decompressobj(wbits=GZIP_WINDOW), "gzip", data, limit)


def _zlib_stream(data: Data, limit: int) -> tuple[bytes, Data]:
    return _inflated(zlib.decompressobj(), "zlib", data, limit)


def _inflated(inflater: zlib._Decompress, name: str, data: Data, limit: int) -> tuple[bytes, Data]:
    try:
        part = inflater.decompress(data, limit + 1)
    except zlib.error as error:
        raise InflateError(f"{name}: {error}") from error
    if len(part) <= limit and not inflater.eof:
        raise InflateError(f"{name}: the data has no end")
    return part, inflater.unused_data


def _lz4_frame(data: Data, limit: int) -> tuple[bytes, Data]:
    """Inflate in chunks: the library takes memory for all that is allowed, which costs more than the work."""
    import lz4.frame  # loaded by the first message that needs it

    inflater = lz4.frame.LZ4FrameDecompressor()
    parts: list[bytes] = []
    size = 0
    given = bytes(data)
    while size <= limit and not inflater.eof:
        try:
            part: bytes = inflater.decompress(given, max_length=min(CHUNK_SIZE, limit + 1 - size))
        except (RuntimeError, MemoryError) as error:
            raise InflateError(f"lz4: {error}") from error
        if not part and not inflater.eof:
            raise InflateError("lz4: the frame has no end")
        parts.append(part)
        size += len(part)
        given = b""
    return b"".join(parts), inflater.unused_data or b""
