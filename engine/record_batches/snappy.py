"""Snappy blocks, and the framing of the Java client around them.

A block begins with its inflated size, which is checked before anything is inflated. The framing is a header
of 16 bytes and blocks of at most 32 KiB, each with its length before it. The functions in C inflate up to the
first element that is malformed, and the form in Python continues there, which raises.
Standard: the format description of Snappy; xerial's `SnappyOutputStream`, which Kafka's clients use.
"""

from __future__ import annotations

import struct
from typing import Final

from mqgateway.engine.extension import native
from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.reader import Reader
from mqgateway.engine.record_batches.writer import write_unsigned_varint

XERIAL: Final = b"\x82SNAPPY\x00"
"""The first bytes of the framing."""
XERIAL_HEADER: Final = XERIAL + struct.pack(">ii", 1, 1)
BLOCK_SIZE: Final = 32 * 1024
"""Bytes of a framed block."""
BLOCK_MAX: Final = 64 * 1024
"""Bytes of a block that is compressed: copies are from less than that."""
MATCH_MIN: Final = 4
COPY_MAX: Final = 64
LITERAL_INLINE_MAX: Final = 60
HASH_BITS: Final = 14
HASH_FACTOR: Final = 0x1E35A7BD
SKIP_SHIFT: Final = 5
"""Long stretches without a match are searched less closely."""
_COPY_OFFSET: Final = struct.Struct("<BH")
_LENGTH: Final = struct.Struct(">i")


def decompress_snappy(data: memoryview, limit: int) -> bytes:
    """Return the inflated bytes of a block or of framed blocks, `limit` bytes at most."""
    if bytes(data[: len(XERIAL)]) != XERIAL:
        return decompress_block(data, limit)
    reader = Reader(data, len(XERIAL_HEADER))
    parts: list[bytes] = []
    size = 0
    if native is not None and reader.left() > 0:
        whole, reader.position = native.inflate_frames(data, reader.position, limit)
        parts.append(whole)
        size = len(whole)
    while reader.left() > 0:
        parts.append(decompress_block(reader.take(reader.int32()), limit - size))
        size += len(parts[-1])
    return b"".join(parts)


def decompress_block(data: memoryview, limit: int) -> bytes:
    """Return the inflated bytes of a block, `limit` bytes at most."""
    reader = Reader(data)
    size = reader.unsigned_varint()
    if size > limit:
        raise CodecError(f"{size} inflated bytes exceed the limit of {limit}", 0)
    out = bytearray()
    if native is not None:
        inflated = native.inflate_block(data, reader.position, size)
        if isinstance(inflated, bytes):
            return inflated
        made, reader.position = inflated
        out = bytearray(made)
    while reader.left() > 0:
        tag = reader.take(1)[0]
        kind = tag & 3
        if kind == 0:
            length = tag >> 2
            if length >= LITERAL_INLINE_MAX:
                length = int.from_bytes(reader.take(length - LITERAL_INLINE_MAX + 1), "little")
            out += reader.take(length + 1)
        else:
            if kind == 1:
                length = (tag >> 2 & 7) + 4
                offset = (tag >> 5) << 8 | reader.take(1)[0]
            else:
                length = (tag >> 2) + 1
                offset = int.from_bytes(reader.take(2 if kind == 2 else 4), "little")
            copy_back(out, offset, length, reader.position)
        if len(out) > size:
            break
    if len(out) != size:
        raise CodecError(
            f"snappy block has {len(out)} bytes or more, its header says {size}", reader.position
        )
    return bytes(out)


def copy_back(out: bytearray, offset: int, length: int, position: int) -> None:
    """Append `length` bytes from `offset` before the end; they may overlap."""
    start = len(out) - offset
    if offset == 0 or start < 0:
        raise CodecError(f"snappy copy from {offset} bytes back, {len(out)} are there", position)
    chunk = out[start : start + length]
    while len(chunk) < length:
        chunk += chunk[: length - len(chunk)]
    out += chunk


def compress_snappy(data: bytes | bytearray | memoryview) -> bytes:
    """Return the bytes in blocks framed as the Java client frames them."""
    out = bytearray(XERIAL_HEADER)
    whole = bytes(data)
    for start in range(0, len(whole), BLOCK_SIZE):
        block = compress_block(whole[start : start + BLOCK_SIZE])
        out += _LENGTH.pack(len(block))
        out += block
    return bytes(out)


def compress_block(data: bytes) -> bytes:
    """Return a block of at most 64 KiB. Matches of four bytes and more are found by hashed positions."""
    if len(data) > BLOCK_MAX:
        raise ValueError(f"a block has {BLOCK_MAX} bytes at most, not {len(data)}")
    if native is not None:
        return native.deflate_block(data)
    out = bytearray()
    write_unsigned_varint(out, len(data))
    seen = [0] * (1 << HASH_BITS)
    done = position = 0
    while position + MATCH_MIN <= len(data):
        word = data[position : position + MATCH_MIN]
        slot = (int.from_bytes(word, "little") * HASH_FACTOR & 0xFFFFFFFF) >> 32 - HASH_BITS
        candidate = seen[slot]
        seen[slot] = position
        if candidate == position or data[candidate : candidate + MATCH_MIN] != word:
            position += 1 + (position - done >> SKIP_SHIFT)
            continue
        length = MATCH_MIN
        limit = min(len(data) - position, COPY_MAX)
        while length < limit and data[candidate + length] == data[position + length]:
            length += 1
        write_literal(out, data[done:position])
        out += _COPY_OFFSET.pack(length - 1 << 2 | 2, position - candidate)
        position += length
        done = position
    write_literal(out, data[done:])
    return bytes(out)


def write_literal(out: bytearray, data: bytes) -> None:
    """Append bytes as they are."""
    if not data:
        return
    length = len(data) - 1
    if length < LITERAL_INLINE_MAX:
        out.append(length << 2)
    else:
        size = (length.bit_length() + 7) // 8
        out.append(LITERAL_INLINE_MAX + size - 1 << 2)
        out += length.to_bytes(size, "little")
    out += data
