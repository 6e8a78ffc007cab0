"""A filter on a record's bytes has the same result as one on its properties."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.message import Message, SysFlag, pack_host, parse_properties
from mqgateway.engine.store.property_choice import KNOWN_MAX, VALUE_MAX, PropertyChoice
from mqgateway.engine.store.record import encode, record_size, sys_flag_for, topic_field

HOST, HOST_V6 = pack_host("127.0.0.1", 10911), pack_host("::1", 10911)
FRAGMENTS = st.sampled_from(
    [b"a", b"b", b"aa", "é".encode(), b"\xc3", b"\1", b"\2", b"a\1x\2", b"b\1a\1y", b"b\1\2"]
)
NAMES = st.lists(st.sampled_from(["a", "b", "aa", "é", "", "x", "a\1x", "\ufffd"]), max_size=3)


def record(properties: bytes, body: bytes = b"a\1x\2b\1y", host: bytes = HOST) -> bytes:
    message = Message("T", 0, body, {}, 1, host, host)
    sys_flag = sys_flag_for(message)
    topic = topic_field("T", True)
    size = record_size(sys_flag, len(body), len(topic[1]), len(properties))
    return encode(message, body, properties, topic, size, sys_flag, 0, 0, 0, 1)


class Asked:
    """Decides by the values of names, and counts the calls."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.count = 0

    def __call__(self, properties: Mapping[str, str]) -> bool:
        self.count += 1
        return len("".join(properties.get(name, "-") for name in self.names)) % 2 == 0


@given(st.lists(st.lists(FRAGMENTS).map(b"".join)), NAMES, st.sampled_from([HOST, HOST_V6]))
def test_records_are_chosen_by_their_properties(texts: list[bytes], names: list[str], host: bytes) -> None:
    asked = Asked(*names)
    choice = PropertyChoice(names, asked)
    for text in texts * 2:
        properties = parse_properties(text.decode("utf-8", "replace"))
        assert choice.takes(record(text, host=host)) == asked(properties) == choice(properties)


def test_sys_flags_of_both_kinds_are_seen() -> None:
    assert sys_flag_for(Message("T", 0, b"", {}, 1, HOST_V6, HOST)) & SysFlag.BORN_HOST_V6


def test_decisions_are_cached_by_values() -> None:
    asked = Asked("a")
    choice = PropertyChoice(["a"], asked)
    for number in range(10):
        assert choice.takes(record(b"a\1odd\2UNIQ_KEY\1%d\2" % number)) is False
        assert choice.takes(record(b"UNIQ_KEY\1%d\2a\1even\2" % number)) is True
        assert choice.takes(record(b"UNIQ_KEY\1%d\2" % number)) is False
    assert asked.count == 3


@pytest.mark.parametrize(("size", "times"), [(VALUE_MAX, 1), (VALUE_MAX + 1, 2)])
def test_long_values_are_not_kept(size: int, times: int) -> None:
    asked = Asked("a")
    choice = PropertyChoice(["a"], asked)
    for _ in range(2):
        choice.takes(record(b"a\1" + b"v" * size + b"\2"))
    assert asked.count == times


def test_no_more_is_kept_than_allowed() -> None:
    asked = Asked("a")
    choice = PropertyChoice(["a"], asked)
    for number in range(KNOWN_MAX + 1):
        choice.takes(record(b"a\1%d\2" % number))
    assert len(choice._known) == 1
