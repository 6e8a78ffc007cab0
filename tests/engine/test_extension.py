"""Functions in C have the same results as their forms in Python, for any bytes."""

from __future__ import annotations

import json
import struct
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from inspect import Parameter, signature
from types import ModuleType
from typing import Any, cast
from unittest.mock import patch
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mqgateway.gateway.codec.headers  # noqa: F401  (fills the registry behind `request_headers`)
from mqgateway.engine import extension, message
from mqgateway.engine.errors import MessageIllegal
from mqgateway.engine.message import Message, pack_host
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.store import key_hashes, log_on_files, property_choice, record, runs
from mqgateway.engine.store import reader as reader_module
from mqgateway.engine.store.client_batch import PlainBatch
from mqgateway.engine.store.client_elements import Element, split_batch
from mqgateway.engine.store.compacted_reading import CompactedReading
from mqgateway.engine.store.consume_queue import ADDRESS_MAX, UNIT, ConsumeQueue
from mqgateway.engine.store.expansion import Expansion
from mqgateway.engine.store.index_file import HEADER_SIZE, entries_of
from mqgateway.engine.store.inspection import Inspection
from mqgateway.engine.store.key_hashes import KeyHashes
from mqgateway.engine.store.property_choice import PropertyChoice, values_of
from mqgateway.engine.store.reader import QueueReader
from mqgateway.engine.store.record import MAGIC, encode, record_size, sys_flag_for, topic_field
from mqgateway.engine.store.results import TransferLimits
from mqgateway.engine.tier import rows
from mqgateway.engine.unique_keys import lone_unique_key
from mqgateway.gateway.client import batches, reading
from mqgateway.gateway.client.errors import BadArgument
from mqgateway.gateway.client.message import Message as ToSend
from mqgateway.gateway.client.message import ReceivedMessage, queue_of
from mqgateway.gateway.codec import command, fields
from mqgateway.gateway.codec.codes import CURRENT_VERSION
from mqgateway.gateway.codec.command import RemotingCommand, decode_command, encode_command, encode_response
from mqgateway.gateway.codec.errors import HeaderError, ProtocolError
from mqgateway.gateway.codec.fields import Header, request_headers
from mqgateway.gateway.codec.headers import SendMessageRequestHeader
from tests.support.engine.store.stores import Bench
from tests.support.engine.store.stores import message as to_store

assert extension.native is not None  # else it is not collected, see `conftest`
native = extension.native

NAMED = {
    function: [
        name
        for name, parameter in signature(getattr(extension.Native, function)).parameters.items()
        if parameter.kind is Parameter.KEYWORD_ONLY
    ]
    for function in ("choose", "record", "take_known")
}
"""Argument names of functions that take them by name."""


def by_name(function: str, *arguments: Any) -> Any:
    """Call a function that takes its arguments by name."""
    return getattr(native, function)(**dict(zip(NAMED[function], arguments, strict=True)))


KEYS = [b"UNIQ_KEY\1" + b"A" * length for length in (1, 31, 32, 33, 56)]
RESTS = [b"", b"\2", b"\2WAIT\1true", b"\2WAIT\1true\2", b"\2WAIT\1trueish", b"\2TAGS\1a", b"\2\2"]
texts = st.binary(max_size=80) | st.builds(bytes.__add__, st.sampled_from(KEYS), st.sampled_from(RESTS))
messages = st.lists(
    st.tuples(st.integers(-(2**31), 2**31 - 1), st.binary(max_size=70), texts), min_size=1, max_size=9
)


def batch(parts: list[tuple[int, bytes, bytes]]) -> bytes:
    """Return the body of a batch of messages with these flags, bodies and properties."""
    return b"".join(
        struct.pack(">iiiii", 22 + len(body) + len(text), 1, 2, flag, len(body))
        + body
        + struct.pack(">h", len(text))
        + text
        for flag, body, text in parts
    )


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """Draw bodies of batches, and of near misses."""
    data = bytearray(draw(messages.map(batch) | st.binary(max_size=99)))
    for _ in range(draw(st.integers(0, 2)) if data else 0):
        data[draw(st.integers(0, len(data) - 1))] ^= draw(st.sampled_from([1, 2, 0x80, 0xFF]))
    return bytes(data[: draw(st.integers(0, len(data)) | st.just(len(data)))])


@contextmanager
def in_python(module: ModuleType) -> Iterator[None]:
    """Run a module without the functions in C."""
    with patch.object(module, "native", None):
        yield


def split(data: bytes) -> list[Element] | None:
    """Split in Python; return None if lengths are inconsistent."""
    try:
        return split_batch(data)
    except MessageIllegal:
        return None


signs = st.sampled_from([*'aZ0 _-%|\1\2\1\2"\\/\b\f\n\r\t\0\x1f\x7f', "\x80", "é", "€", "😀", "x" * 9])
words = st.lists(signs, max_size=12).map("".join)


@given(bodies())
def test_a_batch_is_cut(data: bytes) -> None:
    parts = split(data)
    expected = None if parts is None else [20 + len(body) + len(tail) for _, body, tail in parts]
    assert native.element_sizes(data) == expected


def test_batch_with_a_kafka_producer_is_left_to_python() -> None:
    own = (0, b"a", b"KEYS\1k\2")
    assert native.element_sizes(batch([own, (0, b"__KPID\x01", b"__KPI\1\2D\1\2")])) is not None
    assert native.element_sizes(batch([own, (0, b"b", b"A\1b\2__KPID\0017:0:0:1\2")])) is None


@given(messages, st.integers(-(2**31), 2**31 - 1))
def test_batch_with_wrong_element_sizes_is_split_as_in_python(
    parts: list[tuple[int, bytes, bytes]], size: int
) -> None:
    data, at = bytearray(batch(parts)), 0
    for _, body, text in parts:
        data[at : at + 4] = size.to_bytes(4, "big", signed=True)
        at += 22 + len(body) + len(text)
    sizes = native.element_sizes(bytes(data))
    assert sizes == [22 + len(body) + len(text) for _, body, text in parts]
    for length in range(len(data)):
        expected = split(bytes(data[:length]))
        assert native.element_sizes(bytes(data[:length])) == (
            None if expected is None else [20 + len(body) + len(tail) for _, body, tail in expected]
        )


odd_bodies: st.SearchStrategy[Any] = st.sampled_from(
    [memoryview(b"abc"), bytearray(b"abc"), "text", None, bytes(9000)]
)
odd_flags: st.SearchStrategy[Any] = st.sampled_from([True, 2**31, -(2**31) - 1, 1 << 70, 1.0, "1"])
odd_values: st.SearchStrategy[Any] = st.sampled_from([5, None, b"b", "\ud800", "v" * 32_750, "v" * 33_000])


@st.composite
def to_send(draw: st.DrawFn, is_odd: bool) -> ToSend:
    """Draw a message as users make it, or one with parts of other types."""
    sent = ToSend("t", draw(st.binary(max_size=70)), flag=draw(st.integers(-(2**31), 2**31 - 1)))
    sent.properties = draw(st.dictionaries(words, words, max_size=3))
    if is_odd and draw(st.integers(0, 3)) == 0:
        sent.body, sent.flag = draw(odd_bodies), draw(st.just(0) | odd_flags)
        sent.properties["odd"] = draw(st.just("plain") | odd_values)
    return sent


def outcome(function: Any, *given: Any) -> Any:
    """Return the result of a function, or the type of its error."""
    try:
        return function(*given)
    except (BadArgument, TypeError, struct.error, UnicodeEncodeError) as error:
        return type(error), str(error)


several_to_send = st.booleans().flatmap(lambda odd: st.lists(to_send(odd), max_size=6))


@given(several_to_send, st.integers(0, 3), st.integers(0, 400))
def test_a_batch_to_send_is_filled(sent: list[ToSend], begin: int, size_max: int) -> None:
    made = outcome(batches.batch_from, sent, begin, size_max)
    with in_python(batches):
        assert outcome(batches.batch_from, sent, begin, size_max) == made


def test_a_batch_to_send_is_filled_here_where_it_is_plain() -> None:
    sent = [ToSend("t", b"x" * 3000, tags="a", flag=number) for number in range(-2, 7)]
    wanted = ((0, 1 << 30, 99, 9), (0, 10_000, 99, 3), (0, 1 << 30, 2, 2), (0, -9, 99, 1), (7, 9999, 99, 2))
    for begin, size_max, count_max, count in wanted:
        body = b"".join(map(batches.encode_element, sent[begin:][:count]))
        assert native.batch_from(sent, begin, size_max, count_max) == (body, count)
    large = ToSend("t", b"")
    large.flag = 1 << 31
    for odd in (ToSend("t", "é", tags="é"), large):
        assert native.batch_from([sent[0], odd], 0, 1 << 30, 99) is None


def test_error_of_a_message_is_raised() -> None:
    class Emptying(ToSend):
        @property
        def flag(self) -> int:
            sent.clear()
            raise KeyError("no flag")

        @flag.setter
        def flag(self, flag: int) -> None: ...

    sent = [ToSend("t", b"x"), Emptying("t", b"x"), ToSend("t", b"x")]
    with pytest.raises(KeyError, match="no flag"):
        native.batch_from(sent, 0, 1 << 30, 99)
    with pytest.raises(AttributeError, match="flag"):
        native.batch_from([object()], 0, 1 << 30, 99)


@st.composite
def stored(draw: st.DrawFn) -> bytes:
    """Draw concatenated records, most of them plain ones; some bytes may be damaged."""
    data = bytearray()
    for _ in range(draw(st.integers(0, 4))):
        queue_id, turns, flag, born, offset, place, time = draw(numbers_of_a_record)
        topic = topic_field(draw(st.sampled_from(["t", "ü", "t" * 127, "t" * 130])), True)
        body, text = draw(st.binary(max_size=30)), draw(st.binary(max_size=30))
        hosts = [pack_host(draw(st.sampled_from(["10.0.0.7", "10.0.0.7", "::1"])), 5) for _ in range(2)]
        kind = draw(st.sampled_from([0, 0, 4, 1, 0xC0]))
        one = Message("t", queue_id, body, {}, born, *hosts, 0, kind, turns)
        sys_flag = sys_flag_for(one)
        size = record_size(sys_flag, len(body), len(topic[1]), len(text))
        data += encode(one, body, text, topic, size, sys_flag, flag, offset, place, time)
    for _ in range(draw(st.integers(0, 1)) if data else 0):
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data[: draw(st.integers(0, len(data)) | st.just(len(data)))])


int_32, int_64 = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
numbers_of_a_record = st.tuples(int_32, int_32, int_32, int_64, int_64, int_64, int_64)


@given(stored(), st.integers(0, 3))
def test_messages_are_read(body: bytes, at: int) -> None:
    ends: tuple[dict[str, str], ...] = ({"MIN_OFFSET": "0"},)
    here: list[ReceivedMessage] = []
    there: list[ReceivedMessage] = []
    given = (ReceivedMessage, queue_of, "b", ends, body, at)
    assert native.plain_messages(*given, here) == reading._read_plain(*given, there)
    names = (*ReceivedMessage.__slots__, "topic", "body", "flag")
    assert [[getattr(one, name) for name in names] for one in here] == [
        [getattr(one, name) for name in names] for one in there
    ]
    assert all(type(one) is ReceivedMessage for one in here)


def test_messages_are_read_up_to_one_that_is_not_plain() -> None:
    head = struct.pack(">5i2qiq8sq8siqi", 97, MAGIC, 0, 3, 4, 5, 6, 0, 8, bytes(8), 9, bytes(8), 0, 0, 4)
    record = head + b"body" + b"\1t" + b"\0\1" + b"x"
    messages: list[ReceivedMessage] = []
    given = (ReceivedMessage, queue_of, "b", (), record * 3 + record[:-1], 97)
    assert native.plain_messages(*given, messages) == 3 * 97
    assert [(one.body, one.queue.queue_id, one.queue_offset) for one in messages] == [(b"body", 3, 5)] * 2

    def no_queue(topic: str, broker_name: str, queue_id: int) -> Any:
        raise KeyError(topic)

    with pytest.raises(KeyError, match="t"):
        native.plain_messages(ReceivedMessage, no_queue, "b", (), record, 0, messages)


@given(st.binary(max_size=700), st.integers(0, 20))
def test_checksums_are_reckoned(data: bytes, begin: int) -> None:
    for chunk in (data[begin:], memoryview(data)[begin:], data * 5):
        assert native.crc32(chunk) == crc32(chunk)


@st.composite
def logged(draw: st.DrawFn) -> bytes:
    """Draw consecutive records of a log, most of them plain; some bytes may be damaged."""
    data, offsets = bytearray(), dict.fromkeys(((name, number) for name in "ab" for number in range(3)), 7)
    for _ in range(draw(st.integers(0, 9))):
        name, number = draw(st.sampled_from([*offsets]))
        topic = topic_field(
            draw(st.just(name) | st.sampled_from(["SCHEDULE_TOPIC_XXXX", "ü", "t" * 130])), True
        )
        text = draw(logged_texts)
        body, flag = draw(st.binary(max_size=90)), draw(st.sampled_from([0, 0, 0, 1, 4, 8, 0x80]))
        host = pack_host(draw(st.sampled_from(["10.0.0.7"] * 5 + ["::1"])), 5)
        one = Message("t", number, body, {}, 9, host, host, 0, flag)
        size = record_size(sys_flag_for(one), len(body), len(topic[1]), len(text))
        where = offsets[name, number], 5000 + len(data), 1_700_000_000_000 + len(data)
        data += encode(one, body, text, topic, size, sys_flag_for(one), 0, *where)
        offsets[name, number] += draw(st.sampled_from([1, 1, 1, 0, 2]))
    for _ in range(draw(st.integers(0, 1)) if data else 0):
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data[: draw(st.integers(0, len(data)) | st.just(len(data)))])


one_key = b"UNIQ_KEY\1" + b"A" * 32
logged_texts = st.sampled_from(
    [
        *[one_key, one_key + b"\2WAIT\1true", b"WAIT\1true\2" + one_key + b"\2CLUSTER\1c\2"] * 3,
        *(
            one_key + more
            for more in (b"\2TAGS\1a", b"\2KEYS\1k", b"\2INNER_BASE\0015", b"\2" + one_key, b"\1", b"\x80")
        ),
        *(b"", b"UNIQ_KEY\1", b"xUNIQ_KEY\1a", b"UNIQ_KEY\1" + b"1" * 20, b"UNIQ_KEY\1" + b"1" * 20 + b"\2"),
        *(
            one_key + b"\2__CRC32#\001" + b"1" * 10 + b"\2",
            one_key + b"\2a\1\0",
            one_key + b"\2" + b"1" * 10 + b"x",
        ),
    ]
)


@given(logged(), st.integers(0, 40), st.integers(0, 3000), st.booleans())
def test_runs_are_taken(data: bytes, begin: int, end: int, checks: bool) -> None:
    for at, until in ((0, len(data)), (0, end), (begin, len(data))):
        with in_python(runs):
            wanted = runs.run_of(data, at, until, 5000 + at, checks, KeyHashes())
        assert native.run_of(data, at, until, 5000 + at, checks) == wanted


@given(logged(), st.integers(0, 40), st.integers(0, 3000), st.integers(0, 9))
def test_rows_are_read(data: bytes, begin: int, end: int, most: int) -> None:
    for at, until in ((0, len(data)), (0, end), (begin, len(data))):
        with in_python(rows):
            wanted = rows.RowReader().rows(data, at, until, 5000 + at, most)
        assert native.record_rows(data, at, until, 5000 + at, most) == wanted


def test_rows_of_records_with_keys_are_read() -> None:
    host, topic = pack_host("10.0.0.7", 5), topic_field("orders", True)
    one, data = Message("orders", 3, b"b" * 99, {}, 9, host, host), b""
    for text in (b"KEYS\1a  b c\2TAGS\1x\2" + one_key, b"TAGS\1\2TAGS\1yy", b"KEYS\1 ", b"\2KEYS\1a\1b\2\2"):
        size = record_size(0, 99, len(topic[1]), len(text))
        data += encode(one, one.body, text, topic, size, 0, 0, 7, len(data), 77)
    found, end = native.record_rows(data, 0, len(data), 0, 9)
    assert (end, [len(row[7]) for row in found]) == (len(data), [5, 1, 0, 1])
    with in_python(rows):
        assert rows.RowReader().rows(data, 0, len(data), 0, 9) == (found, end)


def test_a_run_is_taken_here() -> None:
    one = Message("t", 3, b"b" * 99, {}, 9, pack_host("10.0.0.7", 5), pack_host("10.0.0.7", 5))
    topic = topic_field("t", True)
    size = record_size(0, 99, len(topic[1]), len(one_key))
    records = [
        encode(one, one.body, one_key, topic, size, 0, 0, number, number * size, 77) for number in range(3)
    ]
    found = native.run_of(b"".join(records), 0, 3 * size, 0, True)
    hashed = KeyHashes().of_bytes("t", b"A" * 32)
    units = b"".join(UNIT.pack(number * size, size, 0) for number in range(3))
    rows = [(hashed, number * size, 77) for number in range(3)]
    assert found == (3 * size, 2 * size, 77, [(b"t", 3, 0, 0, 2 * size, 77, units)], rows)


@given(bodies(), st.sampled_from(["10.0.0.7", "::1"]), st.sampled_from(["10.0.0.7", "::1"]))
def test_records_are_made(data: bytes, born: str, stored: str) -> None:
    message = Message("t", 3, b"", {}, 77, pack_host(born, 5), pack_host(stored, 7), 0, 1, 2, 99)
    field, sys_flag = topic_field("t" * 130, True), sys_flag_for(message)
    places = 1 << 40, (1 << 62) + 5, 1_700_000_000_000
    model = encode(message, b"", b"", field, 0, sys_flag, 0, *places)
    head = model[: record_size(sys_flag, 0, 0, 0) - 2]
    if split(data) is None and data:
        with pytest.raises(ValueError, match="does not add up"):
            native.batch_records(data, head, field[1], *places[:2])
        return
    made = native.batch_records(data, head, field[1], *places[:2])
    if not data:
        assert made == b""
        return
    plain = PlainBatch(data, False)
    assert made == plain.records(message, field, plain.sizes(field, sys_flag), sys_flag, *places)


@given(bodies())
def test_unique_keys_are_found(data: bytes) -> None:
    parts = split(data)
    found = native.unique_keys(data)
    keys = [lone_unique_key(tail[2:]) for _, _, tail in parts or ()]
    if found is None:
        alike = len({len(key) for key in keys if key is not None}) == 1
        simple = all(
            key is not None and len(key) in (32, 56) and key.isalnum() and tail[11 + len(key) :] in RESTS[:4]
            for key, (_, _, tail) in zip(keys, parts or (), strict=True)
        )
        begins = all(tail[2:].startswith(b"UNIQ_KEY\1") for _, _, tail in parts or ())
        assert not (parts and alike and simple and begins)
    else:
        assert found == keys


@given(st.text(max_size=9), st.lists(st.binary(max_size=60)))
def test_keys_are_hashed(topic: str, keys: list[bytes]) -> None:
    hashes = KeyHashes()
    expected = [hashes.of_bytes(topic, key) for key in keys]
    assert native.key_hashes(hashes._of_topic(topic), keys) == expected
    assert native.key_hashes(hashes._of_topic(topic), tuple(keys)) == expected


@given(st.text(max_size=9), words)
def test_a_key_is_hashed(topic: str, key: str) -> None:
    hashes = KeyHashes()
    hashed = hashes.of_key(topic, key)
    with in_python(key_hashes):
        assert hashes.of_key(topic, key) == hashed
    assert native.key_hash(hashes._of_topic(topic), key) == (hashed if key.isascii() else -1)


@given(st.binary(max_size=20), st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=4))
def test_messages_are_named(host: bytes, places: list[int]) -> None:
    one, all_of_them = message.offset_message_id(host, places[0]), message.offset_message_ids(host, places)
    with in_python(message):
        assert message.offset_message_id(host, places[0]) == one
        assert message.offset_message_ids(host, places) == all_of_them
    assert native.message_ids(host, []) == ""


@given(
    st.binary(max_size=40),
    st.integers(0, 9),
    st.integers(0, 40),
    st.lists(st.tuples(*[st.integers(-3, 50)] * 3), max_size=6),
    st.integers(0, 6),
)
def test_chunks_are_gathered(
    data: bytes, begin: int, length: int, places: list[tuple[int, int, int]], number: int
) -> None:
    end, number = begin + min(length, len(data)), min(number, len(places))
    assert native.gather(cast(Any, "text"), begin, end, places, number) is None
    gathered = native.gather(data, begin, end, places, number)
    with in_python(log_on_files):
        assert log_on_files.gather(data, begin, end, places, number) == gathered


@given(st.binary(max_size=40), st.integers(0, 9), st.lists(st.tuples(*[st.integers(0, 50)] * 3), max_size=4))
def test_slices_are_cut(data: bytes, begin: int, places: list[tuple[int, int, int]]) -> None:
    expected = [data[offset - begin : offset - begin + size] for _, offset, size in places]
    assert native.slices(cast(Any, "text"), begin, places) is None
    if all(begin <= offset <= begin + len(data) - size for _, offset, size in places):
        assert native.slices(data, begin, places) == expected
    else:
        with pytest.raises(ValueError, match="does not lie in the buffer"):
            native.slices(data, begin, places)


@given(
    st.binary(max_size=9),
    st.integers(1, 130),
    st.lists(
        st.sampled_from([b"ab\1", b"b\1", b"ab", b"\1", b"\2", b"v", b"ab\1v\2", b"b\1w\2"]), max_size=9
    ),
    st.tuples(st.sampled_from(["10.0.0.7", "::1"]), st.sampled_from(["10.0.0.7", "::1"])),
)
def test_values_of_properties_are_found(
    body: bytes, topic_length: int, text: list[bytes], hosts: tuple[str, str]
) -> None:
    properties = b"".join(text)
    one = Message("t", 0, body, {}, 0, *(pack_host(host, 5) for host in hosts))
    topic, sys_flag = topic_field("t" * topic_length, True), sys_flag_for(one)
    size = record_size(sys_flag, len(body), len(topic[1]), len(properties))
    stored = encode(one, body, properties, topic, size, sys_flag, 0, 0, 0, 0)
    marks = (b"ab\1", b"b\1", b"none\1")
    assert native.property_values(stored, marks) == values_of(stored, marks)
    for cut_at in range(0, len(stored), 7):
        native.property_values(stored[:cut_at], marks)  # for bytes that are not a record any result will do


@given(
    st.lists(
        st.tuples(st.integers(0, 40), st.integers(-1, 12), st.integers(-3, 3)),
        min_size=1,
        max_size=12,
    ),
    st.none() | st.frozensets(st.integers(-3, 12)) | st.just(frozenset({1 << 70})),
    st.tuples(*[st.integers(1, 9)] * 3),
    st.tuples(st.integers(0, 20), st.integers(0, 50), st.integers(1, 12)),
)
def test_records_are_chosen(
    units: list[tuple[int, int, int]],
    codes: frozenset[int] | None,
    counts: tuple[int, ...],
    of_log: tuple[int, int, int],
) -> None:
    limits = TransferLimits(4 * counts[1], counts[0], 3 * counts[1], counts[2])
    store = Bench().store
    log, queue = store._log, store._queues.open("orders", 0)
    assert isinstance(queue, ConsumeQueue)
    log.files.starts, log.end_offset, log.file_size = [of_log[0]], of_log[1], of_log[2]
    inspection = Inspection(log, False)
    expansion = Expansion(inspection.report, lambda *_: False)
    of_log = StoreOptions(), log, inspection, expansion, 50
    reader = QueueReader(*of_log, True, views=(), compacted=CompactedReading())
    data = b"".join(UNIT.pack(*unit) for unit in units)
    chosen = reader._choose(queue, data, 100, 8, 30, codes, limits)
    with in_python(reader_module):
        assert reader._choose(queue, data, 100, 8, 30, codes, limits) == chosen


kinds_put = st.sampled_from(
    [
        {"a": "1"},
        {"a": "2", "b": "x"},
        {"b": "a\1 1"},
        {},
        {"a": "1", "c": "a"},
        {"xa": "1"},
        {"a": "v" * 200},
    ]
)
puts = st.lists(st.tuples(kinds_put, st.integers(0, 300)), min_size=1, max_size=40)


@settings(deadline=None, max_examples=60)
@given(puts, puts, st.integers(0, 30), st.integers(1, 20), st.integers(1, 3000))
def test_take_known_equals_reading_in_python(
    earlier: list[tuple[dict[str, str], int]],
    later: list[tuple[dict[str, str], int]],
    offset: int,
    count: int,
    size: int,
) -> None:
    def matches(properties: Mapping[str, str]) -> bool:
        return properties.get("a") == "1" or properties.get("b") == "x"

    def read(bench: Bench, choice: PropertyChoice) -> list[Any]:
        one = bench.store.get("orders", 0, offset, count, max_bytes=size, accept=choice)
        return [
            one.status,
            one.next_offset,
            one.min_offset,
            one.max_offset,
            one.body,
            one.queue_offsets,
            one.behind,
        ]

    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(disk=RealDisk(), store_path_root_dir=folder)  # type: ignore[arg-type]
        for properties, length in earlier:
            bench.put(to_store(properties=properties, body=b"b" * length))
        bench = bench.restart()  # messages put until now are inspected
        for properties, length in later:
            bench.put(to_store(properties=properties, body=b"b" * length))
        with in_python(property_choice):
            wanted = read(bench, PropertyChoice(("a", "b"), matches))
        choice = PropertyChoice(("a", "b"), matches)
        assert [read(bench, choice) for _ in range(3)] == [wanted] * 3
        bench.store.stop()


def test_take_known_stops_at_limits_and_unknown_values() -> None:
    one = Message("t", 3, b"b" * 99, {}, 9, pack_host("10.0.0.7", 5), pack_host("10.0.0.7", 5))
    topic, text = topic_field("t", True), b"a\0011\2"
    size = record_size(0, 99, len(topic[1]), len(text))
    log = b"".join(
        encode(one, one.body, b"a\1%d\2" % (number % 3), topic, size, 0, 0, number, number * size, 77)
        for number in range(9)
    )
    units = b"".join(UNIT.pack(number * size, size, 0) for number in range(9))
    known = {(b"1",): True, (b"0",): False}
    limits = (0, 0, 9999, 0, 9, 9999, 9, 9999)
    given = [log, 0, len(log), units, 0, 50, (b"a\1",), known]
    records: list[bytes] = []
    offsets: list[int] = []
    assert by_name("take_known", *given, records, offsets, 0, limits) == (
        2,
        size,
        size,
        False,
    )  # then comes "2"
    assert (records, offsets) == ([log[size : 2 * size]], [51])
    known[b"2",] = False
    assert by_name("take_known", *given, [], [], 0, limits) == (9, 3 * size, 7 * size, False)
    for full in ((0, 0, 9999, 0, 1, 9999, 9, 9999), (0, 0, 9999, 9999, 9, 9999, 9, size)):
        assert by_name("take_known", *given, [], [], 0, full) == (2, size, size, True)
    for nothing in (
        (1, 0, 9999, 0, 9, 9, 9, 9),
        (0, 51, 9999, 0, 9, 9, 9, 9),
        (0, 0, size - 1, 0, 9, 9, 9, 9),
    ):
        assert by_name("take_known", *given, [], [], 0, nothing) == (0, 0, -1, False)
    assert by_name("take_known", object(), *given[1:], [], [], 0, limits) is None


def test_records_are_chosen_here_where_none_is_looked_at() -> None:
    units, limits = UNIT.pack(5, 3, 1) + UNIT.pack(9, 4, 2), (0, 9, 0, 9, 99, 9, 99, ADDRESS_MAX)
    assert by_name("choose", units, 7, None, *limits) == ([(7, 5, 3), (8, 9, 4)], 9, False)
    assert by_name("choose", units, 7, frozenset({2}), *limits) == ([(8, 9, 4)], 9, False)
    assert by_name("choose", UNIT.pack(5, 3, ADDRESS_MAX), 7, frozenset({2}), *limits) is None
    assert by_name("choose", units[1:], 7, None, *limits) is None


def test_the_hash_without_a_counterpart() -> None:
    assert native.key_hash(0x80000000, "") == 0
    assert native.key_hash(0x80000001, "") == 0x7FFFFFFF
    assert native.key_hashes(0x80000000, [b""]) == [0]
    assert native.key_hashes(0x80000001, [b""]) == [0x7FFFFFFF]


@given(st.integers(0, 1 << 62), st.lists(st.integers(0, (1 << 31) - 1), max_size=9))
def test_units_are_packed(offset: int, sizes: list[int]) -> None:
    places = [offset + sum(sizes[:number]) for number in range(len(sizes))]
    expected = [UNIT.pack(place, size, 0) for place, size in zip(places, sizes, strict=True)]
    assert native.queue_units(offset, sizes) == b"".join(expected)


entries = st.lists(
    st.tuples(
        st.integers(0, (1 << 31) - 1), st.integers(0, (1 << 63) - 1), st.integers(-(1 << 63), (1 << 63) - 1)
    )
)


@given(entries, st.integers(1, 7), st.integers(1, 9), st.integers(0, 1 << 42), st.binary(min_size=28))
def test_index_entries_are_entered(
    taken: list[tuple[int, int, int]], slots: int, first: int, begin: int, before: bytes
) -> None:
    windows = [bytearray(HEADER_SIZE) + before for _ in range(2)]
    one, other = (memoryview(window) for window in windows)
    assert native.index_entries(one, slots, first, begin, taken) == entries_of(
        other, slots, first, begin, taken
    )
    assert windows[0] == windows[1]


def decoded(cls: type[Header], ext: dict[str, str]) -> Any:
    """Return the header, or its refusal."""
    try:
        return cls.decode(ext)
    except HeaderError as error:
        return error.remark


def decoded_from_json(cls: type[Header], ext: dict[str, str]) -> Any:
    """Return the header of a command in JSON with these fields, or its refusal."""
    try:
        return decode_command(encode_command(RemotingCommand(10, ext_fields=ext))[4:]).read_header(cls)
    except HeaderError as error:
        return error.remark


values = st.sampled_from(
    ["0", "7", "-5", "+5", "007", "", " 1", "1_0", "true", "TRUE", "no", "x", "²", "٣", "UPPER", "lower"]
    + [str(number + near) for number in (2**31, -(2**31), 2**63, -(2**63), 10**18) for near in (-1, 0, 1)]
)


@given(st.sampled_from(sorted(request_headers().values(), key=lambda cls: cls.__name__)), st.data())
def test_headers_are_read(cls: type[Header], choose: st.DataObject) -> None:
    ext = {}
    for field in cls.__fields__:
        is_given = field.required or choose.draw(st.booleans())
        if is_given and choose.draw(st.integers(0, 19)):
            simple = st.just("5") if choose.draw(st.integers(0, 4)) else values
            ext[field.wire_name] = choose.draw(simple)
    for name in choose.draw(st.lists(words, max_size=2)):
        ext.setdefault(name, "more")
    native_form = decoded(cls, ext)
    assert decoded_from_json(cls, ext) == native_form
    fields._compile(cls, None)
    try:
        assert decoded(cls, ext) == native_form
    finally:
        fields._compile(cls)


@given(words)
def test_properties_are_read(text: str) -> None:
    found = message.parse_properties(text)
    assert (native.properties(text) is None) != text.isascii()
    with in_python(message):
        assert list(message.parse_properties(text).items()) == list(found.items())


@given(st.dictionaries(words, words))
def test_properties_are_written(properties: dict[str, str]) -> None:
    made = message.properties_text(properties)
    is_ascii = all(text.isascii() for pair in properties.items() for text in pair)
    assert (native.properties_text(properties) is None) != is_ascii
    with in_python(message):
        assert message.properties_text(properties) == made


numbers = st.integers(-(2**31) - 1, 2**31) | st.sampled_from([0, 5, True, 1.0, None, 10**11, "1"])
extra = st.dictionaries(words, words | st.sampled_from([5, True, None, []]), max_size=4)
members = st.fixed_dictionaries(
    {},
    optional={
        "code": numbers,
        "flag": numbers,
        "language": st.sampled_from(["JAVA", "GO", "none", None, 5]),
        "opaque": numbers,
        "version": numbers,
        "remark": words | st.none(),
        "extFields": st.dictionaries(words, words, max_size=4) | extra | st.sampled_from([None, [], "x"]),
        "serializeTypeCurrentRPC": st.sampled_from(["JSON", None, 0]),
        "other": words,
    },
)


@st.composite
def headers(draw: st.DrawFn) -> bytes:
    """Draw headers in JSON: in the form of most clients, in others, or near misses."""
    plain = {"code": 310, "flag": 0, "language": "JAVA", "opaque": 7, "version": 501}
    plain |= {"extFields": draw(st.dictionaries(words, words, max_size=4))}
    header = draw(st.just(plain) | members | members.map(lambda some: plain | some))
    separators = draw(st.sampled_from([(",", ":"), (",", ":"), (", ", ": ")]))
    escapes = draw(st.booleans())
    data = bytearray(
        json.dumps(header, separators=separators, ensure_ascii=escapes).encode("utf-8", "replace")
    )
    for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
        place, sign = draw(st.integers(0, len(data) - 1)), draw(st.sampled_from(b'{}",:\\u0-1ex\x01\xc3'))
        data[place : place + draw(st.integers(0, 2))] = bytes([sign])
    return bytes(data)


def read(payload: bytes) -> RemotingCommand | str:
    """Return the command with its fields, or its refusal."""
    try:
        found = decode_command(payload)
        found.ext_fields = dict(found.ext_fields)
        return found
    except ProtocolError as error:
        return str(error)


@given(headers(), st.binary(max_size=9))
def test_commands_are_read(header: bytes, body: bytes) -> None:
    payload = struct.pack(">i", len(header)) + header + body
    found = read(payload)
    with in_python(command):
        assert read(payload) == found


def test_header_of_client_is_parsed() -> None:
    fields = {"b": "Topic", "i": "UNIQ_KEY\1AB\2WAIT\1true\2", "": "", "x" * 40: '"\\/'}
    written = RemotingCommand(310, opaque=-5, version=501, remark="why", ext_fields=fields, body=b"body")
    payload = encode_command(written)[4:]
    end = 4 + int.from_bytes(payload[1:4], "big")
    outline = native.json_header(payload, end)
    assert outline is not None
    assert (*outline[:6], outline[7]) == (310, "PYTHON", 501, -5, 0, "why", 4)
    assert native.json_texts(outline[6]) == fields
    assert native.json_header(payload, end - 1) is None
    assert decode_command(payload) == written


@given(
    st.integers(-(2**31), 2**31 - 1) | st.just(2**31),
    st.none() | st.dictionaries(words, words, max_size=4),
    st.binary(max_size=9),
    st.none() | words,
)
def test_answers_are_written(
    number: int, fields: dict[str, str] | None, body: bytes, remark: str | None
) -> None:
    request = RemotingCommand(10, opaque=number)
    made = encode_response(request, number, fields, body, remark)
    with in_python(command):
        assert encode_response(request, number, fields, body, remark) == made


def test_fields_are_made_when_they_are_asked_for() -> None:
    header = SendMessageRequestHeader(
        producer_group="G",
        topic="T",
        default_topic="D",
        default_topic_queue_nums=4,
        queue_id=1,
        sys_flag=0,
        born_timestamp=5,
        flag=0,
        properties="A\1B\2",
    )
    command_ = decode_command(encode_command(RemotingCommand(10, ext_fields=header.encode()))[4:])
    assert command_.read_header(SendMessageRequestHeader) == header
    command_.ext_fields["queueId"] = "2"
    assert command_.read_header(SendMessageRequestHeader).queue_id == 2
    command_.ext_fields = {**header.encode(), "queueId": "3"}
    assert command_.read_header(SendMessageRequestHeader).queue_id == 3


def test_plain_response_is_encoded() -> None:
    answer = native.json_answer(0, CURRENT_VERSION, 7, {"a": "b"}, "why", b"body")
    request = RemotingCommand(10, opaque=7)
    assert native.json_answer(0, 501, 7, {"a": '"'}, None, b"") is None
    assert answer == encode_response(request, 0, {"a": "b"}, b"body", "why")


ints, longs = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)


@given(
    st.tuples(ints, longs, ints, ints, ints, longs),
    st.tuples(ints, longs, longs, longs),
    st.tuples(st.sampled_from(["10.0.0.7", "::1"]), st.sampled_from(["10.0.0.7", "::1"])),
    st.tuples(st.binary(max_size=40), st.binary(max_size=40), st.integers(1, 130)),
)
def test_a_record_is_made(
    of_message: tuple[int, ...],
    places: tuple[int, ...],
    hosts: tuple[str, str],
    texts: tuple[bytes, bytes, int],
) -> None:
    queue_id, born, flag, sys_flag, turns, prepared = of_message
    body, properties, length = texts
    born_host, store_host = (pack_host(host, 5) for host in hosts)
    one = Message("t", queue_id, body, {}, born, born_host, store_host, 0, sys_flag, turns, prepared)
    topic, sys_flag = topic_field("t" * length, True), sys_flag_for(one)
    size = record_size(sys_flag, len(body), len(topic[1]), len(properties))
    made = encode(one, body, properties, topic, size, sys_flag, flag, *places[1:])
    with in_python(record):
        assert encode(one, body, properties, topic, size, sys_flag, flag, *places[1:]) == made


PARTS: dict[str, Any] = {
    "size": 99,
    "queue_id": 2,
    "flag": 3,
    "queue_offset": 4,
    "physical_offset": 5,
    "sys_flag": 6,
    "born_timestamp": 7,
    "born_host": bytes(8),
    "store_timestamp": 8,
    "store_host": bytes(8),
    "reconsume_times": 9,
    "prepared": 10,
    "body": b"body",
    "topic": (MAGIC, b"\1t"),
    "properties": b"abc",
}


def test_a_record_is_made_here_where_its_numbers_fit() -> None:
    assert native.record(**PARTS) is not None
    wrong: dict[str, Any] = {"size": 98, "queue_id": 2**31, "queue_offset": 2**63, "born_host": "text"}
    for name, value in (*wrong.items(), ("topic", (2**31, b"")), ("topic", (MAGIC,)), ("topic", b"\1t")):
        assert native.record(**{**PARTS, name: value}) is None, name


@pytest.mark.parametrize(
    ("function", "given"),
    [
        ("element_sizes", ("text",)),
        ("batch_records", (b"", b"short", b"", 0, 0)),
        ("batch_records", (b"", bytes(88), b"", 1 << 64, 0)),
        ("batch_from", ((), 0, 9, 9)),
        ("batch_from", ([], 0, 1 << 64, 9)),
        ("batch_from", ([], -1, 9, 9)),
        ("batch_from", ([], 0, 9)),
        ("crc32", ("text",)),
        ("run_of", (b"", 0, 0, 0)),
        ("run_of", (b"", -1, 0, 0, True)),
        ("run_of", (bytearray(), 0, 0, 0, True)),
        ("run_of", (b"", 0, 0, 1 << 64, True)),
        ("record_rows", (b"", 0, 0, 0)),
        ("record_rows", (b"", -1, 0, 0, 9)),
        ("record_rows", (bytearray(), 0, 0, 0, 9)),
        ("record_rows", (b"", 0, 0, 1 << 64, 9)),
        ("plain_messages", (ReceivedMessage, queue_of, "b", (), b"", 0)),
        ("plain_messages", (ReceivedMessage, queue_of, "b", (), b"", -1, [])),
        ("plain_messages", (ReceivedMessage, queue_of, "b", (), "text", 0, [])),
        ("plain_messages", (5, queue_of, "b", (), b"", 0, [])),
        ("plain_messages", (ToSend, queue_of, "b", (), b"", 0, [])),
        ("plain_messages", (Message, queue_of, "b", (), b"", 0, [])),
        ("unique_keys", (None,)),
        ("key_hashes", (0, ["text"])),
        ("key_hashes", (0, 5)),
        ("key_hash", ("text", "text")),
        ("key_hash", (0,)),
        ("message_ids", ("host", [5])),
        ("message_ids", (b"host", 5)),
        ("message_ids", (b"host", [-5])),
        ("message_ids", (b"host", [1 << 64])),
        ("message_ids", (b"host", ["5"])),
        ("slices", (b"abc", 0, [(0, 2, 2)])),
        ("slices", (b"abc", 0, [(0, -1, 2)])),
        ("slices", (b"abc", 0, [(0, 1, -1)])),
        ("slices", (b"abc", 0, [(0, 1 << 64, 1)])),
        ("slices", (b"abc", 1 << 64, [])),
        ("gather", (b"abc", 0, 3, [])),
        ("gather", (b"abc", 0, 4, [], 0)),
        ("gather", (b"abc", 0, 3, [], 1)),
        ("gather", (b"abc", 0, 3, [], -1)),
        ("gather", (b"abc", 2, 1, [], 0)),
        ("gather", (b"abc", 0, 3, [(0, 1)], 0)),
        ("gather", (b"abc", 0, 3, [(0, 1 << 64, 1)], 0)),
        ("slices", (b"abc", 0, [(0, 1)])),
        ("slices", (b"abc", 0, 5)),
        ("property_values", (b"", [b"a"])),
        ("property_values", (bytes(200), ("a",))),
        ("property_values", ("text", (b"a",))),
        ("take_known", (b"", 0, 0, b"", 0, 0, (), {}, [], [], 0, (0,))),
        ("take_known", (b"", 0, 0, b"", 0, 0, (), {}, [], [], 0, (0, 0, 0, 0, 0, 0, 0, 1 << 64))),
        ("take_known", (b"", 0, 0, b"", 1 << 64, 0, (), {}, [], [], 0, (0,) * 8)),
        ("take_known", (b"", 0, 0, "", 0, 0, (), {}, [], [], 0, (0,) * 8)),
        (
            "take_known",
            (bytes(99), 0, 99, UNIT.pack(0, 99, 0), 0, 0, ("a",), {}, [], [], 0, (0, 0, 99, *[9] * 5)),
        ),
        ("choose", ("", 0, None, 0, 9, 0, 9, 99, 9, 99, 0)),
        ("choose", (b"", 0, None, 0, 9, 0, 9, 99, 9, 1 << 64, 0)),
        ("choose", (b"", "0", None, 0, 9, 0, 9, 99, 9, 99, 0)),
        ("queue_units", (0, [-1])),
        ("queue_units", (0, [1 << 31])),
        ("queue_units", (0, [1 << 70])),
        ("queue_units", (0, ["1"])),
        ("index_entries", (bytes(99), 1, 1, 0, [])),
        ("index_entries", (bytearray(43), 1, 1, 0, [])),
        ("index_entries", (bytearray(99), 0, 1, 0, [])),
        ("index_entries", (bytearray(99), 1, 0, 0, [])),
        ("index_entries", (bytearray(99), 1, (1 << 31) - 1, 0, [(1, 1, 1)])),
        ("index_entries", (bytearray(99), 1, 1, 0, [(-1, 1, 1)])),
        ("index_entries", (bytearray(99), 1, 1, 0, [(1, 1 << 64, 1)])),
        ("index_entries", (bytearray(99), 1, 1, 0, [(1, 1)])),
        ("index_entries", (bytearray(99), 1, 1, 0, [(1, 1, "1")])),
        ("header", (dict, (("a", "a", None, 0, True),), {"a": "1"})),
        ("header", (Header, (("a", "a"),), {})),
        ("header", (Header, (("a", "a", None, "0", True),), {})),
        ("header", (Header, (), [])),
        ("json_header", (b"1234", 5)),
        ("json_header", (b"1234", 3)),
        ("json_header", (bytearray(9), 5)),
        ("json_header", (b"1234",)),
        ("json_texts", (b'{"a":"b"',)),
        ("json_texts", (b'{"a":"b"}}',)),
        ("json_texts", (b'{"a":5}',)),
        ("json_texts", ('{"a":"b"}',)),
        ("json_typed", (Header, (), "{}")),
        ("json_typed", (Header, [], b"{}")),
        ("json_typed", (5, (), b"{}")),
        ("json_typed", (dict, (("a", "a", None, 0, True),), b'{"a":"1"}')),
        ("json_typed", (Header, (("a", "a"),), b"{}")),
        ("json_typed", (Header, (("a", "a", None, "0", True),), b'{"a":"1"}')),
    ],
)
def test_invalid_arguments_raise(function: str, given: tuple[Any, ...]) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError, AttributeError, BufferError)):
        by_name(function, *given) if function in NAMED else getattr(native, function)(*given)


@pytest.mark.parametrize("function", NAMED)
def test_arguments_are_taken_by_name_alone(function: str) -> None:
    given = dict.fromkeys(NAMED[function], None)
    but_one = dict.fromkeys(NAMED[function][1:])
    for wrong in (but_one, {**given, "other": None}, {**but_one, "other": None}):
        with pytest.raises(TypeError, match="name"):
            getattr(native, function)(**wrong)
    with pytest.raises(TypeError, match="by name"):
        getattr(native, function)(*given.values())


def test_arguments_may_come_in_any_order() -> None:
    assert native.record(**dict(reversed(PARTS.items()))) == native.record(**PARTS)


def test_runs_end_before_offsets_that_only_seem_to_follow() -> None:
    """No offset follows the greatest one of 64 bits; senders may write any offset into records."""
    one = Message("t", 3, b"b", {}, 9, pack_host("10.0.0.7", 5), pack_host("10.0.0.7", 5))
    topic = topic_field("t", True)
    size = record_size(0, 1, len(topic[1]), len(one_key))
    for offsets, taken in (((2**63 - 2, 2**63 - 1, -(2**63)), 2), ((-2, -1, 0), 3), ((-(2**63), 0), 1)):
        records = [
            encode(one, one.body, one_key, topic, size, 0, 0, offset, number * size, 77)
            for number, offset in enumerate(offsets)
        ]
        data = b"".join(records)
        found = native.run_of(data, 0, len(data), 0, True)
        with in_python(runs):
            assert runs.run_of(data, 0, len(data), 0, True, KeyHashes()) == found
        assert found is not None and found[0] == taken * size
