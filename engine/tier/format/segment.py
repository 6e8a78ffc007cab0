"""Segments: a header, and blocks of records back to back.

    magic "MQGTSEG" and version 1 (8 bytes), writer (8 bytes), block, block, ...

A block has whole records of one topic and queue, at most `BLOCK_MAX` bytes of them, or one larger record.
Blocks of one queue in a segment adjoin, so that several can be read at once. The index of the range has
position, length, codec and CRC-32C of each block.
"""

from __future__ import annotations

from typing import Final

from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.record_batches.crc32c import crc32c
from mqgateway.engine.tier.format.index import Block

SEGMENT_MAGIC: Final = b"MQGTSEG\x01"
SEGMENT_HEADER_SIZE: Final = 16
SEGMENT_MAX: Final = 64 << 20
"""Bytes after which a segment gets no further block."""
BLOCK_MAX: Final = 1 << 20


def segment_header(writer: str) -> bytes:
    """Return the header of a writer's segment."""
    return SEGMENT_MAGIC + bytes.fromhex(writer)


def records_of(block: Block, data: bytes, name: str) -> bytes:
    """Return the records of a block, given its stored bytes. Raises `CorruptFile` with the segment's name."""
    if len(data) != block.stored_size:
        what = f"the block has {len(data)} bytes, the index says {block.stored_size}"
        raise CorruptFile(name, block.position, what)
    if crc32c(data) != block.crc:
        raise CorruptFile(name, block.position, "the block does not match its CRC-32C")
    return data
