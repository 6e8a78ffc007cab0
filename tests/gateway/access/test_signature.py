"""Requests are signed as the official client signs them, and read as the official server reads them."""

from __future__ import annotations

import base64
import hmac

import pytest

from mqgateway.gateway.access import signature
from mqgateway.gateway.access.signature import NAMES_MAX, Credentials, is_signed, signed_values
from mqgateway.gateway.codec.codes import SerializeType
from mqgateway.gateway.codec.command import RemotingCommand, decode_command, encode_command
from tests.support.gateway.client.answers import JAVA

ME = Credentials("access", "a secret key")


@pytest.mark.parametrize("answer", JAVA["signatures"], ids=lambda one: f"{one['token']}/{one['body']}")
def test_the_official_clients_signature(answer: dict[str, dict[str, str]]) -> None:
    command = RemotingCommand(310, ext_fields=dict(answer["fields"]), body=str(answer["body"]).encode())
    Credentials("access", "a secret key", str(answer["token"])).sign(command)
    assert command.ext_fields == answer["signed"]
    assert is_signed(command, "a secret key")


def test_signature_is_computed_again_when_signed_again() -> None:
    command = RemotingCommand(310, ext_fields={"topic": "T"}, body=b"x")
    ME.sign(command)
    first = command.ext_fields["Signature"]
    ME.sign(command)
    assert command.ext_fields["Signature"] == first


def test_secrets_are_not_shown() -> None:
    assert "hidden" not in repr(Credentials("name", "hidden", "hidden"))


def signed(**fields: str) -> RemotingCommand:
    command = RemotingCommand(12, ext_fields=dict(fields), body=b"body")
    ME.sign(command)
    return command


@pytest.mark.parametrize("form", SerializeType)
def test_a_signature_outlives_the_wire_in_either_form(form: SerializeType) -> None:
    command = signed(topic="T", key="schlüssel")
    command.serialize_type = form
    assert is_signed(decode_command(encode_command(command)[4:]), "a secret key")


@pytest.mark.parametrize(
    ("name", "value"),
    [("topic", "U"), ("AccessKey", "another"), ("more", "x"), ("Signature", ""), ("Signature", "zürich")],
)
def test_a_changed_field_is_noticed(name: str, value: str) -> None:
    command = signed(topic="T")
    command.ext_fields[name] = value
    assert not is_signed(command, "a secret key")


def test_a_changed_body_another_secret_and_no_signature_are_noticed() -> None:
    command = signed(topic="T")
    assert is_signed(command, "a secret key")
    assert not is_signed(command, "another")
    command.body = b"other"
    assert not is_signed(command, "a secret key")
    assert not is_signed(RemotingCommand(12, ext_fields={"AccessKey": "access"}), "a secret key")


@pytest.mark.parametrize(("version", "is_left_out"), [(399, True), (400, False), (513, False)])
def test_old_clients_sign_before_they_mark_a_query_by_unique_key(version: int, is_left_out: bool) -> None:
    command = signed(topic="T")
    command.version = version
    command.ext_fields["_UNIQUE_KEY_QUERY"] = "true"
    assert is_signed(command, "a secret key") is is_left_out


def test_names_are_in_the_order_of_java() -> None:
    """A character outside the basic plane begins with 0xD800 in Java, below U+FF5E."""
    assert signed_values({"～": "b", "\U0001f600": "a", "x": "0", "Signature": "-"}) == b"0ab"


def test_halves_of_characters_are_no_reason_to_fail() -> None:
    assert signed_values({"a": "\ud800"}) == b"?"
    assert not is_signed(RemotingCommand(12, ext_fields={"Signature": "\ud800"}), "\ud800")


@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 1000])
def test_the_signature_is_the_hmac_of_the_standard_library(length: int) -> None:
    key, body = "k" * length, b"x" * 3000
    command = RemotingCommand(12, ext_fields={"topic": "T"}, body=body)
    Credentials("access", key).sign(command)
    digest = hmac.digest(key.encode(), b"accessT" + body, "sha1")
    assert command.ext_fields["Signature"] == base64.b64encode(digest).decode()


def test_values_are_in_the_order_of_the_names_whatever_the_order_of_the_fields() -> None:
    for names in ("abc", "cab", "bca", "cab", "b", "b", ""):
        fields = {name: name.upper() for name in names}
        assert signed_values(fields) == "".join(sorted(names)).upper().encode()
    marked = {"b": "B", "_UNIQUE_KEY_QUERY": "Q", "a": "A", "Signature": "S"}
    assert signed_values(marked) == b"QAB"
    assert signed_values(marked, ("Signature", "_UNIQUE_KEY_QUERY")) == b"AB"


def test_orders_of_fields_are_a_bounded_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signature, "ORDERS_MAX", 3)
    known = signature._known_orders
    known.clear()
    for number in range(10):
        assert signed_values({f"{number}": "v", "0": "z"} if number else {"0": "z"}) in (b"z", b"zv")
        assert len(known) <= 3
    known.clear()
    for _ in range(2):
        assert signed_values({"n" * (NAMES_MAX + 1): "v"}) == b"v"
    assert not known
