"""Random bytes for the codec, which returns a command, a header or a body, or raises its own error.

It never does anything else, and never takes more memory than the frame limit. The runs are bounded; for a
longer run set MQGATEWAY_FUZZ_EXAMPLES.
"""

import os
import struct
from contextlib import suppress
from dataclasses import fields

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mqgateway.gateway.codec import bodies, headers
from mqgateway.gateway.codec.bodies import Body, HeartbeatData, LockBatchRequestBody, RegisterBrokerBody
from mqgateway.gateway.codec.codes import SerializeType
from mqgateway.gateway.codec.command import RemotingCommand, decode_command, encode_command
from mqgateway.gateway.codec.errors import BodyError, HeaderError, ProtocolError
from mqgateway.gateway.codec.fields import Header, camel_case
from mqgateway.gateway.codec.frame import FrameCutter

EXAMPLES = int(os.environ.get("MQGATEWAY_FUZZ_EXAMPLES", "300"))
bounded = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])

HEADER_CLASSES: list[type[Header]] = [getattr(headers, name) for name in headers.__all__]
BODY_CLASSES: list[type[Body]] = [
    one
    for one in (getattr(bodies, name) for name in bodies.__all__)
    if isinstance(one, type) and one is not Body
]

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
header_members = st.dictionaries(
    st.sampled_from(
        [
            "code",
            "language",
            "version",
            "opaque",
            "flag",
            "remark",
            "extFields",
            "serializeTypeCurrentRPC",
            "x",
        ]
    ),
    json_values | st.integers(-5, 400) | st.dictionaries(st.text(max_size=5), st.text(max_size=5)),
)
numbers_and_words = st.sampled_from(["", "0", "-1", "7", "true", "x", "9" * 30, "1_0", " 1", "٣", "\0", "²"])


def payload(form: int, header: bytes, body: bytes) -> bytes:
    return struct.pack(">I", form << 24 | len(header)) + header + body


@bounded
@given(st.binary(max_size=300))
def test_random_payloads(data: bytes) -> None:
    with suppress(ProtocolError):
        assert isinstance(decode_command(data), RemotingCommand)


@bounded
@given(st.binary(max_size=200), st.binary(max_size=10), st.sampled_from([0, 1]))
def test_random_headers_of_the_right_length(header: bytes, body: bytes, form: int) -> None:
    with suppress(ProtocolError):
        command = decode_command(payload(form, header, body))
        assert command.body == body


@bounded
@given(header_members)
def test_json_headers_with_anything_in_them(members: dict[str, object]) -> None:
    """An accepted command has the declared types, and can be encoded again."""
    try:
        header = orjson.dumps(members)
    except TypeError:  # beyond 64 bits
        return
    with suppress(ProtocolError):
        command = decode_command(payload(0, header, b""))
        assert (
            type(command.code) is type(command.version) is type(command.opaque) is type(command.flag) is int
        )
        assert all(type(text) is str for pair in command.ext_fields.items() for text in pair)
        assert decode_command(encode_command(command)[4:]) == command


@bounded
@given(st.binary(max_size=60), st.lists(st.binary(max_size=8), max_size=12))
def test_binary_headers_with_anything_in_them(start: bytes, chunks: list[bytes]) -> None:
    """The lengths fit more often than random ones do."""
    entries = b"".join(
        struct.pack(">h", len(chunk)) + chunk + struct.pack(">i", len(chunk)) + chunk for chunk in chunks
    )
    header = (
        struct.pack(">hbhiii", 1, 2, 3, 4, 5, len(start)) + start + struct.pack(">i", len(entries)) + entries
    )
    command = decode_command(payload(1, header, b""))
    assert command.serialize_type is SerializeType.ROCKETMQ
    assert len(command.ext_fields) <= len(chunks)
    with suppress(ProtocolError):
        decode_command(payload(1, header[:-1], b""))


@bounded
@given(st.lists(st.binary(max_size=40), max_size=10))
def test_random_streams(chunks: list[bytes]) -> None:
    cutter = FrameCutter(limit=100)
    with suppress(ProtocolError):
        for chunk in chunks:
            for one in cutter.feed(chunk):
                assert 4 <= len(one) <= 96
            assert cutter.buffered < 100


@bounded
@given(st.sampled_from(HEADER_CLASSES), st.data())
def test_header_fields_with_anything_in_them(header_class: type[Header], data: st.DataObject) -> None:
    names = [field.wire_name for field in header_class.__fields__] or ["x"]
    ext = data.draw(st.dictionaries(st.sampled_from(names), numbers_and_words | st.text(max_size=6)))
    with suppress(HeaderError):
        header = header_class.decode(ext)
        assert header_class.decode(header.encode()) == header


@bounded
@given(st.sampled_from(BODY_CLASSES), json_values)
def test_bodies_of_any_json(body_class: type[Body], value: object) -> None:
    with suppress(BodyError):
        assert isinstance(body_class.from_json(value), body_class)


@bounded
@given(st.sampled_from(BODY_CLASSES), st.data())
def test_bodies_with_any_member(body_class: type[Body], data: st.DataObject) -> None:
    members = [one.metadata.get("wire", camel_case(one.name)) for one in fields(body_class)]  # type: ignore[arg-type]
    value = data.draw(st.dictionaries(st.sampled_from(members), json_values))
    with suppress(BodyError):
        body_class.from_json(value)


@bounded
@given(st.binary(max_size=120) | st.text('{}[]:,"\\019aetruefalsn ', max_size=60).map(str.encode))
@pytest.mark.parametrize("body_class", [HeartbeatData, LockBatchRequestBody, RegisterBrokerBody])
def test_random_body_texts(body_class: type[Body], data: bytes) -> None:
    with suppress(BodyError):
        assert isinstance(body_class.decode(data), body_class)
