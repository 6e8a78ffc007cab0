"""JSON headers as peers may write them, and everything a peer may do wrong in one."""

from typing import Any

import orjson
import pytest

from mqgateway.gateway.codec.codes import LanguageCode
from mqgateway.gateway.codec.command import decode_command
from mqgateway.gateway.codec.errors import HeaderTooLarge, ProtocolError
from mqgateway.gateway.codec.json_header import decode_json_header, strings_in
from tests.support.gateway.codec import json_payload, payload, too_large


def test_header_without_members_has_defaults() -> None:
    assert decode_json_header(b"{}") == (0, "JAVA", 0, 0, 0, None, {})


def test_strings_are_counted_without_escaped_quotes() -> None:
    assert strings_in(b'{"a":"b\\"c"}') == 4


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
