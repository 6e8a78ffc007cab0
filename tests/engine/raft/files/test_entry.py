"""Entries and index units follow `schema` and the bytes of an Apache broker; others have a reason."""

from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.raft.files import schema
from mqgateway.engine.raft.files.entry import (
    HEAD_SIZE,
    INDEX_UNIT_SIZE,
    Head,
    blank,
    encode,
    encode_unit,
    examine,
    unit_of,
)
from mqgateway.engine.store.record import Invalid

numbers = st.integers(0, 1 << 62)
APACHE = bytes.fromhex(
    "00000001000001160000000000000000000000000000000100000000000000000000000000000000000000000000 00e6"
)
"""The first head that a member of Apache's 0.3.2 wrote, before a record of 230 bytes."""


@given(numbers, numbers, numbers, st.binary(max_size=100))
def test_as_the_formats_say(index: int, term: int, position: int, body: bytes) -> None:
    data = encode(index, term, position, body)
    parts = {"index": index, "term": term, "position": position, "channel": 0, "chain_crc": 0, "body_crc": 0}
    assert data == schema.ENTRY.build({**parts, "body": body})
    head = examine(data, 0, position)
    assert isinstance(head, Head)
    assert (head.index, head.term, head.size) == (index, term, HEAD_SIZE + len(body))
    unit = {"position": position, "size": head.size, "index": index, "term": term}
    assert unit_of(head) == encode_unit(index, term, position, head.size) == schema.INDEX_UNIT.build(unit)
    assert len(unit_of(head)) == INDEX_UNIT_SIZE


def test_entry_of_apache_is_encoded() -> None:
    assert encode(0, 1, 0, bytes(230))[:HEAD_SIZE] == APACHE


def test_a_blank() -> None:
    data = blank(20)
    assert examine(data, 0, 76) is None
    assert schema.BLANK.parse(data)["size"] == len(data) == 20


def test_bytes_that_are_no_entry_have_a_reason() -> None:
    data = bytearray(encode(7, 2, 100, b"body"))
    assert examine(data, 0, 99) == Invalid("the entry's position is 100")
    assert examine(data[: HEAD_SIZE - 1], 0, 100) == Invalid("only 47 bytes are left")
    assert examine(bytes(HEAD_SIZE), 0, 0) == Invalid("the entry's magic is 0x00000000")
    assert examine(b"\0\0\0\1" + bytes(44), 0, 0) == Invalid("nothing was written there")
    data[7] += 1
    assert examine(data, 0, 100) == Invalid("the entry's size is 53, its body's 4")
