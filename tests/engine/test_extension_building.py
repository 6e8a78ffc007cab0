"""Stored records of messages become the same batch in C as in Python, byte for byte."""

from __future__ import annotations

import zlib
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine import extension
from mqgateway.engine.message import SYSTEM_PROPERTIES, Message, SysFlag, pack_host
from mqgateway.engine.record_batches import mapping
from mqgateway.engine.store.record import encode, record_size, sys_flag_for, topic_field
from mqgateway.engine.store.results import GetResult, GetStatus
from mqgateway.engine.store.whole_batches import BatchesResult, read_batches

assert extension.native is not None  # else it is not collected, see `conftest`

V4, V6 = pack_host("10.0.0.7", 10911), pack_host("::1", 10911)
NAMES = (
    "KEYS",
    "TAGS",
    "UNIQ_KEY",
    "__KKEY",
    "__KHDR",
    "__KNULL",
    "__KTIME",
    "__KPID",
    "__",
    "colour",
    "ü",
    "",
)
names = st.sampled_from([*NAMES, *SYSTEM_PROPERTIES])
values = st.sampled_from(["1", "-5", "=", "AAAA", "order-1", "zoë", "", "a\1b", "a\0b", "x" * 300])
texts = st.lists(st.tuples(names, values), max_size=6).map(
    lambda pairs: "".join(f"{name}\1{value}\2" for name, value in pairs).encode()
)
texts |= st.binary(max_size=40) | st.lists(
    st.sampled_from([b"KEYS\1a", b"\2", b"TAGS\1b", b"c\1d", b"\xff"])
).map(b"".join)


def stored(queue_offset: int, born: int, body: bytes, text: bytes, flag: int = 0, host: bytes = V4) -> bytes:
    """Return a stored record."""
    message = Message("Orders", 3, body, {}, born, host, V4, sys_flag=flag)
    topic, sys_flag = topic_field("Orders", True), sys_flag_for(message)
    size = record_size(sys_flag, len(body), len(topic[1]), len(text))
    return encode(message, body, text, topic, size, sys_flag, 0, queue_offset, 77, 5)


@st.composite
def records(draw: st.DrawFn) -> bytes:
    """Return records of one queue, back to back."""
    offset, out = draw(st.sampled_from([0, 1 << 33])), b""
    for _ in range(draw(st.integers(1, 6))):
        born = draw(st.sampled_from([0, 5, 1 << 41, -1, -7, (1 << 63) - 1]))
        flag, body = draw(st.sampled_from([0, 0, 0, SysFlag.COMPRESSED])), draw(st.binary(max_size=20))
        if flag:
            body = zlib.compress(body)
        out += stored(offset, born, body, draw(texts), flag, draw(st.sampled_from([V4, V4, V6])))
        offset += draw(st.integers(1, 3))
    return out


def outcome(body: bytes, offset: int, most: int) -> BatchesResult:
    """Return the batches of records."""
    found = GetResult(GetStatus.FOUND, 1 << 40, 0, 1 << 40, body, [])
    return read_batches(lambda *_: found, offset, 1 << 20, most, 0, False)


def both(body: bytes, offset: int = 0, most: int = 1000) -> BatchesResult:
    """Return the same, which must be equal in C and in Python."""
    in_c = outcome(body, offset, most)
    with patch.object(mapping, "native", None):
        in_python = outcome(body, offset, most)
    for name in ("status", "next_offset", "min_offset", "max_offset", "spans", "size", "count", "built"):
        assert getattr(in_c, name) == getattr(in_python, name), name
    return in_c


@given(records(), st.integers(0, 7), st.integers(1, 7))
def test_batches_of_any_messages_are_equal(body: bytes, offset: int, most: int) -> None:
    both(body, offset, most)
    both(body, (1 << 33) + offset, most)


class Spy:
    """The extension, and how many messages it has added."""

    def __init__(self) -> None:
        self.added = 0

    def add_messages(self, **arguments: Any) -> tuple[int, ...]:
        """Add messages."""
        assert extension.native is not None
        result = extension.native.add_messages(**arguments)
        self.added += result[1]
        return result


@pytest.mark.parametrize(
    ("record", "added"),
    [
        (stored(5, 7, b"body", b"UNIQ_KEY\1A\2KEYS\1order-1\2TAGS\1paid\2name\1zo\xc3\xab\2WAIT\1true"), 1),
        (stored(5, 7, b"", b"__KPID\1value\2"), 1),
        (stored(5, 7, b"", b"__KNULL\0011\2"), 0),
        (stored(5, 7, b"body", b"a\0011\2a\0012\2"), 0),
        (stored(5, 7, b"body", b"KEYS\1a\2KEYS\1b\2"), 0),
        (stored(5, 7, b"body", b"".join(b"h%d\1x\2" % number for number in range(17))), 0),
        (stored(5, 7, zlib.compress(b"body"), b"", SysFlag.COMPRESSED), 0),
        (stored(5, 7, b"body", b"", 0, V6), 0),
    ],
)
def test_usual_messages_are_added_in_c_and_others_in_python(record: bytes, added: int) -> None:
    with patch.object(mapping, "native", Spy()) as spy:
        outcome(record, 0, 1)
    assert spy.added == added
    both(record)


def test_long_runs_become_several_batches_alike() -> None:
    body = b"".join(stored(number, 1, b"x" * (number % 3 * 1000), b"") for number in range(2500))
    result = both(body, 7, 2300)
    assert (result.built, result.next_offset, len(result.spans)) == (2300, 2307, 3)
