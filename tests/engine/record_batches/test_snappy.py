"""Snappy blocks: round trips, the format's own examples, and malformed ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.snappy import (
    BLOCK_SIZE,
    compress_block,
    compress_snappy,
    decompress_block,
    decompress_snappy,
)

LIMIT = 1 << 20


@given(st.one_of(st.binary(max_size=400), st.text("ab", max_size=400).map(str.encode)))
def test_bytes_survive_a_round_trip(data: bytes) -> None:
    assert decompress_block(memoryview(compress_block(data)), LIMIT) == data
    assert decompress_snappy(memoryview(compress_snappy(data)), LIMIT) == data


def test_repeated_bytes_of_many_blocks_become_few() -> None:
    data = b"message " * BLOCK_SIZE
    packed = compress_snappy(data)
    assert len(packed) < len(data) // 10
    assert decompress_snappy(memoryview(packed), LIMIT) == data


@pytest.mark.parametrize(
    ("packed", "data"),
    [
        ("03 08 616263", b"abc"),
        ("0a 04 6162 11 02", b"ab" * 5),
        ("06 08 616263 0a 0300", b"abcabc"),
        ("06 08 616263 0b 03000000", b"abcabc"),
    ],
)
def test_elements_of_every_kind_are_read(packed: str, data: bytes) -> None:
    assert decompress_block(memoryview(bytes.fromhex(packed)), LIMIT) == data


@pytest.mark.parametrize(
    ("packed", "reason"),
    [
        ("", "varint has no end"),
        ("ff ff ff 0f 00", "exceed the limit"),
        ("03 08 6162", "3 bytes expected, 2 left"),
        ("06 08 616263", "3 bytes or more, its header says 6"),
        ("02 08 616263", "3 bytes or more, its header says 2"),
        ("06 08 616263 0a 0400", "copy from 4 bytes back, 3 are there"),
        ("06 08 616263 0a 0000", "copy from 0 bytes back"),
    ],
)
def test_malformed_blocks_are_refused(packed: str, reason: str) -> None:
    with pytest.raises(CodecError, match=reason):
        decompress_block(memoryview(bytes.fromhex(packed)), LIMIT)


def test_limit_is_that_of_all_blocks_together() -> None:
    packed = memoryview(compress_snappy(bytes(BLOCK_SIZE * 2)))
    assert len(decompress_snappy(packed, BLOCK_SIZE * 2)) == BLOCK_SIZE * 2
    with pytest.raises(CodecError, match="exceed the limit"):
        decompress_snappy(packed, BLOCK_SIZE * 2 - 1)
