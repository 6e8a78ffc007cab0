"""Records of Kafka as messages of RocketMQ and back: nothing is lost on the way there and back again."""

import gzip
import zlib
from ctypes import c_int64

import lz4.frame
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.message import (
    PROPERTY_CRC32,
    SYSTEM_PROPERTIES,
    Message,
    StoredMessage,
    SysFlag,
    pack_host,
    properties_text,
)
from mqgateway.engine.record_batches.batches import CONTROL, LOG_APPEND_TIME, Batch, build_batch
from mqgateway.engine.record_batches.compression import CompressionType
from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.mapping import (
    PROPERTIES_SIZE_MAX,
    MappedMessage,
    PropertiesTooLarge,
    batch_of,
    message_of,
    messages_of,
)
from mqgateway.engine.record_batches.records import Record
from mqgateway.engine.store.record import decode, encode, examine, record_size, sys_flag_for, topic_field

HOST = pack_host("127.0.0.1", 10911)
NOW = 1_700_000_000_000
PLACED = {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true", "CLUSTER": "c", "UNIQ_KEY": "7F0000010001"}
"""Properties that a broker adds to a message that it stores."""

words = st.sampled_from(
    ["", " ", "a b", "\x01", "\x02", "\x00", "grün", "\ud7ff", "__CRC32#\x010123456789", "="]
)
crc_lookalikes = st.sampled_from(["x__CRC32#", "__CRC32$", "__XRC32#", "2#", "#"])
text = st.text(st.characters(codec="utf-8"), max_size=20) | words
data = (
    st.none()
    | st.binary(max_size=40)
    | text.map(str.encode)
    | st.from_regex(r"\A_?#?[0-9]{10}\Z").map(str.encode)
)
names = (
    st.sampled_from(sorted(SYSTEM_PROPERTIES))
    | text
    | crc_lookalikes
    | st.sampled_from(["__KHDR", "__KTIME"])
)
headers = st.lists(st.tuples(names, data), max_size=6)
deltas = st.integers(-2000, 1 << 40)


@st.composite
def kafka_batches(draw: st.DrawFn) -> Batch:
    """A batch as a producer sends it, or as compaction leaves it."""
    count = draw(st.integers(1, 4))
    offsets = sorted(draw(st.sets(st.integers(0, 50), min_size=count, max_size=count)))
    records = [
        Record(draw(data), draw(data), draw(headers), draw(deltas), offset_delta) for offset_delta in offsets
    ]
    return Batch(
        memoryview(
            build_batch(
                records,
                base_timestamp=draw(st.integers(-1, NOW)),
                compression=draw(st.sampled_from(CompressionType)),
                flags=draw(st.sampled_from([0, LOG_APPEND_TIME])),
                base_offset=draw(st.integers(0, 1 << 40)),
                max_timestamp=draw(st.integers(0, NOW)),
            )
        )
    )


def stored(mapped: MappedMessage, **more: str) -> StoredMessage:
    """A mapped message as the log has it."""
    message = Message("t", 0, mapped.body, mapped.properties | more, mapped.born_timestamp, HOST, HOST)
    properties, topic, flag = (
        properties_text(message.properties),
        topic_field("t", False),
        sys_flag_for(message),
    )
    size = record_size(flag, len(message.body), len(topic[1]), len(properties))
    record = encode(
        message, message.body, properties, topic, size, flag, 0, mapped.queue_offset, 4096, NOW + 1
    )
    assert examine(record, 0, 4096, True) == size
    return decode(record)


def of_rocketmq(body: bytes = b"body", sys_flag: int = 0, **properties: str) -> StoredMessage:
    """A message of a RocketMQ producer."""
    message = stored(MappedMessage(body, {}, 77, 5), **properties)
    message.sys_flag = sys_flag
    return message


def records_of(message: StoredMessage) -> Record:
    """The one record of a message."""
    [record] = Batch(memoryview(batch_of([message], 0))).records()
    return record


def seen(batch: Batch) -> list[tuple[object, ...]]:
    """Rows as a client of Kafka sees them."""
    times = batch.max_timestamp if batch.has_log_append_time else None
    return [
        (
            batch.base_offset + record.offset_delta,
            c_int64(batch.base_timestamp + record.timestamp_delta).value if times is None else times,
            record.key,
            record.value,
            [(name, value) for name, value in record.headers],
        )
        for record in batch.records()
    ]


@given(kafka_batches(), st.booleans())
def test_records_survive_being_stored_as_messages(batch: Batch, is_placed: bool) -> None:
    more = PLACED if is_placed else {}
    messages = [stored(mapped, **more) for mapped in messages_of(batch, NOW)]
    back = Batch(memoryview(batch_of(messages, 3)))
    back.check_crc()
    assert seen(back) == seen(batch)
    assert (back.leader_epoch, back.producer_id, back.attributes) == (3, -1, 0)


@given(kafka_batches())
def test_mapped_properties_set_none_of_a_broker(batch: Batch) -> None:
    allowed = {"KEYS", "TAGS"}
    for mapped in messages_of(batch, NOW):
        assert not (mapped.properties.keys() & SYSTEM_PROPERTIES) - allowed


def test_plain_record_maps_to_keys_tags_and_properties() -> None:
    headers = [("TAGS", b"paid"), ("source", "Köln".encode())]
    batch = Batch(
        memoryview(build_batch([Record(b"order-1", b"v", headers)], base_timestamp=9, base_offset=8))
    )
    [mapped] = messages_of(batch, NOW)
    assert (mapped.body, mapped.born_timestamp, mapped.queue_offset) == (b"v", 9, 8)
    assert mapped.properties == {"TAGS": "paid", "source": "Köln", "KEYS": "order-1"}


@pytest.mark.parametrize(
    ("key", "properties"),
    [
        (None, {}),
        (b"", {"__KKEY": "="}),
        (b"a b", {"__KKEY": "YSBi"}),
        (b"\xff", {"__KKEY": "/w=="}),
        (b"k" * 1024, {"KEYS": "k" * 1024}),
        (b"\x00\x00\x00", {"__KKEY": "AAAA"}),
    ],
)
def test_key_is_keys_only_if_rocketmq_takes_it_for_one(key: bytes | None, properties: dict[str, str]) -> None:
    [mapped] = messages_of(Batch(memoryview(build_batch([Record(key, b"v")], base_timestamp=9))), NOW)
    assert mapped.properties == properties


def test_headers_that_cannot_be_properties_leave_the_others_visible() -> None:
    headers = [("a", b"1"), ("KEYS", b"k"), ("b", b"\xff"), ("c", b"2"), ("c", b"3"), ("d", b""), ("e", None)]
    batch = Batch(memoryview(build_batch([Record(None, b"v", headers)], base_timestamp=9)))
    [mapped] = messages_of(batch, NOW)
    assert mapped.properties.keys() == {"a", "__KHDR"}
    assert list(records_of(stored(mapped)).headers) == headers


def test_null_value_and_missing_timestamp_are_flagged() -> None:
    [mapped] = messages_of(Batch(memoryview(build_batch([Record(None, None)], base_timestamp=-1))), NOW)
    assert (mapped.body, mapped.born_timestamp) == (b"", NOW)
    assert mapped.properties == {"__KNULL": "1", "__KTIME": "-1"}


def test_control_batch_has_no_messages() -> None:
    batch = Batch(memoryview(build_batch([Record(b"\0\0\0\1", b"x")], base_timestamp=9, flags=CONTROL)))
    assert messages_of(batch, NOW) == []


def test_bomb_is_refused() -> None:
    data = build_batch([Record(None, bytes(1 << 20))], base_timestamp=0, compression=CompressionType.ZSTD)
    with pytest.raises(CodecError, match="limit of 1000 bytes"):
        messages_of(Batch(memoryview(data)), NOW, 1000)


@pytest.mark.parametrize(
    "record",
    [
        Record(b"\xff" * 32_768, b"v"),
        Record(b"k", b"v", [("h", b"\xff" * 32_768)]),
        Record(b"k", b"v", [(f"h{number}", b"x" * 400) for number in range(100)]),
    ],
)
def test_record_that_no_message_can_hold_is_refused_or_truncated(record: Record) -> None:
    first = Record(None, b"fits")
    batch = Batch(memoryview(build_batch([first, record], base_timestamp=0)))
    with pytest.raises(PropertiesTooLarge) as caught:
        messages_of(batch, NOW)
    assert caught.value.index == 1
    properties = message_of(batch, record, NOW, truncates=True).properties
    assert len(properties_text(properties)) <= PROPERTIES_SIZE_MAX
    is_key = record.key != b"k"
    assert ("__KKEY_TOO_LARGE" in properties, "__KHDR_TOO_LARGE" in properties) == (is_key, not is_key)
    assert is_key or properties["KEYS"] == "k"


def test_message_of_rocketmq_gives_what_a_kafka_client_should_see() -> None:
    message = of_rocketmq(TAGS="paid", KEYS="a b", colour="red", WAIT="true", DELAY="3", **PLACED)
    record = records_of(message)
    assert (record.key, record.value) == (b"a b", b"body")
    assert list(record.headers) == [("TAGS", b"paid"), ("colour", b"red")]


def test_empty_body_of_rocketmq_is_no_null_value() -> None:
    assert records_of(of_rocketmq(b"")).value == b""
    assert records_of(of_rocketmq(b"", __KNULL="1")).value is None


@pytest.mark.parametrize(
    "properties", [{"__KKEY": "no base64"}, {"__KHDR": "AAAA"}, {"__KHDR": "?"}, {"__KTIME": "soon"}]
)
def test_forged_property_is_ignored(properties: dict[str, str]) -> None:
    message = of_rocketmq(KEYS="k", colour="red", **properties)
    record = records_of(message)
    assert (record.key, record.timestamp_delta) == (b"k", 0)
    assert list(record.headers) == [("colour", b"red")]


@pytest.mark.parametrize(
    ("number", "body"),
    [
        (0, zlib.compress(b"long" * 1000)),
        (1, lz4.frame.compress(b"long" * 1000)),
        (2, zstandard.compress(b"long" * 1000)),
        (3, zlib.compress(b"long" * 1000)),
    ],
)
def test_compressed_body_of_rocketmq_is_inflated(number: int, body: bytes) -> None:
    message = of_rocketmq(body, SysFlag.COMPRESSED | number << 8)
    assert records_of(message).value == b"long" * 1000


def test_compressed_body_that_cannot_be_inflated_is_left_as_it_is() -> None:
    body = gzip.compress(b"no zlib")
    assert records_of(of_rocketmq(body, SysFlag.COMPRESSED)).value == body
    bomb = zlib.compress(bytes(20 << 20))
    assert records_of(of_rocketmq(bomb, SysFlag.COMPRESSED)).value == bomb


def test_batch_of_messages_keeps_gaps_of_offsets_and_extreme_times() -> None:
    messages = []
    for queue_offset, born in ((5, -(1 << 63)), (9, (1 << 63) - 1), (10, 0)):
        message = of_rocketmq()
        message.queue_offset, message.born_timestamp = queue_offset, born
        messages.append(message)
    batch = Batch(memoryview(batch_of(messages, 0)))
    assert [(row[0], row[1]) for row in seen(batch)][1:] == [(9, (1 << 63) - 1), (10, 0)]
    assert (batch.base_offset, batch.last_offset, batch.base_timestamp) == (5, 10, -1)


def test_property_that_looks_like_a_checksum_is_kept_apart() -> None:
    headers = [(PROPERTY_CRC32[:-1] + "$", b"0123456789")]
    batch = Batch(memoryview(build_batch([Record(None, b"v", headers)], base_timestamp=9)))
    [mapped] = messages_of(batch, NOW)
    assert mapped.properties.keys() == {"__KHDR"}
    assert list(records_of(stored(mapped)).headers) == headers
