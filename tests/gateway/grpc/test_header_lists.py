"""Header lists are decoded as by `hpack`, and malformed ones are refused."""

from __future__ import annotations

from typing import Any

import pytest
from hpack import Decoder, Encoder, HPACKError, InvalidTableSizeError, OversizedHeaderListError
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.gateway.grpc.header_lists import ENTRY_SIZE, TABLE_SIZE, HeaderListDecoder

Fields = list[tuple[bytes, bytes]]
LIMIT = 2048
NAMES = st.sampled_from([b":path", b":method", b"te", b"x-mq-client-id", b"x-mq-request-id", b"a" * 300])
VALUES = st.one_of(st.sampled_from([b"", b"POST", b"trailers", b"v2"]), st.binary(max_size=200))
LISTS = st.lists(st.tuples(NAMES, VALUES), max_size=12)
SIZES = st.sampled_from([None, 0, 100, 300, TABLE_SIZE])


def read(decoder: Any, block: bytes) -> list[tuple[str, str]] | None:
    """Return a list as texts; None if it is malformed."""
    try:
        if isinstance(decoder, HeaderListDecoder):
            return decoder.decode(block)
        fields = decoder.decode(block, raw=True)
    except HPACKError:
        return None
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in fields]


@given(st.lists(st.tuples(LISTS, st.booleans(), SIZES), max_size=8))
def test_encoded_lists_are_decoded(lists: list[tuple[Fields, bool, int | None]]) -> None:
    encoder, ours, theirs = Encoder(), HeaderListDecoder(1 << 20), Decoder(1 << 20)
    for fields, huffman, size in lists:
        if size is not None:
            encoder.header_table_size = size
        block = encoder.encode(fields, huffman=huffman)
        wanted = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in fields]
        assert read(ours, block) == read(theirs, block) == wanted


FRAGMENTS = st.one_of(
    st.binary(max_size=6),
    st.integers(0, 255).map(lambda first: bytes((first,))),
    st.sampled_from(
        [b"\x40\x01a\x01b", b"\x00\x01a\x7f\x00", b"\x20", b"\x3f\xe1\x1f", b"\xbe", b"\xff\x00"]
    ),
    st.tuples(NAMES, VALUES).map(lambda field: Encoder().encode([field], huffman=len(field[1]) % 2 == 1)),
)


@given(st.lists(st.lists(FRAGMENTS, max_size=6).map(b"".join), max_size=4))
def test_random_blocks_are_decoded_or_refused_as_by_hpack(blocks: list[bytes]) -> None:
    ours, theirs = HeaderListDecoder(LIMIT), Decoder(LIMIT)
    for block in blocks:
        got = read(ours, block)
        assert got == read(theirs, block)
        if got is None:
            return  # the connection is over


def test_list_too_large_after_decoding_is_refused() -> None:
    decoder = HeaderListDecoder(2 * (ENTRY_SIZE + 501))
    add, again = b"\x40\x01a\x7f\xf5\x02" + b"x" * 500, b"\xbe"
    assert len(decoder.decode(add + again)) == 2
    with pytest.raises(OversizedHeaderListError):
        decoder.decode(again * 3)


def test_table_size_is_bounded() -> None:
    decoder = HeaderListDecoder(1 << 20)
    for number in range(1000):
        decoder.decode(b"\x40\x01a\x04%04d" % number)
    newest, oldest = 62, 61 + TABLE_SIZE // (ENTRY_SIZE + 5)
    assert decoder.decode(bytes((0x80 | newest,))) == [("a", "0999")]
    assert decoder.decode(bytes((0x80 | 0x7F, oldest - 0x7F))) == [("a", f"{999 - (oldest - newest):04}")]
    with pytest.raises(HPACKError):
        decoder.decode(bytes((0x80 | 0x7F, oldest + 1 - 0x7F)))
    with pytest.raises(InvalidTableSizeError):
        decoder.decode(b"\x3f\xe2\x1f")  # a size of 4097
