"""The index of a range: golden bytes, and bounds of everything that is read."""

import hashlib
import struct
from pathlib import Path

import pytest

from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.record_batches.crc32c import crc32c
from mqgateway.engine.store.batch_consume_queue import BATCH_UNIT
from mqgateway.engine.store.consume_queue import UNIT
from mqgateway.engine.tier.format.index import (
    HEADER_SIZE,
    PAGE_ENTRIES,
    PLACE,
    Block,
    QueueKind,
    RangeHead,
    RangeHeader,
    SavedQueue,
    SegmentEntry,
    decode_head,
    decode_header,
    encode_index,
    has_digest,
    pages_of,
    place_of_page,
    places_of,
    units_of_block,
)
from mqgateway.engine.tier.format.keys import KEY, KEY_PAGE_ENTRIES, key_pages_of

GOLDEN = Path(__file__).with_name("index-2.hex")
VERSION_1 = Path(__file__).with_name("index.hex")
UNITS = UNIT.pack(1000, 100, 7) + UNIT.pack(1300, 120, 8) + UNIT.pack(1420, 80, 0)
BATCH_UNITS = BATCH_UNIT.pack(1100, 200, 0, 5000, 10, 3, -1, 0)
PLACES = b"".join((PLACE.pack(0, 0, 0), PLACE.pack(100, 1, 0), PLACE.pack(300, 0, 1), PLACE.pack(420, 0, 2)))
KEYS = b"".join((KEY.pack(5, 300), KEY.pack(7, 0), KEY.pack(7, 420), KEY.pack(0x7FFFFFFF, 100)))
HEAD = RangeHead(
    (SegmentEntry(3, 0, 1000), SegmentEntry(0, 1, 216)),
    ((1500, 1510),),
    pages_of(1000, PLACES),
    (
        SavedQueue(
            "orders",
            0,
            QueueKind.MESSAGES,
            40,
            43,
            3,
            0,
            5000,
            5002,
            (
                Block(0, 16, 220, 220, 0, 0xDEADBEEF, crc32c(UNITS[:40]), 0, 40, 5000),
                Block(0, 236, 80, 80, 0, 0xFEEDBEEF, crc32c(UNITS[40:]), 2, 42, 5002),
            ),
        ),
        SavedQueue(
            "örders",
            7,
            QueueKind.BATCHES,
            10,
            13,
            1,
            60,
            5000,
            5000,
            (Block(1, 16, 200, 200, 0, 1, crc32c(BATCH_UNITS), 0, 10, 5000),),
        ),
    ),
    key_pages_of(KEYS),
)
HEADER = RangeHeader(
    "0102030405060708", 3, 1000, 2000, 5000, 5002, 1420, 80, bytes(range(32)), 4, 500, 1, 10, 0, 0, 0, 0
)
INDEX = encode_index(HEADER, HEAD, UNITS + BATCH_UNITS, PLACES, KEYS)


def read(data: bytes) -> RangeHead:
    header = decode_header(data, "i")
    return decode_head(header, data[header.head_at : header.units_at], "i")


def head_of(index: bytes) -> bytes:
    header = decode_header(index, "i")
    return index[header.head_at : header.units_at]


def with_head(head: RangeHead, header: RangeHeader = HEADER) -> bytes:
    return encode_index(header, head, UNITS + BATCH_UNITS, PLACES, KEYS)


def with_queue(**changes: object) -> bytes:
    return with_head(HEAD._replace(queues=(HEAD.queues[0]._replace(**changes),)))  # type: ignore[arg-type]


def with_blocks(*blocks: Block) -> bytes:
    return with_queue(blocks=blocks)


def test_bytes_are_those_of_the_format() -> None:
    """Objects that were written stay readable: these bytes never change."""
    assert bytes.fromhex(GOLDEN.read_text()) == INDEX


def test_golden_bytes_are_read() -> None:
    data = bytes.fromhex(GOLDEN.read_text())
    header = decode_header(data, "i")
    assert header[:13] == HEADER[:13]
    assert (header.version, header.keys_size) == (2, len(KEYS))
    assert read(data) == HEAD
    assert header.object_size == len(data)
    assert has_digest(data)


def test_index_of_version_1_is_read_without_keys() -> None:
    data = bytes.fromhex(VERSION_1.read_text())
    header = decode_header(data, "i")
    assert header[:13] == HEADER[:13]
    assert (header.version, header.keys_size) == (1, 0)
    assert read(data) == HEAD._replace(key_pages=())
    assert data[header.units_at : header.places_at] == UNITS + BATCH_UNITS
    assert header.object_size == len(data)
    assert has_digest(data)


def test_fields_are_at_their_positions() -> None:
    """Read by `struct` alone, as another program would."""
    assert INDEX[:8] == b"MQGTIDX\x02"
    assert INDEX[8:16] == bytes(range(1, 9))
    assert struct.unpack_from(">qqq", INDEX, 16) == (3, 1000, 2000)
    head_size, head_crc, units_size, places_size, keys_size = struct.unpack_from(">IIQQQ", INDEX, 132)
    assert struct.unpack_from(">I", INDEX, 164)[0] == crc32c(INDEX[:164])
    head = INDEX[168 : 168 + head_size]
    assert crc32c(head) == head_crc
    assert struct.unpack_from(">I III III I qq", head) == (2, 3, 0, 1000, 0, 1, 216, 1, 1500, 1510)
    assert struct.unpack(">III", head[-12:]) == (1, 5, crc32c(KEYS))
    assert INDEX[168 + head_size :][:units_size] == UNITS + BATCH_UNITS
    assert INDEX[168 + head_size + units_size :][:places_size] == PLACES
    assert INDEX[168 + head_size + units_size + places_size :][:keys_size] == KEYS
    assert INDEX[-32:] == hashlib.sha256(INDEX[:-32]).digest()


def test_units_of_a_block_are_checked() -> None:
    header = decode_header(INDEX, "i")
    units = INDEX[header.units_at : header.places_at]
    queue, batches = HEAD.queues
    for at, (of, block) in enumerate(((queue, 0), (queue, 1), (batches, 0))):
        begin, size = of.units_place(block)
        assert (
            units_of_block(of, block, units[begin : begin + size], "i")
            == (
                UNITS[:40],
                UNITS[40:],
                BATCH_UNITS,
            )[at]
        )
    with pytest.raises(CorruptFile, match="do not match their CRC"):
        units_of_block(queue, 0, UNITS[20:], "i")
    with pytest.raises(CorruptFile, match="do not match their CRC"):
        units_of_block(queue, 0, UNITS[:20], "i")


def test_units_that_do_not_add_up_to_their_block_are_rejected() -> None:
    wrong = UNIT.pack(1000, 101, 7) + UNITS[20:40]
    block = HEAD.queues[0].blocks[0]._replace(units_crc=crc32c(wrong))
    queue = HEAD.queues[0]._replace(blocks=(block, HEAD.queues[0].blocks[1]))
    with pytest.raises(CorruptFile, match="have 221 bytes, their block 220"):
        units_of_block(queue, 0, wrong, "i")


def test_pages_of_places_are_checked() -> None:
    places = b"".join(PLACE.pack(number * 10, 0, number) for number in range(PAGE_ENTRIES + 1))
    head = HEAD._replace(pages=pages_of(1000, places))
    assert [first for first, _ in head.pages] == [1000, 1000 + PAGE_ENTRIES * 10]
    data = encode_index(HEADER, head, UNITS + BATCH_UNITS, places, KEYS)
    header = decode_header(data, "i")
    found = []
    for page in range(2):
        at, size = place_of_page(header, page)
        found.append(places_of(header, head, page, data[at : at + size], "i"))
    assert b"".join(found) == places
    with pytest.raises(CorruptFile, match="the page does not match"):
        places_of(header, head, 0, found[1], "i")


@pytest.mark.parametrize("at", range(0, len(INDEX), 11))
def test_digest_sees_every_change(at: int) -> None:
    assert not has_digest(INDEX[:at] + bytes([INDEX[at] ^ 1]) + INDEX[at + 1 :])


@pytest.mark.parametrize("at", range(0, HEADER_SIZE + 200, 3))
def test_changed_header_or_head_is_rejected(at: int) -> None:
    with pytest.raises(CorruptFile):
        read(INDEX[:at] + bytes([INDEX[at] ^ 1]) + INDEX[at + 1 :])


@pytest.mark.parametrize("length", [0, 7, HEADER_SIZE - 1])
def test_short_header_is_rejected(length: int) -> None:
    with pytest.raises(CorruptFile, match="ends within its header"):
        decode_header(INDEX[:length], "i")


def test_other_objects_and_later_versions_are_named() -> None:
    with pytest.raises(CorruptFile, match="is not an index"):
        decode_header(b"x" * HEADER_SIZE, "i")
    with pytest.raises(CorruptFile, match="of version 3, this program reads 1 to 2"):
        decode_header(INDEX[:7] + b"\x03" + INDEX[8:], "i")


@pytest.mark.parametrize(
    "header",
    [
        HEADER._replace(begin=-1),
        HEADER._replace(end=1000),
        HEADER._replace(end=1000 + (1 << 32)),
        HEADER._replace(tail_position=999),
        HEADER._replace(tail_position=2000),
    ],
)
def test_impossible_headers_are_rejected(header: RangeHeader) -> None:
    with pytest.raises(CorruptFile):
        decode_header(with_head(HEAD, header), "i")


BLOCKS = HEAD.queues[0].blocks


@pytest.mark.parametrize(
    "data",
    [
        with_queue(queue_id=-1),
        with_queue(first_offset=43),
        with_queue(end_offset=44),
        with_queue(units=2, end_offset=42),
        with_queue(units_at=47),
        with_queue(topic=""),
        with_queue(blocks=()),
        with_blocks(BLOCKS[0]._replace(segment=2), BLOCKS[1]),
        with_blocks(BLOCKS[0]._replace(position=781), BLOCKS[1]),
        with_blocks(BLOCKS[0]._replace(position=1001), BLOCKS[1]),
        with_blocks(BLOCKS[0]._replace(stored_size=0, raw_size=0), BLOCKS[1]),
        with_blocks(BLOCKS[0]._replace(codec=1), BLOCKS[1]),
        with_blocks(BLOCKS[0]._replace(raw_size=5), BLOCKS[1]),
        with_blocks(BLOCKS[0]._replace(first_unit=1), BLOCKS[1]),
        with_blocks(BLOCKS[0]._replace(first_offset=41), BLOCKS[1]),
        with_blocks(BLOCKS[1], BLOCKS[0]),
        with_blocks(BLOCKS[0], BLOCKS[1]._replace(first_unit=3)),
        with_blocks(BLOCKS[0], BLOCKS[1]._replace(first_offset=43)),
        with_head(HEAD._replace(pages=())),
    ],
)
def test_entries_out_of_bounds_are_rejected(data: bytes) -> None:
    with pytest.raises(CorruptFile, match="i at byte"):
        read(data)


@pytest.mark.parametrize("size", [len(KEYS) - 1, (1 << 63) - 4, 0])
def test_pages_that_cannot_have_the_keys_are_rejected(size: int) -> None:
    header = decode_header(INDEX, "i")._replace(keys_size=size)
    with pytest.raises(CorruptFile, match="1 pages cannot have"):
        decode_head(header, head_of(INDEX), "i")


def test_pages_of_keys_out_of_order_are_rejected() -> None:
    keys = b"".join(KEY.pack(9 - number // KEY_PAGE_ENTRIES, 0) for number in range(KEY_PAGE_ENTRIES + 1))
    data = encode_index(HEADER, HEAD, UNITS + BATCH_UNITS, PLACES, keys)
    with pytest.raises(CorruptFile, match="the pages of keys are not in order"):
        read(data)


def test_unknown_kind_is_rejected() -> None:
    data = bytearray(head_of(INDEX))
    at = data.index(b"orders") + len(b"orders") + 4
    data[at] = 2
    header = decode_header(INDEX, "i")._replace(head_crc=crc32c(bytes(data)))
    with pytest.raises(CorruptFile, match="the kind of a queue is 2"):
        decode_head(header, bytes(data), "i")


@pytest.mark.parametrize("cut", [1, 5, 40, 150])
def test_head_that_is_too_short_or_too_long_is_rejected(cut: int) -> None:
    head = head_of(INDEX)
    for data in (head[:-cut], head + bytes(cut)):
        header = decode_header(INDEX, "i")._replace(head_crc=crc32c(data), head_size=len(data))
        with pytest.raises(CorruptFile):
            decode_head(header, data, "i")


def test_counts_are_bounded_by_the_bytes() -> None:
    data = b"\xff\xff\xff\xff"
    header = decode_header(INDEX, "i")._replace(head_crc=crc32c(data), head_size=4)
    with pytest.raises(CorruptFile, match="too short for 4294967295 entries"):
        decode_head(header, data, "i")


def test_topic_that_is_not_utf8_is_rejected() -> None:
    data = head_of(INDEX).replace(b"orders", b"\xff\xffders")
    header = decode_header(INDEX, "i")._replace(head_crc=crc32c(data))
    with pytest.raises(CorruptFile, match="not UTF-8"):
        decode_head(header, data, "i")
