"""Every compression type: round trips, limits, and bytes that are not compressed."""

import gzip
from contextlib import suppress
from typing import Any

import lz4.frame
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.record_batches.compression import (
    LZ4_BLOCK,
    CompressionType,
    check_frame,
    compress,
    compression_of,
    decompress,
)
from mqgateway.engine.record_batches.errors import CodecError

each_kind = pytest.mark.parametrize("kind", [kind for kind in CompressionType if kind])


@pytest.mark.parametrize("kind", CompressionType)
@given(data=st.binary(max_size=300))
def test_bytes_survive_a_round_trip(kind: CompressionType, data: bytes) -> None:
    assert decompress(memoryview(compress(data, kind)), kind, 300) == data


@each_kind
def test_bytes_that_inflate_beyond_the_limit_are_refused(kind: CompressionType) -> None:
    bomb = memoryview(compress(bytes(1 << 20), kind))
    assert len(decompress(bomb, kind, 1 << 20)) == 1 << 20
    with pytest.raises(CodecError, match="limit of"):
        decompress(bomb, kind, (1 << 20) - 1)


@each_kind
def test_bytes_that_are_not_compressed_are_refused(kind: CompressionType) -> None:
    with pytest.raises(CodecError):
        decompress(memoryview(b"not compressed at all"), kind, 1000)


@each_kind
def test_changed_bytes_raise_no_other_error(kind: CompressionType) -> None:
    packed = compress(b"some text, some more text " * 40, kind)
    for place in range(len(packed)):
        for value in (0, 0x7F, 0xFF):
            changed = bytearray(packed)
            changed[place] = value
            with suppress(CodecError):
                decompress(memoryview(changed), kind, 5000)


def test_gzip_of_several_members_is_inflated_whole() -> None:
    data = memoryview(gzip.compress(b"one ") + gzip.compress(b"two"))
    assert decompress(data, CompressionType.GZIP, 7) == b"one two"
    with pytest.raises(CodecError, match="has no end"):
        decompress(data[:-3], CompressionType.GZIP, 7)


@each_kind
def test_frame_of_compress_is_accepted(kind: CompressionType) -> None:
    check_frame(memoryview(compress(b"text", kind)), kind)


@pytest.mark.parametrize("more", [{"content_checksum": True}, {"block_checksum": True}, {"store_size": True}])
def test_lz4_frame_with_checksums_or_size_is_accepted(more: dict[str, Any]) -> None:
    frame = memoryview(lz4.frame.compress(b"text", block_linked=False, **more))
    check_frame(frame, CompressionType.LZ4)
    assert decompress(frame, CompressionType.LZ4, 4) == b"text"


def test_lz4_frame_of_dependent_blocks_is_refused_but_inflated() -> None:
    data = bytes(100_000)
    frame = memoryview(lz4.frame.compress(data, block_size=LZ4_BLOCK, block_linked=True))
    with pytest.raises(CodecError, match="depend on one another"):
        check_frame(frame, CompressionType.LZ4)
    assert decompress(frame, CompressionType.LZ4, len(data)) == data


@pytest.mark.parametrize("bit", [1, 2])
def test_lz4_frame_with_a_reserved_bit_is_refused(bit: int) -> None:
    frame = bytearray(compress(b"text", CompressionType.LZ4))
    frame[4] |= bit
    with pytest.raises(CodecError, match="reserved bit"):
        check_frame(memoryview(frame), CompressionType.LZ4)


@pytest.mark.parametrize("data", [b"", b"\x04\x22\x4d\x18", b"\x50\x2a\x4d\x18\x00\x00\x00\x00"])
def test_lz4_data_without_a_frame_is_refused(data: bytes) -> None:
    with pytest.raises(CodecError, match="does not begin with a frame"):
        check_frame(memoryview(data), CompressionType.LZ4)


@pytest.mark.parametrize("version", [0, 2, 3])
def test_lz4_frame_of_another_version_is_refused(version: int) -> None:
    frame = bytearray(compress(b"text", CompressionType.LZ4))
    frame[4] = frame[4] & 0b111111 | version << 6
    with pytest.raises(CodecError, match="lz4"):
        decompress(memoryview(frame), CompressionType.LZ4, 4)


@pytest.mark.parametrize("attributes", [5, 6, 7])
def test_unknown_type_is_refused(attributes: int) -> None:
    with pytest.raises(CodecError, match=f"unknown compression type {attributes}"):
        compression_of(attributes)
