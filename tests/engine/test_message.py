"""Messages: properties, ids, hashes and names agree with RocketMQ's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.message import (
    Message,
    StoredMessage,
    format_host,
    format_properties,
    java_hash,
    message_type,
    offset_message_id,
    offset_message_ids,
    pack_host,
    parse_offset_message_id,
    parse_properties,
    tags_code,
    unpack_host,
)


def hash_by_definition(text: str) -> int:
    """Compute String.hashCode as its documentation defines it: h = 31 * h + unit, in 32 signed bits."""
    raw = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for at in range(0, len(raw), 2):
        value = (31 * value + int.from_bytes(raw[at : at + 2], "big")) & 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


@pytest.mark.parametrize(
    ("text", "value"),
    [("", 0), ("a", 97), ("TagA", 2598919), ("polygenelubricants", -(1 << 31)), ("x" * 600, None)],
)
def test_java_hash_of_known_texts(text: str, value: int | None) -> None:
    """Values of a Java runtime; the last text is longer than the table of powers prepared at import."""
    assert java_hash(text) == (hash_by_definition(text) if value is None else value)


@given(st.text(max_size=80))
def test_java_hash_equals_its_definition(text: str) -> None:
    assert java_hash(text) == hash_by_definition(text)


def test_no_tags_have_code_zero() -> None:
    assert tags_code(None) == 0
    assert tags_code("") == 0
    assert tags_code("TagA") == 2598919


names = st.text(st.characters(blacklist_characters="\x01\x02", blacklist_categories=["Cs"]), min_size=1)


@given(st.dictionaries(names, names))
def test_properties_round_trip(properties: dict[str, str]) -> None:
    assert parse_properties(format_properties(properties)) == properties


@given(st.lists(st.sampled_from(["a", "b", "\x01", "\x02", "\x02", "c\x01d\x02"])))
def test_pairs_without_name_separator_or_value_are_ignored(fragments: list[str]) -> None:
    text = "".join(fragments)
    pairs = [pair.split("\x01", 1) for pair in text.split("\x02") if "\x01" in pair]
    assert parse_properties(text) == {name: value for name, value in pairs if name and value}


def test_properties_without_trailing_separator_are_read() -> None:
    """4.9 clients omit the last separator."""
    assert parse_properties("A\x011\x02B\x012") == {"A": "1", "B": "2"}


def test_malformed_pairs_are_ignored() -> None:
    assert parse_properties("\x01v\x02nothing\x02K\x01\x02A\x01=\x01\x02") == {"A": "=\x01"}


@pytest.mark.parametrize(("ip", "length"), [("127.0.0.1", 8), ("fe80::1", 20)])
def test_hosts_round_trip(ip: str, length: int) -> None:
    packed = pack_host(ip, 10911)
    assert len(packed) == length
    assert unpack_host(packed) == (ip, 10911)
    assert format_host(packed) == f"{ip}:10911"


def test_a_host_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="8 or 20"):
        unpack_host(b"123")


def test_offset_message_id_is_the_standards_hex() -> None:
    packed = pack_host("127.0.0.1", 10911)
    assert offset_message_id(packed, 0x1234) == "7F00000100002A9F0000000000001234"
    assert parse_offset_message_id("7F00000100002A9F0000000000001234") == ("127.0.0.1", 10911, 0x1234)


def test_message_ids_of_a_batch_are_those_of_its_messages() -> None:
    host = pack_host("10.1.2.3", 10911)
    offsets = [0, 255, 1 << 40]
    assert offset_message_ids(host, offsets) == ",".join(offset_message_id(host, one) for one in offsets)


@pytest.mark.parametrize("text", ["", "7F", "Z" * 32, "7F" * 20])
def test_a_malformed_message_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"characters|non-hexadecimal"):
        parse_offset_message_id(text)


def test_a_stored_message_knows_its_id() -> None:
    message = StoredMessage("t", 0, b"", {}, 0, pack_host("10.0.0.1", 1), pack_host("127.0.0.1", 10911))
    message.physical_offset = 7
    assert message.message_id == "7F00000100002A9F0000000000000007"


def test_copy_has_another_queue_and_properties_and_the_same_fields() -> None:
    hosts = pack_host("10.0.0.1", 1), pack_host("127.0.0.1", 10911)
    message = StoredMessage("t", 1, b"x", {"a": "1"}, 2, *hosts, 3, 4, 5, 6)
    copied = message.copy_to("u", 7, {"b": "2"})
    assert type(copied) is Message
    assert (copied.topic, copied.queue_id, copied.body, copied.properties) == ("u", 7, b"x", {"b": "2"})
    assert (copied.born_timestamp, copied.born_host, copied.store_host) == (2, *hosts)
    assert (copied.flag, copied.sys_flag, copied.reconsume_times) == (3, 4, 5)
    assert copied.prepared_transaction_offset == 6
    assert (message.topic, message.queue_id, message.properties) == ("t", 1, {"a": "1"})


@pytest.mark.parametrize(
    ("properties", "kind"),
    [
        ({}, "normal"),
        ({"__SHARDINGKEY": "a"}, "fifo"),
        ({"DELAY": "3", "__SHARDINGKEY": "a"}, "delay"),
        ({"TIMER_DELIVER_MS": "3"}, "delay"),
        ({"TRAN_MSG": "true", "DELAY": "3"}, "transaction"),
        ({"TRAN_MSG": "false"}, "normal"),
    ],
)
def test_message_types(properties: dict[str, str], kind: str) -> None:
    assert message_type(properties) == kind
