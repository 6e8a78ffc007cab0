"""Op messages: bodies are parsed as written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.message import StoredMessage
from mqgateway.engine.transactions.ops import first_body, listed, op_message, size_of

OFFSETS = st.lists(st.integers(0, (1 << 62) - 1), min_size=1, max_size=30)


def stored(body: bytes, tag: str | None = "d") -> StoredMessage:
    properties = {} if tag is None else {"TAGS": tag}
    return StoredMessage("RMQ_SYS_TRANS_OP_HALF_TOPIC", 0, body, properties, 0, b"", b"")


@given(OFFSETS, st.integers(1, 200))
def test_all_offsets_come_back_message_by_message(offsets: list[int], most: int) -> None:
    rest, found = offsets, []
    while rest:
        count, body = first_body(rest, most)
        assert len(body) - size_of(rest[count - 1]) < most
        assert len(body) == sum(map(size_of, rest[:count]))
        found += listed(stored(body))
        rest = rest[count:]
    assert found == offsets


def test_a_message_is_as_the_standard_reads_it() -> None:
    message = op_message(b"7,12,", "KEY", 99, b"host")
    assert (message.topic, message.queue_id, message.body) == ("RMQ_SYS_TRANS_OP_HALF_TOPIC", 0, b"7,12,")
    assert message.properties == {"TAGS": "d", "WAIT": "true", "UNIQ_KEY": "KEY"}
    assert (message.born_timestamp, message.born_host, message.store_host) == (99, b"host", b"host")


@pytest.mark.parametrize(
    ("body", "offsets"),
    [(b"5", [5]), (b"5,6,", [5, 6]), (b"", []), (b"x,,-1,\xff,3", [3]), ("٣,".encode(), []), (b"9" * 30, [])],
)
def test_invalid_offsets_are_ignored(body: bytes, offsets: list[int]) -> None:
    assert listed(stored(body)) == offsets


def test_only_op_messages_list_anything() -> None:
    assert listed(stored(b"1,", tag="x")) == []
    assert listed(stored(b"1,", tag=None)) == []
    assert listed(None) == []
