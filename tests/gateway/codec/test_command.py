"""Commands to frames and back, in both header forms, and everything a peer may do wrong in a header."""

import struct
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.gateway.codec.codes import LanguageCode, RequestCode, ResponseCode, SerializeType
from mqgateway.gateway.codec.command import RemotingCommand, decode_command, encode_command, encode_response
from mqgateway.gateway.codec.errors import HeaderTooLarge, ProtocolError
from mqgateway.gateway.codec.fields import Header, Int

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


def payload(header: bytes, form: int = 0, body: bytes = b"") -> bytes:
    return struct.pack(">I", form << 24 | len(header)) + header + body


def json_payload(**members: Any) -> bytes:
    return payload(orjson.dumps(members))


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


def test_a_binary_header_byte_by_byte() -> None:
    header = (
        b"\x00\x69" + b"\x09" + b"\x01\x3d" + b"\x00\x00\x00\x07" + b"\x00\x00\x00\x02"
        b"\x00\x00\x00\x02hi" + b"\x00\x00\x00\x0c" + b"\x00\x05topic" + b"\x00\x00\x00\x01T"
    )
    command = decode_command(payload(header, form=1, body=b"body"))
    assert (command.code, command.opaque, command.version) == (105, 7, 317)
    assert command.language is LanguageCode.GO
    assert command.is_oneway
    assert command.remark == "hi"
    assert command.ext_fields == {"topic": "T"}
    assert encode_command(command)[4:] == payload(header, form=1, body=b"body")


def test_members_may_be_missing_unknown_or_null() -> None:
    command = decode_command(json_payload(code=34, extFields=None, newThing={"deep": [1]}, remark=None))
    assert (command.code, command.version, command.opaque, command.flag) == (34, 0, 0, 0)
    assert command.language is LanguageCode.JAVA
    assert command.ext_fields == {}


NUMBERS = {
    "105": 105, '"105"': 105, "1.5": 1, "-1.5": -1, "1e2": 100, "3e9": 2**31 - 1, '"1.5"': 1, "null": 0,
    '""': 0, '"null"': 0, "true": 1, "false": 0, '"true"': 1, "{}": 0, '{"a":1}': 0, "[1]": 1, '["105"]': 105,
}  # fmt: skip
"""Forms of JSON, and the int that RocketMQ 5.5.0 reads in them. Those below it refuses."""
NO_NUMBERS = ("2147483648", "-2147483649", '"abc"', '" 105 "', "[]", '["JAVA"]', '"0x10"')


@pytest.mark.parametrize("name", ["code", "version", "opaque", "flag"])
def test_number_in_a_json_header_in_any_form_is_read_as_rocketmq_reads_it(name: str) -> None:
    for form, number in NUMBERS.items():
        assert getattr(decode_command(payload(f'{{"{name}":{form}}}'.encode())), name) == number, form
    for form in NO_NUMBERS:
        with pytest.raises(ProtocolError, match="32-bit"):
            decode_command(payload(f'{{"{name}":{form}}}'.encode()))


@pytest.mark.parametrize(
    ("form", "language"),
    [
        ("3", LanguageCode.PYTHON),
        ("0", LanguageCode.JAVA),
        ("13", LanguageCode.NODE_JS),
        ("1.5", LanguageCode.CPP),
        ('"9"', LanguageCode.GO),
        ('"Go"', LanguageCode.GO),
        ('"ZIG"', LanguageCode.OTHER),
        ('"14"', LanguageCode.OTHER),
        ('""', LanguageCode.OTHER),
        ("null", LanguageCode.OTHER),
    ],
)
def test_language_in_a_json_header_may_be_its_number_or_unknown(form: str, language: LanguageCode) -> None:
    command = decode_command(payload(f'{{"language":{form},"extFields":{{}}}}'.encode()))
    assert command.language is language


@pytest.mark.parametrize(
    ("form", "remark"),
    [("5", "5"), ("true", "true"), ("{}", "{}"), ("[]", "[]"), ('["a"]', "a"), ('[{"b":1}]', '[{"b":1}]')],
)
def test_remark_and_field_in_a_json_header_of_any_type_are_text(form: str, remark: str) -> None:
    command = decode_command(payload(f'{{"remark":{form},"extFields":{{"topic":{form}}}}}'.encode()))
    assert command.remark == remark
    assert command.ext_fields == {"topic": remark}


@pytest.mark.parametrize("form", ["null", '""', '"null"', "{}"])
def test_ext_fields_that_are_null_in_any_form_are_none(form: str) -> None:
    assert decode_command(payload(f'{{"extFields":{form}}}'.encode())).ext_fields == {}


def test_an_unknown_language_is_other() -> None:
    assert decode_command(json_payload(code=1, language="ZIG")).language is LanguageCode.OTHER
    header = struct.pack(">hbhiiii", 1, 99, 0, 0, 0, 0, 0)
    assert decode_command(payload(header, form=1)).language is LanguageCode.OTHER


def test_scalar_field_values_become_text_and_nulls_go() -> None:
    command = decode_command(
        json_payload(extFields={"a": 1, "b": True, "c": False, "d": 1.5, "e": None, "f": "x"})
    )
    assert command.ext_fields == {"a": "1", "b": "true", "c": "false", "d": "1.5", "f": "x"}


@pytest.mark.parametrize(
    "header",
    [
        {"opaque": 2**31},
        {"opaque": -(2**31) - 1},
        {"flag": []},
        {"language": 14},
        {"language": -1},
        {"language": True},
        {"language": []},
        {"language": {}},
        {"extFields": []},
        {"extFields": "a"},
        {"extFields": 5},
    ],
)
def test_wrong_types_are_refused(header: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError):
        decode_command(payload(orjson.dumps(header)))


@pytest.mark.parametrize("header", [b"", b"[]", b"1", b"null", b"{", b'{"code":}', b"\xff\xfe", b"NaN"])
def test_header_that_is_no_json_object_is_refused(header: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_command(payload(header))


@pytest.mark.parametrize("header", [b"[" * 100_000, b'{"a":' * 100_000, b'{"extFields":' + b"[" * 100_000])
def test_deep_json_is_refused(header: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_command(payload(header))


def test_a_huge_number_is_refused() -> None:
    """More digits than Python converts without being asked."""
    with pytest.raises(ProtocolError):
        decode_command(payload(b'{"code":' + b"9" * 10_000 + b"}"))


def test_text_that_is_no_utf8_is_read_as_java_reads_it() -> None:
    command = decode_command(payload(b'{"code":1,"extFields":{"topic":"a\xffb"},"remark":"c\x01\\ud800"}'))
    assert command.ext_fields == {"topic": "a�b"}
    assert command.remark == "c\x01?"


@pytest.mark.parametrize("data", [b"", b"\0\0\0", b"\0\0\0\x05{}", b"\x02\0\0\x02{}", b"\xff\0\0\x02{}"])
def test_a_header_word_that_lies_is_refused(data: bytes) -> None:
    """Too short, longer than the frame, or of an unknown form."""
    with pytest.raises(ProtocolError):
        decode_command(data)


BINARY = struct.pack(">hbhii", 1, 0, 0, 0, 0)


def binary_fields(*fields: tuple[bytes, bytes]) -> bytes:
    return b"".join(
        struct.pack(">h", len(name)) + name + struct.pack(">i", len(value)) + value for name, value in fields
    )


TOPIC = binary_fields((b"topic", b"TBW102"))


@pytest.mark.parametrize(
    ("rest", "fields"),
    [
        (struct.pack(">ii", 0, -1) + TOPIC, {}),
        (struct.pack(">ii", 0, -(2**31)), {}),
        (struct.pack(">ii", 0, 0) + TOPIC, {}),
        (struct.pack(">ii", 0, len(TOPIC) - 1) + TOPIC, {"topic": "TBW102"}),
        (struct.pack(">ii", 0, len(TOPIC)) + TOPIC + b"more", {"topic": "TBW102"}),
        (struct.pack(">ii", 0, len(TOPIC) + 7) + TOPIC + binary_fields((b"n", b"")), {"topic": "TBW102"}),
        (struct.pack(">ii", 0, len(TOPIC) + 11) + TOPIC + binary_fields((b"topic", b"")), {}),
    ],
)
def test_binary_header_is_read_as_tolerantly_as_rocketmq_reads_it(
    rest: bytes, fields: dict[str, str]
) -> None:
    assert decode_command(payload(BINARY + rest, form=1, body=b"body")).ext_fields == fields


@pytest.mark.parametrize("length", range(len(TOPIC)))
def test_binary_header_whose_last_field_leads_out_of_it_is_refused(length: int) -> None:
    header = BINARY + struct.pack(">ii", 0, max(1, length)) + TOPIC[:length]
    with pytest.raises(ProtocolError):
        decode_command(payload(header, form=1, body=TOPIC))


@pytest.mark.parametrize(
    "rest",
    [
        b"",
        b"\0\0\0\1",
        b"\0\0\0\0",
        b"\xff\xff\xff\xff\0\0\0\0",
        b"\0\0\0\0\0\0\0\5ab",
        b"\0\0\0\0\0\0\0\1a",
        b"\0\0\0\0\0\0\0\6\xff\xff\0\0\0\0",
        b"\0\0\0\0\0\0\0\6\0\0\xff\xff\xff\xff",
        b"\0\0\0\0\0\0\0\6\0\0\0\0\0\2a",
        b"\0\0\0\0\0\0\0\6\0\7abcdefghi",
    ],
)
def test_binary_lengths_that_lead_out_are_refused(rest: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_command(payload(BINARY + rest, form=1))


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


def too_large(frame: bytes, **limits: int) -> RemotingCommand:
    """Return the request with which a header is refused unread."""
    with pytest.raises(HeaderTooLarge) as caught:
        decode_command(frame[4:], **limits)
    request: RemotingCommand = caught.value.request
    return request


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


def test_the_order_of_the_official_client_is_known() -> None:
    """Its members are in the order of their names: the fields are in the middle."""
    fields = ",".join(f'"f{number}":"x"' for number in range(5000))
    header = '{"code":10,"extFields":{' + fields + '},"flag":0,"opaque":12,"version":513}'
    request = too_large(b"1234" + payload(header.encode()))
    assert (request.code, request.opaque, request.flag) == (10, 12, 0)


def test_a_large_header_without_a_number_to_answer_to_is_an_error() -> None:
    header = b'{"code":10,"extFields":{"a":"%s"}}' % (b"x" * 300_000)
    with pytest.raises(ProtocolError, match="no opaque") as caught:
        decode_command(payload(header))
    assert not isinstance(caught.value, HeaderTooLarge)


@pytest.mark.parametrize("form", [JSON, ROCKETMQ])
def test_as_many_fields_as_may_be_are_read(form: SerializeType) -> None:
    fields = {f"f{number}": 'a "quoted" text' for number in range(1000)}
    command = RemotingCommand(105, ext_fields=fields, serialize_type=form)
    assert decode_command(encode_command(command)[4:]).ext_fields == fields
