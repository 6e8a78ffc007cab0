"""The index of a range [begin, end) of the log, the object that commits it.

    header     HEADER, bytes of the keys u8, CRC-32C of it u4
    head       segments u4:  days u4, number u4, bytes u4
               holes u4:     begin i8, end i8
               pages u4:     first offset i8, CRC-32C u4
               queues u4:    length of the topic u2, topic, QUEUE, blocks of BLOCK
               key pages u4: first hash u4, CRC-32C u4
    units      of all queues, as in consume queues: 20 bytes a message, or 46 a stored batch
    places     POSITION of every record, ascending, in pages of `PAGE_ENTRIES`
    keys       hashes of all keys, ascending, in pages (`keys`)
    SHA-256 of all bytes before

The header has lengths and checksums of the parts, so that a part can be read alone. Holes are bytes of the
log without a valid record. Queues are sorted by topic and queue id. A queue whose offsets do not continue, as
after its topic was deleted and created again, has several entries in the order of the log.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator, Sequence
from enum import IntEnum
from itertools import pairwise
from typing import Final, NamedTuple

from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.record_batches.crc32c import crc32c
from mqgateway.engine.store.batch_consume_queue import BATCH_UNIT_SIZE
from mqgateway.engine.store.consume_queue import UNIT_SIZE
from mqgateway.engine.tier.format.keys import key_pages_of, number_of_pages

_MAGIC: Final = b"MQGTIDX"
VERSION: Final = 2
_HEADER: Final = struct.Struct(">8s8sqqqqqqi32sqqqqIIQQ")
_KEYS: Final = struct.Struct(">Q")
_CRC: Final = struct.Struct(">I")
_FIXED_SIZES: Final = {1: _HEADER.size, VERSION: _HEADER.size + _KEYS.size}
HEADER_SIZE: Final = _FIXED_SIZES[VERSION] + _CRC.size
"""Bytes that have the header of an index of any version. No index is shorter."""
_COUNT: Final = struct.Struct(">I")
_SEGMENT: Final = struct.Struct(">III")
_HOLE: Final = struct.Struct(">qq")
_PAGE: Final = struct.Struct(">qI")
_KEY_PAGE: Final = struct.Struct(">II")
_LENGTH: Final = struct.Struct(">H")
_QUEUE: Final = struct.Struct(">iBqqIQqqI")
_BLOCK: Final = struct.Struct(">IIIIBIIIqq")
PLACE: Final = struct.Struct(">III")
"""Entry of a record: its offset minus the range's begin, number of its queue, and number of its unit there.
"""
PAGE_ENTRIES: Final = 4096
DIGEST_SIZE: Final = 32
TAIL_MAX: Final = 65536
"""Bytes of a range by which logs are compared."""
RANGE_MAX: Final = (1 << 32) - 1
"""Maximum of bytes of the log in a range."""
PLAIN_CODEC: Final = 0
"""Codec of blocks that are stored as they are. Others are reserved for compression and encryption."""


class QueueKind(IntEnum):
    """Kind of a queue: a unit is a message, or a stored batch of them."""

    MESSAGES = 0
    BATCHES = 1

    @property
    def unit_size(self) -> int:
        """Bytes of a unit."""
        return UNIT_SIZE if self is QueueKind.MESSAGES else BATCH_UNIT_SIZE


class RangeHeader(NamedTuple):
    """Header of an index. Times in ms; sizes, positions and lengths in bytes.

    `first_time` and `last_time` are the least and the greatest store time of the saved records, 0 without
    any. The tail is the last bytes of the log up to the end of the last record, saved or not, at most
    `TAIL_MAX` of them and of one log file; `tail_digest` is their SHA-256. Logs that part have other tails.
    The size is 0 in a range without records. Records that are left out belong to no queue that clients read.
    """

    writer: str
    epoch: int
    begin: int
    end: int
    first_time: int
    last_time: int
    tail_position: int
    tail_size: int
    tail_digest: bytes
    records: int
    record_bytes: int
    left_out: int
    left_out_bytes: int
    head_size: int
    head_crc: int
    units_size: int
    places_size: int
    keys_size: int = 0
    version: int = VERSION

    @property
    def head_at(self) -> int:
        """Position of the head in the object."""
        return _FIXED_SIZES[self.version] + _CRC.size

    @property
    def units_at(self) -> int:
        """Position of the units in the object."""
        return self.head_at + self.head_size

    @property
    def places_at(self) -> int:
        """Position of the places in the object."""
        return self.units_at + self.units_size

    @property
    def keys_at(self) -> int:
        """Position of the keys in the object."""
        return self.places_at + self.places_size

    @property
    def object_size(self) -> int:
        """Bytes of the whole object."""
        return self.keys_at + self.keys_size + DIGEST_SIZE


_FIELDS: Final = RangeHeader._fields.index("keys_size")
"""Number of the fields that each version has."""


class SegmentEntry(NamedTuple):
    """A segment of the range: its retention class in days (0 is unlimited), number, and bytes."""

    days: int
    number: int
    size: int


class Block(NamedTuple):
    """A block of records: where it is stored, and its first unit and message. Times in ms."""

    segment: int
    position: int
    stored_size: int
    raw_size: int
    codec: int
    crc: int
    units_crc: int
    first_unit: int
    first_offset: int
    first_time: int


class SavedQueue(NamedTuple):
    """The messages [first_offset, end_offset) of a queue in a range. `units_at` is a position within the
    units of the index; times in ms. Numbers of units begin with 0.
    """

    topic: str
    queue_id: int
    kind: QueueKind
    first_offset: int
    end_offset: int
    units: int
    units_at: int
    first_time: int
    last_time: int
    blocks: tuple[Block, ...]

    def units_place(self, block: int) -> tuple[int, int]:
        """Return position and length, in bytes within the units of the index, of those of a block."""
        blocks, size = self.blocks, self.kind.unit_size
        first = blocks[block].first_unit
        end = blocks[block + 1].first_unit if block + 1 < len(blocks) else self.units
        return self.units_at + first * size, (end - first) * size

    def block_end(self, block: int) -> int:
        """Return the queue offset after the last message of a block."""
        blocks = self.blocks
        return blocks[block + 1].first_offset if block + 1 < len(blocks) else self.end_offset


class RangeHead(NamedTuple):
    """Content of the head of an index. `pages` are the first log offset and the CRC-32C of each page of
    places, `key_pages` the first hash and the CRC-32C of each page of keys.
    """

    segments: tuple[SegmentEntry, ...]
    holes: tuple[tuple[int, int], ...]
    pages: tuple[tuple[int, int], ...]
    queues: tuple[SavedQueue, ...]
    key_pages: tuple[tuple[int, int], ...] = ()


def encode_index(header: RangeHeader, head: RangeHead, units: bytes, places: bytes, keys: bytes) -> bytes:
    """Return the bytes of an index. Lengths and checksum of the parts in `header`, and the pages of keys in
    `head`, are filled in.
    """
    head_bytes = b"".join(_encoded_head(head._replace(key_pages=key_pages_of(keys))))
    header = header._replace(
        head_size=len(head_bytes),
        head_crc=crc32c(head_bytes),
        units_size=len(units),
        places_size=len(places),
    )
    magic, writer = _MAGIC + bytes([VERSION]), bytes.fromhex(header.writer)
    fixed = _HEADER.pack(magic, writer, *header[1:_FIELDS]) + _KEYS.pack(len(keys))
    parts = (fixed, _CRC.pack(crc32c(fixed)), head_bytes, units, places, keys)
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return b"".join((*parts, digest.digest()))


def _encoded_head(head: RangeHead) -> Iterator[bytes]:
    for count, layout, entries in (
        (len(head.segments), _SEGMENT, head.segments),
        (len(head.holes), _HOLE, head.holes),
        (len(head.pages), _PAGE, head.pages),
    ):
        yield _COUNT.pack(count)
        for entry in entries:
            yield layout.pack(*entry)
    yield _COUNT.pack(len(head.queues))
    for queue in head.queues:
        topic = queue.topic.encode()
        yield _LENGTH.pack(len(topic)) + topic + _QUEUE.pack(*queue[1:9], len(queue.blocks))
        for block in queue.blocks:
            yield _BLOCK.pack(*block)
    yield _COUNT.pack(len(head.key_pages))
    for page in head.key_pages:
        yield _KEY_PAGE.pack(*page)


def pages_of(begin: int, places: bytes) -> tuple[tuple[int, int], ...]:
    """Return first log offset and CRC-32C of each page of places, of a range that begins at `begin`."""
    size = PAGE_ENTRIES * PLACE.size
    return tuple(
        (begin + PLACE.unpack_from(places, at)[0], crc32c(places[at : at + size]))
        for at in range(0, len(places), size)
    )


def decode_header(data: bytes, name: str) -> RangeHeader:
    """Parse the first `HEADER_SIZE` bytes of an index. Raises `CorruptFile` with the object's name."""
    if len(data) < HEADER_SIZE:
        raise CorruptFile(name, len(data), f"the object ends within its header of {HEADER_SIZE} bytes")
    magic, writer, *numbers = _HEADER.unpack_from(data)
    version = magic[-1]
    if magic[:-1] != _MAGIC:
        raise CorruptFile(name, 0, f"the object is not an index: its magic is {magic!r}")
    if version not in _FIXED_SIZES:
        raise CorruptFile(name, 7, f"the index is of version {version}, this program reads 1 to {VERSION}")
    size = _FIXED_SIZES[version]
    if crc32c(data[:size]) != _CRC.unpack_from(data, size)[0]:
        raise CorruptFile(name, 0, "the header does not match its CRC-32C")
    [keys_size] = _KEYS.unpack_from(data, _HEADER.size) if version == VERSION else [0]
    header = RangeHeader(writer.hex(), *numbers)._replace(keys_size=keys_size, version=version)
    if not 0 <= header.begin < header.end <= header.begin + RANGE_MAX:
        raise CorruptFile(name, 0, f"the range is [{header.begin}, {header.end})")
    if header.tail_size and not header.begin <= header.tail_position < header.end:
        raise CorruptFile(name, 0, f"the tail begins at {header.tail_position}, outside the range")
    return header


class _Reader:
    """Parser of the head of an index."""

    def __init__(self, data: bytes, begin: int, name: str) -> None:
        self._data = data
        self._begin = begin
        self._name = name
        self.at = 0

    def fail(self, what: str) -> CorruptFile:
        return CorruptFile(self._name, self._begin + self.at, what)

    def take(self, layout: struct.Struct) -> tuple[int, ...]:
        if self.at + layout.size > len(self._data):
            raise self.fail("the head of the index is too short")
        self.at += layout.size
        return layout.unpack_from(self._data, self.at - layout.size)

    def take_all(self, layout: struct.Struct) -> Iterator[tuple[int, ...]]:
        [count] = self.take(_COUNT)
        if count * layout.size > len(self._data) - self.at:
            raise self.fail(f"the head of the index is too short for {count} entries")
        return (self.take(layout) for _ in range(count))

    def text(self) -> str:
        [length] = self.take(_LENGTH)
        data = self._data[self.at : self.at + length]
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise self.fail(f"the topic is not UTF-8: {data!r}") from None
        if len(data) != length or not length:
            raise self.fail(f"the topic has a length of {length}")
        self.at += length
        return text

    def expect_end(self) -> None:
        if self.at != len(self._data):
            raise self.fail(f"{len(self._data) - self.at} bytes follow the head of the index")


def decode_head(header: RangeHeader, data: bytes, name: str) -> RangeHead:
    """Parse the head of an index, its `header.head_size` bytes at `header.head_at`. Raises `CorruptFile` with
    the object's name.
    """
    if len(data) != header.head_size or crc32c(data) != header.head_crc:
        raise CorruptFile(name, header.head_at, "the head of the index does not match its CRC-32C")
    reader = _Reader(data, header.head_at, name)
    segments = tuple(SegmentEntry(*entry) for entry in reader.take_all(_SEGMENT))
    holes = tuple((begin, end) for begin, end in reader.take_all(_HOLE))
    pages = tuple((first, crc) for first, crc in reader.take_all(_PAGE))
    entries, rest = divmod(header.places_size, PLACE.size)
    if rest or len(pages) != -(-entries // PAGE_ENTRIES):
        raise reader.fail(f"{len(pages)} pages cannot have {header.places_size} bytes")
    [count] = reader.take(_COUNT)
    queues = tuple(_decoded_queue(reader, header, segments) for _ in range(count))
    key_pages = _decoded_key_pages(reader, header) if header.version == VERSION else ()
    reader.expect_end()
    return RangeHead(segments, holes, pages, queues, key_pages)


def _decoded_key_pages(reader: _Reader, header: RangeHeader) -> tuple[tuple[int, int], ...]:
    key_pages = tuple((first, crc) for first, crc in reader.take_all(_KEY_PAGE))
    if len(key_pages) != number_of_pages(header.keys_size):
        raise reader.fail(f"{len(key_pages)} pages cannot have {header.keys_size} bytes of keys")
    if any(page[0] > after[0] for page, after in pairwise(key_pages)):
        raise reader.fail("the pages of keys are not in order")
    return key_pages


def _decoded_queue(reader: _Reader, header: RangeHeader, segments: Sequence[SegmentEntry]) -> SavedQueue:
    topic = reader.text()
    *fields, count = reader.take(_QUEUE)
    queue_id, number, first, end, units, units_at, first_time, last_time = fields
    if number not in (QueueKind.MESSAGES, QueueKind.BATCHES):
        raise reader.fail(f"the kind of a queue is {number}")
    kind = QueueKind(number)
    if queue_id < 0 or not 0 <= first < end or not units or not count:
        what = f"queue {queue_id} of {topic} has {units} units for the messages [{first}, {end})"
        raise reader.fail(what)
    if units_at + units * kind.unit_size > header.units_size:
        raise reader.fail(f"the units of queue {queue_id} of {topic} exceed those of the index")
    if kind is QueueKind.MESSAGES and units != end - first:
        raise reader.fail(f"queue {queue_id} of {topic} has {units} units for {end - first} messages")
    blocks: list[Block] = []
    for _ in range(count):
        block = Block(*reader.take(_BLOCK))
        _check_block(reader, block, blocks[-1] if blocks else None, segments)
        blocks.append(block)
    if (blocks[0].first_unit, blocks[0].first_offset) != (0, first) or blocks[-1].first_unit >= units:
        raise reader.fail(f"the blocks of queue {queue_id} of {topic} do not have its units")
    if blocks[-1].first_offset >= end:
        raise reader.fail(f"the blocks of queue {queue_id} of {topic} do not have its messages")
    return SavedQueue(
        topic, queue_id, kind, first, end, units, units_at, first_time, last_time, tuple(blocks)
    )


def _check_block(
    reader: _Reader, block: Block, before: Block | None, segments: Sequence[SegmentEntry]
) -> None:
    if block.codec != PLAIN_CODEC or block.raw_size != block.stored_size:
        raise reader.fail(f"a block has codec {block.codec}, this program reads {PLAIN_CODEC}")
    if block.segment >= len(segments):
        raise reader.fail(f"a block is in segment {block.segment} of {len(segments)}")
    if not 0 < block.stored_size <= segments[block.segment].size - block.position:
        what = f"a block has {block.stored_size} bytes from {block.position} of a segment of "
        raise reader.fail(f"{what}{segments[block.segment].size}")
    if before is not None and not (
        before.first_unit < block.first_unit and before.first_offset < block.first_offset
    ):
        raise reader.fail("the blocks of a queue are not in order")


def units_of_block(queue: SavedQueue, block: int, data: bytes, name: str) -> bytes:
    """Return the units of a block, given their bytes (`SavedQueue.units_place`). Raises `CorruptFile`.

    The sizes in them add up to that of the block.
    """
    entry = queue.blocks[block]
    if len(data) != queue.units_place(block)[1] or crc32c(data) != entry.units_crc:
        raise CorruptFile(name, -1, f"units of {queue.topic} queue {queue.queue_id} do not match their CRC")
    total = sum(
        int.from_bytes(data[at + 8 : at + 12], "big") for at in range(0, len(data), queue.kind.unit_size)
    )
    if total != entry.raw_size:
        what = (
            f"units of {queue.topic} queue {queue.queue_id} have {total} bytes, their block {entry.raw_size}"
        )
        raise CorruptFile(name, -1, what)
    return data


def place_of_page(header: RangeHeader, page: int) -> tuple[int, int]:
    """Return position and length in bytes, within the object, of a page of places."""
    size = PAGE_ENTRIES * PLACE.size
    at = page * size
    return header.places_at + at, min(size, header.places_size - at)


def places_of(header: RangeHeader, head: RangeHead, page: int, data: bytes, name: str) -> bytes:
    """Return the entries of a page of places, given its bytes. Raises `CorruptFile`."""
    if len(data) != place_of_page(header, page)[1] or crc32c(data) != head.pages[page][1]:
        raise CorruptFile(name, place_of_page(header, page)[0], "the page does not match its CRC-32C")
    return data


def has_digest(data: bytes) -> bool:
    """Return True if the bytes of a whole index match the digest at their end."""
    return hashlib.sha256(data[:-DIGEST_SIZE]).digest() == data[-DIGEST_SIZE:]
