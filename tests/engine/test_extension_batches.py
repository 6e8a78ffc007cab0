"""Functions in C for record batches give what their forms in Python give, for any bytes."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TypeVar
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine import extension
from mqgateway.engine.record_batches import ordinary, snappy, walk
from mqgateway.engine.record_batches import records as records_module
from mqgateway.engine.record_batches.batches import CRC_AT, CRC_START, build_batch
from mqgateway.engine.record_batches.crc32c import crc32c, crc32c_of_crcmod
from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.reader import ELEMENTS_MAX
from mqgateway.engine.record_batches.records import TOGETHER, Record, read_records
from mqgateway.engine.record_batches.snappy import (
    BLOCK_MAX,
    XERIAL_HEADER,
    compress_block,
    decompress_block,
    decompress_snappy,
)
from mqgateway.engine.record_batches.walk import walk_records
from mqgateway.gateway.kafka.codec import single_batch
from tests.support.engine.native_calls import FRAMES, KAFKA_RECORDS, PRODUCED, SNAPPY, records_data

assert extension.native is not None  # else it is not collected, see `conftest`

T = TypeVar("T")


def both(module: ModuleType, call: Callable[[], T]) -> T | str:
    """Return the result of a call, or its error, which must be the same in C and in Python."""
    in_c = result(call)
    with patch.object(module, "native", None):
        in_python = result(call)
    assert in_c == in_python
    return in_c


def result(call: Callable[[], T]) -> T | str:
    """Return the result of a call, or its error as text."""
    try:
        return call()
    except CodecError as error:
        return str(error)


@st.composite
def damaged(draw: st.DrawFn, good: st.SearchStrategy[bytes]) -> bytes:
    """Return bytes, some of them changed or truncated."""
    data = bytearray(draw(good))
    for _ in range(draw(st.integers(0, 2)) if data else 0):
        data[draw(st.integers(0, len(data) - 1))] = draw(
            st.sampled_from([0, 1, 0x3E, 0x7F, 0x80, 0xFD, 0xFF])
        )
    return bytes(data[: draw(st.integers(0, len(data)) | st.just(len(data)))])


@pytest.mark.parametrize("size", [0, 1, 7, 8, 767, 768, 769, 1536, 16_384, 16_391])
def test_checksum_of_long_bytes_equals_the_one_by_table(size: int) -> None:
    data = bytes(number * 31 % 251 for number in range(size))
    assert crc32c(data) == crc32c_of_crcmod()(data)
    assert crc32c(memoryview(data)[1:]) == crc32c_of_crcmod()(data[1:])


repetitive = st.lists(st.sampled_from([b"abcd", b"abcde", b"x", bytes(70), b"0123456789"]), max_size=90).map(
    b"".join
)
plain = st.binary(max_size=300) | repetitive
blocks = damaged(plain.map(compress_block) | st.just(SNAPPY) | st.binary(max_size=60))


def framed(parts: list[bytes]) -> bytes:
    """Return blocks with the framing of the Java client."""
    return XERIAL_HEADER + b"".join(len(part).to_bytes(4, "big") + part for part in parts)


@given(plain)
def test_compressed_blocks_are_equal_and_inflate_to_the_same(data: bytes) -> None:
    packed = both(snappy, lambda: compress_block(data))
    assert isinstance(packed, bytes)
    assert both(snappy, lambda: decompress_block(memoryview(packed), len(data))) == data


@pytest.mark.parametrize("size", [BLOCK_MAX - 1, BLOCK_MAX])
def test_largest_blocks_are_equal(size: int) -> None:
    data = b"".join(number.to_bytes(3, "little") for number in range(size // 3 + 1))[:size]
    packed = both(snappy, lambda: compress_block(data + data[:0]))
    assert isinstance(packed, bytes)
    assert both(snappy, lambda: decompress_block(memoryview(packed), size)) == data


@given(blocks, st.integers(0, 400))
def test_damaged_blocks_have_the_same_result_or_error(data: bytes, limit: int) -> None:
    both(snappy, lambda: decompress_block(memoryview(data), limit))


@given(damaged(st.lists(blocks, max_size=4).map(framed) | st.just(FRAMES)), st.integers(0, 400))
def test_damaged_frames_have_the_same_result_or_error(data: bytes, limit: int) -> None:
    both(snappy, lambda: decompress_snappy(memoryview(data), limit))


def test_block_with_elements_of_every_kind_is_inflated() -> None:
    inflated = both(snappy, lambda: decompress_block(memoryview(SNAPPY), 50))
    assert isinstance(inflated, bytes) and len(inflated) == 50
    assert both(snappy, lambda: decompress_snappy(memoryview(FRAMES), 100)) == inflated * 2


data = st.none() | st.binary(max_size=20)
records = st.lists(
    st.builds(
        Record,
        key=data,
        value=data,
        headers=st.lists(st.tuples(st.text(max_size=4), data), max_size=3),
        timestamp_delta=st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-200, 200),
    ),
    max_size=5,
)


def numbered(given_records: list[Record]) -> bytes:
    """Return records with the offset deltas 0, 1, 2 ... as bytes."""
    for number, record in enumerate(given_records):
        record.offset_delta = number
    return records_data(given_records)


def summary(data: bytes, count: int) -> tuple[int, int, int]:
    """Return the results of a check of all records."""
    found = walk_records(memoryview(data), count)
    return found.least_delta, found.greatest_delta, found.first_keyless


def cut(data: bytes | memoryview, count: int) -> list[Record]:
    """Return the records."""
    return list(read_records(data, count))


@given(damaged(records.map(numbered) | st.just(KAFKA_RECORDS) | st.binary(max_size=40)), st.integers(0, 6))
def test_damaged_records_have_the_same_result_or_error(data: bytes, count: int) -> None:
    both(walk, lambda: summary(data, count))
    both(records_module, lambda: cut(memoryview(data), count))


@given(records.filter(bool))
def test_records_are_checked_and_cut_alike(given_records: list[Record]) -> None:
    data = numbered(given_records)
    assert not isinstance(both(walk, lambda: summary(data, len(given_records))), str)
    assert both(records_module, lambda: cut(data, len(given_records))) == given_records


def test_headers_beyond_the_limit_of_a_batch_have_the_same_error() -> None:
    half = [("", None)] * (ELEMENTS_MAX // 2)
    data = numbered([Record(None, None, half), Record(None, None, half), Record(None, None)])
    for module, call in ((walk, lambda: summary(data, 3)), (records_module, lambda: cut(data, 3))):
        assert "exceed the limit" in str(both(module, call))


def test_many_records_are_read_alike() -> None:
    given_records = [Record(None, b"%d" % number, (), 0, number) for number in range(2 * TOGETHER + 1)]
    data = records_data(given_records)
    assert both(records_module, lambda: cut(data, len(given_records))) == given_records


def ordinary_fields(data: bytes) -> tuple[object, ...] | None:
    """Return the fields of an ordinary batch."""
    found = ordinary.ordinary_batch(data, 0, len(data))
    if found is None:
        return None
    deltas = found.least_delta, found.greatest_delta, found.has_keys
    return (
        bytes(found.data),
        found.count,
        found.base_timestamp,
        found.max_timestamp,
        *deltas,
        found.producer_id,
    )


@given(records, st.integers(-1, 1), st.integers(-1, 1), st.sampled_from([0, 0, 0, 8, 1, 64, 256]))
def test_batches_are_ordinary_alike(
    given_records: list[Record], producer_id: int, epoch: int, flags: int
) -> None:
    data = numbered(given_records)
    batch = build_batch(
        [], base_timestamp=5, producer_id=producer_id, producer_epoch=epoch, base_sequence=epoch, flags=flags
    )
    batch[8:12] = (len(batch) - 12 + len(data)).to_bytes(4, "big")
    batch[23:27] = (len(given_records) - 1).to_bytes(4, "big", signed=True)
    batch[57:61] = len(given_records).to_bytes(4, "big")
    batch += data
    batch[CRC_AT:CRC_START] = crc32c(bytes(batch[CRC_START:])).to_bytes(4, "big")
    found = both(ordinary, lambda: ordinary_fields(bytes(batch)))
    has_producer = producer_id >= 0 > epoch
    assert (found is not None) == (bool(given_records) and not flags and not has_producer)


@given(damaged(st.just(bytes(build_batch([Record(b"k", b"v")], base_timestamp=0)))))
def test_damaged_batches_are_ordinary_alike(data: bytes) -> None:
    both(ordinary, lambda: ordinary_fields(data))


@given(damaged(st.just(PRODUCED)))
def test_damaged_requests_are_taken_apart_alike(data: bytes) -> None:
    both(single_batch, lambda: single_batch.read_single_batch(data))
