"""The bytes of an entry of a DLedger log, and of its unit in the index.

    magic i4 = 1 | size i4 | index i8 | term i8 | position i8 | channel i4 | chain CRC i4 | body CRC i4
    | body size i4 | body

The size includes all fields; the position is that of its first byte in the log. An entry that would leave
less than 8 bytes of a data file goes to the next one; the rest is a blank (-1, bytes left, zeros). No
checksum covers the body. `schema.py` has the same in construct. RocketMQ: `DLedgerEntry`,
`DLedgerEntryCoder`, `MmapFileList.preAppend`.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from mqgateway.engine.store import record
from mqgateway.engine.store.framing import Framing
from mqgateway.engine.store.record import Invalid

MAGIC = 1
BLANK_MAGIC = -1
BLANK_SIZE = 8
"""Minimum of bytes that an entry must leave in its file."""
HEAD = struct.Struct(">iiqqqiiii")
HEAD_SIZE = HEAD.size
INDEX_UNIT = struct.Struct(">iqiqq")
INDEX_UNIT_SIZE = INDEX_UNIT.size
INDEX_FILE_SIZE = 5 * 1024 * 1024 * INDEX_UNIT_SIZE
"""Bytes of an index file. RocketMQ: `DLedgerConfig.mappedFileSizeForEntryIndex`."""
_BLANK = struct.Struct(">ii")


class Head(NamedTuple):
    """The fields of an entry before its body; `size` and `position` are in bytes."""

    magic: int
    size: int
    index: int  # type: ignore[assignment]  # hides a method of tuples
    term: int
    position: int
    channel: int
    chain_crc: int
    body_crc: int
    body_size: int


def encode(index: int, term: int, position: int, body: bytes) -> bytes:
    """Return the bytes of an entry at a position of the log."""
    size = HEAD_SIZE + len(body)
    return HEAD.pack(MAGIC, size, index, term, position, 0, 0, 0, len(body)) + body


def encode_unit(index: int, term: int, position: int, size: int) -> bytes:
    """Return the index unit of an entry of `size` bytes."""
    return INDEX_UNIT.pack(MAGIC, position, size, index, term)


def unit_of(head: Head) -> bytes:
    """Return the index unit of an entry."""
    return INDEX_UNIT.pack(head.magic, head.position, head.size, head.index, head.term)


def blank(size: int) -> bytes:
    """Return the blank that ends a data file with `size` bytes left."""
    return _BLANK.pack(BLANK_MAGIC, size) + bytes(size - BLANK_SIZE)


def examine(data: bytes | memoryview, at: int, position: int) -> Head | Invalid | None:
    """Return the head of the entry at `at`, whose position in the log is `position`; None for a blank, and
    the reason if there is no entry.

    The body need not be in `data`. RocketMQ: `DLedgerMmapFileStore.recover`.
    """
    room = len(data) - at
    if room >= BLANK_SIZE:
        magic, size = _BLANK.unpack_from(data, at)
        if magic == BLANK_MAGIC:
            return None
        if magic != MAGIC:
            return Invalid(f"the entry's magic is 0x{magic & 0xFFFFFFFF:08X}")
        if size == 0:
            return Invalid("nothing was written there")
    if room < HEAD_SIZE:
        return Invalid(f"only {room} bytes are left")
    head = Head._make(HEAD.unpack_from(data, at))
    if head.position != position:
        return Invalid(f"the entry's position is {head.position}")
    if head.body_size < 0 or head.size != HEAD_SIZE + head.body_size:
        return Invalid(f"the entry's size is {head.size}, its body's {head.body_size}")
    return head


def examine_whole(data: memoryview, at: int, position: int, check_crc: bool) -> Head | Invalid | None:
    """Examine an entry as `examine` does, and its body as a whole record with the right position."""
    head = examine(data, at, position)
    if not isinstance(head, Head):
        return head
    if head.size > len(data) - at:
        return Invalid(f"the entry's size is {head.size} with {len(data) - at} bytes there")
    found = record.examine(data[: at + head.size], at + HEAD_SIZE, position + HEAD_SIZE, check_crc)
    if isinstance(found, Invalid):
        return found
    if found != head.body_size:
        return Invalid(f"a record of {found} bytes is in an entry for {head.body_size}")
    return head


def _size_of(data: memoryview, at: int, position: int, check_crc: bool) -> int | Invalid:
    head = examine_whole(data, at, position, check_crc)
    if isinstance(head, Head):
        return head.size
    return 0 if head is None else head


ENTRIES = Framing(HEAD_SIZE, 4, _size_of)
"""Records in entries, one in each. RocketMQ: `DLedgerCommitLog`."""
