"""Primitive types: values at the edges, and bytes that are none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.reader import Reader
from mqgateway.engine.record_batches.writer import write_unsigned_varint, write_varint


@given(st.integers(0, 0xFFFFFFFF))
def test_unsigned_varint_survives_a_round_trip(value: int) -> None:
    out = bytearray()
    write_unsigned_varint(out, value)
    reader = Reader(out)
    assert reader.unsigned_varint() == value
    assert reader.left() == 0


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_varlong_survives_a_round_trip(value: int) -> None:
    out = bytearray()
    write_varint(out, value)
    assert len(out) <= 10
    assert Reader(out).varlong() == value


@given(st.integers(-(1 << 31), (1 << 31) - 1))
def test_varint_survives_a_round_trip(value: int) -> None:
    out = bytearray()
    write_varint(out, value)
    assert len(out) <= 5
    assert Reader(out).varint() == value


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "varint has no end"),
        (b"\x80\x80", "varint has no end"),
        (b"\xff\xff\xff\xff\x1f", "varint is longer than 32 bits"),
        (b"\x80\x80\x80\x80\x80\x01", "varint is longer than 32 bits"),
    ],
)
def test_malformed_varint_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(CodecError, match=reason):
        Reader(data).unsigned_varint()


def test_varlong_of_more_than_64_bits_is_refused() -> None:
    with pytest.raises(CodecError, match="longer than 64 bits"):
        Reader(b"\xff" * 9 + b"\x02").varlong()


@pytest.mark.parametrize("size", [-1, 4])
def test_take_of_more_than_is_left_is_refused(size: int) -> None:
    with pytest.raises(CodecError, match=r"at byte 2: .* 3 left"):
        Reader(b"12345", 2).take(size)


def test_count_that_the_bytes_left_cannot_hold_is_refused() -> None:
    with pytest.raises(CodecError, match="5 elements of 2 bytes or more expected, 9 bytes left"):
        Reader(bytes(9)).check_count(5, 2)


def test_counts_together_keep_the_limit_of_elements() -> None:
    reader = Reader(bytes(100), elements=10)
    reader.check_count(6, 1)
    with pytest.raises(CodecError, match="exceed the limit"):
        reader.check_count(5, 1)


def test_malformed_utf8_becomes_replacement_characters() -> None:
    assert Reader(b"a\xff").string(2) == "a\ufffd"
