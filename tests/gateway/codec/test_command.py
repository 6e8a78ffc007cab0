"""Commands to frames and back, in both header forms; limits of headers."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.gateway.codec.codes import LanguageCode, RequestCode, ResponseCode, SerializeType
from mqgateway.gateway.codec.command import RemotingCommand, decode_command, encode_command, encode_response
from mqgateway.gateway.codec.errors import ProtocolError
from mqgateway.gateway.codec.fields import Header, Int
from tests.support.gateway.codec import json_payload, payload, too_large

JSON = SerializeType.JSON
ROCKETMQ = SerializeType.ROCKETMQ

i2 = st.integers(-(2**15), 2**15 - 1)
i4 = st.integers(-(2**31), 2**31 - 1)
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@st.composite
def commands(draw: st.DrawFn, form: SerializeType) -> RemotingCommand:
    """Any command that the form can carry without loss."""
    narrow = form is ROCKETMQ
    return RemotingCommand(
        draw(i2 if narrow else i4),
        language=draw(st.sampled_from(LanguageCode)),
        version=draw(i2 if narrow else i4),
        opaque=draw(i4),
        flag=draw(i4),
        remark=draw(st.none() | (text.filter(bool) if narrow else text)),
        # RocketMQ reads an empty value in a binary header as null.
        ext_fields=draw(st.dictionaries(text, text.filter(bool) if narrow else text, max_size=6)),
        body=draw(st.binary(max_size=50)),
        serialize_type=form,
    )


class ExampleHeader(Header):
    topic: str
    queue_id: Int | None = None


@given(commands(JSON))
def test_json_commands_come_back_as_they_were(command: RemotingCommand) -> None:
    frame = encode_command(command)
    assert struct.unpack_from(">i", frame)[0] == len(frame) - 4
    assert decode_command(frame[4:]) == command


@given(commands(ROCKETMQ))
def test_binary_commands_come_back_as_they_were(command: RemotingCommand) -> None:
    assert decode_command(encode_command(command)[4:]) == command


def test_a_json_header_as_java_writes_it() -> None:
    command = decode_command(
        payload(
            b'{"code":105,"extFields":{"topic":"T"},"flag":0,"language":"JAVA","opaque":7,'
            b'"serializeTypeCurrentRPC":"JSON","version":409}',
            body=b"body",
        )
    )
    assert (command.code, command.opaque, command.version, command.flag) == (105, 7, 409, 0)
    assert command.language is LanguageCode.JAVA
    assert command.ext_fields == {"topic": "T"}
    assert command.remark is None
    assert command.body == b"body"
    assert not command.is_response and not command.is_oneway


def test_an_unknown_language_is_other() -> None:
    assert decode_command(json_payload(code=1, language="ZIG")).language is LanguageCode.OTHER
    header = struct.pack(">hbhiiii", 1, 99, 0, 0, 0, 0, 0)
    assert decode_command(payload(header, form=1)).language is LanguageCode.OTHER


@pytest.mark.parametrize("data", [b"", b"\0\0\0", b"\0\0\0\x05{}", b"\x02\0\0\x02{}", b"\xff\0\0\x02{}"])
def test_a_header_word_that_lies_is_refused(data: bytes) -> None:
    """Too short, longer than the frame, or of an unknown form."""
    with pytest.raises(ProtocolError):
        decode_command(data)


def test_large_codes_do_not_fit_into_the_binary_form() -> None:
    command = RemotingCommand(RequestCode.POP_MESSAGE, serialize_type=ROCKETMQ)
    with pytest.raises(ProtocolError, match="200050"):
        encode_command(command)


def test_a_header_of_16_mib_does_not_fit() -> None:
    with pytest.raises(ProtocolError, match="24 bits"):
        encode_command(RemotingCommand(1, ext_fields={"a": "x" * 2**24}))


@pytest.mark.parametrize("form", [JSON, ROCKETMQ])
@pytest.mark.parametrize("fields", [None, {}, {"queueId": "3"}])
@pytest.mark.parametrize("remark", [None, "topic[T] not exist"])
def test_an_answer_repeats_opaque_and_form(
    form: SerializeType, fields: dict[str, str] | None, remark: str | None
) -> None:
    request = RemotingCommand(RequestCode.SEND_MESSAGE_V2, opaque=99, version=409, serialize_type=form)
    frame = encode_response(request, ResponseCode.TOPIC_NOT_EXIST, fields, b"body", remark)
    answer = decode_command(frame[4:])
    assert answer == RemotingCommand(
        17,
        language=LanguageCode.PYTHON,
        version=513,
        opaque=99,
        flag=1,
        remark=remark,
        ext_fields=fields,
        body=b"body",
        serialize_type=form,
    )
    assert answer.is_response


@pytest.mark.parametrize("form", [JSON, ROCKETMQ])
def test_the_short_way_for_answers_equals_the_long_one(form: SerializeType) -> None:
    request = RemotingCommand(RequestCode.PULL_MESSAGE, opaque=5, serialize_type=form)
    header = ExampleHeader(topic="T", queue_id=3)
    long_way = RemotingCommand.response(
        0, header, b"x", remark="FOUND", ext={"TRACE_ON": "true"}, request=request
    )
    frame = encode_response(request, 0, {**header.encode(), "TRACE_ON": "true"}, b"x", "FOUND")
    assert decode_command(frame[4:]) == long_way == decode_command(encode_command(long_way)[4:])


def test_a_remark_that_is_null_is_not_written() -> None:
    request = RemotingCommand(RequestCode.HEART_BEAT)
    assert b"remark" not in encode_response(request, 0, None, b"", None)
    assert b"remark" not in encode_command(request)
    assert b"extFields" not in encode_command(request)


def test_requests_carry_header_and_extra_fields() -> None:
    command = RemotingCommand.request(
        105, ExampleHeader(topic="T"), b"b", ext={"AccessKey": "k"}, oneway=True
    )
    assert command.ext_fields == {"topic": "T", "AccessKey": "k"}
    assert (command.code, command.body, command.flag) == (105, b"b", 2)
    assert command.is_oneway and not command.is_response


def test_the_repr_shows_the_body_only_as_a_size() -> None:
    assert repr(RemotingCommand(10, body=b"secret")) == (
        "<request code=10 opaque=0 PYTHON version=513 ext={} body=6 bytes>"
    )


# Headers above the limits


@pytest.mark.parametrize("form", [JSON, ROCKETMQ])
@pytest.mark.parametrize(
    ("fields", "limits"),
    [
        ({"a": "x" * 1000}, {"header_max": 1000}),
        ({f"f{number}": "" for number in range(41)}, {"fields_max": 40}),
        ({f"f{number}": "x" * 300 for number in range(200)}, {"fields_max": 40}),
    ],
)
def test_a_header_above_a_limit_can_still_be_answered(
    form: SerializeType, fields: dict[str, str], limits: dict[str, int]
) -> None:
    command = RemotingCommand(105, opaque=-77, flag=2, ext_fields=fields, serialize_type=form)
    request = too_large(encode_command(command), **limits)
    assert (request.code, request.opaque, request.flag) == (105, -77, 2)
    assert request.serialize_type is form


@pytest.mark.parametrize("form", [JSON, ROCKETMQ])
def test_as_many_fields_as_may_be_are_read(form: SerializeType) -> None:
    fields = {f"f{number}": 'a "quoted" text' for number in range(1000)}
    command = RemotingCommand(105, ext_fields=fields, serialize_type=form)
    assert decode_command(encode_command(command)[4:]).ext_fields == fields
