"""Records: the fast path agrees with the schema, and invalid ones are detected."""

import inspect

import crcmod.predefined
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.errors import MessageIllegal
from mqgateway.engine.message import Message, SysFlag, format_properties, parse_properties
from mqgateway.engine.store import record, schema
from tests.support.engine.store.stores import BORN, HOST, HOST_V6, message

names = st.text(st.characters(codec="utf-8", exclude_characters="\x00\x01\x02"), min_size=1, max_size=8)
messages = st.builds(
    Message,
    topic=st.text("abcXYZ%_-", min_size=1, max_size=200),
    queue_id=st.integers(0, 1 << 20),
    body=st.binary(max_size=300),
    properties=st.dictionaries(names, names, max_size=4),
    born_timestamp=st.integers(0, 1 << 50),
    born_host=st.sampled_from([BORN, HOST_V6]),
    store_host=st.sampled_from([HOST, HOST_V6]),
    flag=st.integers(-(1 << 31), (1 << 31) - 1),
    sys_flag=st.sampled_from([0, 1, 4, 8, 12, 0x101]),
    reconsume_times=st.integers(0, 99),
    prepared_transaction_offset=st.integers(0, 1 << 62),
)


def encoded(
    each: Message, queue_offset: int = 7, position: int = 1000, now: int = 1_700_000_000_456
) -> bytes:
    """Return a record as encoded by the store."""
    properties = format_properties(each.properties).encode()
    topic = record.topic_field(each.topic, True)
    flag = record.sys_flag_for(each)
    size = record.record_size(flag, len(each.body), len(topic[1]), len(properties))
    return record.encode(
        each, each.body, properties, topic, size, flag, each.flag, queue_offset, position, now
    )


@given(messages)
def test_the_schema_reads_what_the_fast_path_wrote(each: Message) -> None:
    data = encoded(each)
    read = schema.RECORD.parse(data)
    assert schema.RECORD.build(read) == data
    assert read.total_size == len(data)
    assert (read.topic.decode(), read.body, read.queue_id) == (each.topic, each.body, each.queue_id)
    assert (read.queue_offset, read.physical_offset) == (7, 1000)
    assert read.magic == (schema.MAGIC_V2 if len(each.topic) > 127 else schema.MAGIC_V1)
    assert record.store_timestamp(data) == read.store_timestamp == 1_700_000_000_456


@given(messages)
def test_decode_inverts_encode(each: Message) -> None:
    data = b"??" + encoded(each)
    read = record.decode(data, 2)
    for field in inspect.signature(Message).parameters:
        if field != "sys_flag":
            assert getattr(read, field) == getattr(each, field), field
    assert (read.size, read.queue_offset, read.physical_offset) == (len(data) - 2, 7, 1000)
    hosts = SysFlag.BORN_HOST_V6 | SysFlag.STORE_HOST_V6
    assert read.sys_flag & ~hosts == each.sys_flag


@given(messages)
def test_a_whole_record_is_valid_and_a_cut_one_is_not(each: Message) -> None:
    data = encoded(each)
    assert record.examine(data, 0, 1000, True) == len(data)
    assert isinstance(record.examine(data[:-1], 0, 1000, True), record.Invalid)
    assert isinstance(record.examine(data, 0, 1001, True), record.Invalid)


@given(messages, st.data())
def test_examine_never_raises_and_sees_a_changed_body(each: Message, choose: st.DataObject) -> None:
    data = bytearray(encoded(each))
    at = choose.draw(st.integers(0, len(data) - 1))
    data[at] ^= choose.draw(st.integers(1, 255))
    found = record.examine(bytes(data), 0, 1000, True)
    head = len(data) - 2 - len(format_properties(each.properties).encode())
    body_end = head - len(record.topic_field(each.topic, True)[1])
    if body_end - len(each.body) <= at < body_end:
        assert found == record.Invalid("the body does not match its CRC")


@given(messages, st.data())
def test_sound_parts_agree_with_examine_and_decode(each: Message, choose: st.DataObject) -> None:
    data = bytearray(b"??" + encoded(each))
    for at in choose.draw(st.lists(st.integers(0, len(data) - 1), max_size=1)):
        data[at] ^= choose.draw(st.integers(1, 255))
    checks, left = choose.draw(st.booleans()), choose.draw(st.sampled_from([0, 1, 40]))
    given_bytes = bytes(data[: len(data) - left])
    parts = record.sound_parts(given_bytes, 2, 1000, checks)
    valid = record.examine(given_bytes, 2, 1000, checks)
    if parts is None:
        is_plain = (
            record.sys_flag_for(each) < 16 and len(each.topic) < 128 and bytes(data[2:]) == encoded(each)
        )
        assert left or not is_plain
    else:
        read = record.decode(given_bytes, 2)
        assert valid == parts[5] == read.size
        assert (parts[0].decode("utf-8", "replace"), *parts[1:5]) == (
            *(read.topic, read.queue_id, read.queue_offset, read.sys_flag, read.store_timestamp),
        )
        assert parse_properties(parts[6].decode("utf-8", "replace")) == read.properties


def test_sound_parts_leaves_zeros_and_checksums_to_examine() -> None:
    filled = record.fill_crc(encoded(message(properties={"K": "v", "__CRC32#": "0123456789"})))
    for data in (encoded(message(properties={"Z": "\0" * 300})), filled):
        assert record.examine(data, 0, 1000, True) == len(data)
        assert record.sound_parts(data, 0, 1000, True) is None


@given(st.binary(max_size=200))
def test_examine_survives_any_bytes(data: bytes) -> None:
    found = record.examine(data, 0, 0, True)
    assert isinstance(found, record.Invalid) or found == 0 or found <= len(data)


def test_properties_of_which_a_sector_was_lost_are_distinguished_from_properties_with_zeros() -> None:
    data = bytearray(encoded(message(properties={"K": "v" * 600, "Z": "\0" * 300})))
    at = len(data) - 303
    assert data[at : at + 303] == b"Z\1" + b"\0" * 300 + b"\2"
    assert record.examine(bytes(data), 0, 1000, True) == len(data)
    for boundary in (1024, 1536):
        lost = bytearray(data)
        end = min(len(lost), boundary + 512 - 1000)
        lost[boundary - 1000 : end] = bytes(end - (boundary - 1000))
        assert isinstance(record.examine(bytes(lost), 0, 1000, True), record.Invalid)
    lost = bytearray(data)
    lost[1536 - 1000 :] = bytes(len(lost) - 536)
    assert record.examine(bytes(lost), 0, 1000, True) == record.Invalid(
        "a part of topic or properties is zeros"
    )
    assert record.examine(bytes(lost), 0, 1000, False) == len(data)


def test_a_plain_record_has_91_bytes_besides_its_parts() -> None:
    each = message(topic="t", body=b"", properties={})
    assert len(encoded(each)) == 91 + 1


def test_the_crc_is_that_of_crcmod() -> None:
    data = encoded(message(body=b"the body"))
    crc = crcmod.predefined.mkCrcFun("crc-32")(b"the body") & 0x7FFFFFFF
    assert schema.RECORD.parse(data).body_crc == crc


def test_a_blank_is_recognized() -> None:
    data = record.blank(123)
    assert schema.BLANK.parse(data).size == 123
    assert record.examine(data + bytes(20), 0, 0, True) == 0


@pytest.mark.parametrize("topic", ["", "é" * 64, "x" * 40000])
def test_a_topic_that_no_version_can_hold_is_illegal(topic: str) -> None:
    with pytest.raises(MessageIllegal):
        record.topic_field(topic, True)


def test_a_long_topic_needs_version_2() -> None:
    assert record.topic_field("x" * 128, True)[0] == record.MAGIC_V2
    with pytest.raises(MessageIllegal):
        record.topic_field("x" * 128, False)
