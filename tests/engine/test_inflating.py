"""Compressed bytes: all of them, no more than the limit allows, and errors for those that are damaged."""

from __future__ import annotations

import gzip
import random
import zlib
from collections.abc import Callable

import lz4.frame
import pytest
import zstandard

from mqgateway.engine.inflating import (
    CHUNK_SIZE,
    InflateError,
    inflate_body,
    inflate_gzip,
    inflate_lz4,
    inflate_zstd,
)
from mqgateway.engine.message import SysFlag

TEXT = b"again and " * 50
PACK: dict[int, Callable[[bytes], bytes]] = {
    0: zlib.compress,
    1: lz4.frame.compress,
    2: zstandard.ZstdCompressor().compress,
    3: zlib.compress,
}


@pytest.mark.parametrize("number", PACK)
def test_body_is_inflated_by_the_type_in_its_flag(number: int) -> None:
    assert inflate_body(PACK[number](TEXT), SysFlag.COMPRESSED | number << 8, 1000) == TEXT


def test_body_without_the_flag_is_returned_as_it_is() -> None:
    assert inflate_body(TEXT, 2 << 8, 0) is TEXT


@pytest.mark.parametrize("number", PACK)
def test_body_beyond_the_limit_ends_one_byte_after_it(number: int) -> None:
    assert inflate_body(PACK[number](bytes(1 << 20)), SysFlag.COMPRESSED | number << 8, 1000) == bytes(1001)


@pytest.mark.parametrize("number", [*PACK, 4, 7])
def test_damaged_body_or_unknown_type_is_an_error(number: int) -> None:
    with pytest.raises(InflateError):
        inflate_body(b"this is not compressed", SysFlag.COMPRESSED | number << 8, 1000)


@pytest.mark.parametrize("number", [0, 1, 3])
def test_truncated_body_is_an_error(number: int) -> None:
    with pytest.raises(InflateError, match="no end"):
        inflate_body(PACK[number](TEXT)[:-5], SysFlag.COMPRESSED | number << 8, 1000)


def test_several_members_or_frames_are_inflated() -> None:
    for number in (1, 2):
        assert inflate_body(PACK[number](TEXT) * 2, SysFlag.COMPRESSED | number << 8, 2000) == TEXT * 2
    assert inflate_gzip(gzip.compress(TEXT) * 2, 2000) == TEXT * 2
    assert inflate_zstd(PACK[2](TEXT) * 2, 2000) == TEXT * 2
    assert inflate_lz4(PACK[1](TEXT) * 2, 2000) == TEXT  # as Kafka's reader


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("size", [CHUNK_SIZE - 1, CHUNK_SIZE, CHUNK_SIZE + 1, 3 * CHUNK_SIZE + 5])
def test_frames_are_inflated_in_chunks(number: int, size: int) -> None:
    data = random.Random(1).randbytes(size)
    flag = SysFlag.COMPRESSED | number << 8
    assert inflate_body(PACK[number](data) + PACK[number](TEXT), flag, 1 << 20) == data + TEXT
    assert inflate_body(PACK[number](data), flag, size) == data
    assert inflate_body(PACK[number](data), flag, size - 1) == data
    with pytest.raises(InflateError):
        inflate_body(PACK[number](data)[: size // 2] if number == 1 else b"x", flag, 1 << 20)


def test_members_together_are_limited() -> None:
    assert len(inflate_gzip(gzip.compress(bytes(600)) * 3, 1000)) == 1001
