"""Every compression type: round trips, limits, and bytes that are not compressed."""

import gzip
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.gateway.kafka.codec.compression import Compression, compress, compression_of, decompress
from mqgateway.gateway.kafka.codec.errors import CodecError

each_kind = pytest.mark.parametrize("kind", [kind for kind in Compression if kind])


@pytest.mark.parametrize("kind", Compression)
@given(data=st.binary(max_size=300))
def test_bytes_survive_a_round_trip(kind: Compression, data: bytes) -> None:
    assert decompress(memoryview(compress(data, kind)), kind, 300) == data


@each_kind
def test_bytes_that_inflate_beyond_the_limit_are_refused(kind: Compression) -> None:
    bomb = memoryview(compress(bytes(1 << 20), kind))
    assert len(decompress(bomb, kind, 1 << 20)) == 1 << 20
    with pytest.raises(CodecError, match="limit of"):
        decompress(bomb, kind, (1 << 20) - 1)


@each_kind
def test_bytes_that_are_not_compressed_are_refused(kind: Compression) -> None:
    with pytest.raises(CodecError):
        decompress(memoryview(b"not compressed at all"), kind, 1000)


@each_kind
def test_changed_bytes_raise_no_other_error(kind: Compression) -> None:
    packed = compress(b"some text, some more text " * 40, kind)
    for place in range(len(packed)):
        for value in (0, 0x7F, 0xFF):
            changed = bytearray(packed)
            changed[place] = value
            with suppress(CodecError):
                decompress(memoryview(changed), kind, 5000)


def test_gzip_of_several_members_is_inflated_whole() -> None:
    data = memoryview(gzip.compress(b"one ") + gzip.compress(b"two"))
    assert decompress(data, Compression.GZIP, 7) == b"one two"
    with pytest.raises(CodecError, match="has no end"):
        decompress(data[:-3], Compression.GZIP, 7)


@pytest.mark.parametrize("attributes", [5, 6, 7])
def test_unknown_type_is_refused(attributes: int) -> None:
    with pytest.raises(CodecError, match=f"unknown compression type {attributes}"):
        compression_of(attributes)
