"""What is written in C gives what its form in Python gives, for any bytes."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mqgateway.gateway.codec.headers  # noqa: F401  (fills the registry behind `request_headers`)
from mqgateway.engine import extension
from mqgateway.engine.errors import MessageIllegal
from mqgateway.engine.message import Message, lone_unique_key, pack_host
from mqgateway.engine.store.client_batch import PlainBatch
from mqgateway.engine.store.consume_queue import UNIT
from mqgateway.engine.store.index_file import HEADER_SIZE, KeyHashes, entries_of
from mqgateway.engine.store.record import Element, encode, record_size, split_batch, sys_flag_for, topic_field
from mqgateway.gateway.codec import fields
from mqgateway.gateway.codec.errors import HeaderError
from mqgateway.gateway.codec.fields import Header, request_headers

assert extension.native is not None  # else it is not collected, see `conftest`
native = extension.native

KEYS = [b"UNIQ_KEY\1" + b"A" * length for length in (1, 31, 32, 33, 56)]
RESTS = [b"", b"\2", b"\2WAIT\1true", b"\2WAIT\1true\2", b"\2WAIT\1trueish", b"\2TAGS\1a", b"\2\2"]
texts = st.binary(max_size=80) | st.builds(bytes.__add__, st.sampled_from(KEYS), st.sampled_from(RESTS))
messages = st.lists(
    st.tuples(st.integers(-(2**31), 2**31 - 1), st.binary(max_size=70), texts), min_size=1, max_size=9
)


def batch(parts: list[tuple[int, bytes, bytes]]) -> bytes:
    """The body of a batch of messages with these flags, bodies and properties."""
    return b"".join(
        struct.pack(">iiiii", 22 + len(body) + len(text), 1, 2, flag, len(body))
        + body
        + struct.pack(">h", len(text))
        + text
        for flag, body, text in parts
    )


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """Of batches, and of what is nearly one."""
    data = bytearray(draw(messages.map(batch) | st.binary(max_size=99)))
    for _ in range(draw(st.integers(0, 2)) if data else 0):
        data[draw(st.integers(0, len(data) - 1))] ^= draw(st.sampled_from([1, 2, 0x80, 0xFF]))
    return bytes(data[: draw(st.integers(0, len(data)) | st.just(len(data)))])


def split(data: bytes) -> list[Element] | None:
    """As in Python; None where the bytes do not add up."""
    try:
        return split_batch(data)
    except MessageIllegal:
        return None


@given(bodies())
def test_a_batch_is_cut(data: bytes) -> None:
    parts = split(data)
    expected = None if parts is None else [20 + len(body) + len(tail) for _, body, tail in parts]
    assert native.element_sizes(data) == expected


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


def test_the_hash_without_a_counterpart() -> None:
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
    """The header, or how it is refused."""
    try:
        return cls.decode(ext)
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
    native_form = decoded(cls, ext)
    fields._compile(cls, None)
    try:
        assert decoded(cls, ext) == native_form
    finally:
        fields._compile(cls)


@pytest.mark.parametrize(
    ("function", "given"),
    [
        ("element_sizes", ("text",)),
        ("batch_records", (b"", b"short", b"", 0, 0)),
        ("batch_records", (b"", bytes(88), b"", 1 << 64, 0)),
        ("unique_keys", (None,)),
        ("key_hashes", (0, ["text"])),
        ("key_hashes", (0, 5)),
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
    ],
)
def test_what_is_wrong_is_an_error(function: str, given: tuple[Any, ...]) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError, AttributeError, BufferError)):
        getattr(native, function)(*given)
