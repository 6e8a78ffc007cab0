"""Segments: the header's bytes, and what a block's bytes are compared with."""

import pytest

from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.record_batches.crc32c import crc32c
from mqgateway.engine.tier.format.index import PLAIN_CODEC, Block
from mqgateway.engine.tier.format.segment import SEGMENT_HEADER_SIZE, records_of, segment_header

DATA = b"records of a queue"
BLOCK = Block(0, SEGMENT_HEADER_SIZE, len(DATA), len(DATA), PLAIN_CODEC, crc32c(DATA), 0, 0, 0, 0)


def test_header_has_magic_and_writer() -> None:
    header = segment_header("0102030405060708")
    assert header == b"MQGTSEG\x01\x01\x02\x03\x04\x05\x06\x07\x08"
    assert len(header) == SEGMENT_HEADER_SIZE


def test_block_is_returned_if_it_matches() -> None:
    assert records_of(BLOCK, DATA, "s") == DATA


@pytest.mark.parametrize("data", [DATA[:-1], DATA + b"x", DATA[:-1] + b"x", b""])
def test_block_that_changed_is_rejected(data: bytes) -> None:
    with pytest.raises(CorruptFile, match=f"s at byte {SEGMENT_HEADER_SIZE}"):
        records_of(BLOCK, data, "s")
