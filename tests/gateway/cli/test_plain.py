"""Nothing that others wrote moves a terminal's cursor."""

from __future__ import annotations

import base64
import json

import pytest

from mqgateway.gateway.cli.plain import body_fields, body_text, escaped, escaped_json

WILD = "a\x1b[31mb\x9b2J\r\n\x00\x7f\u2028\u202e\u00e9\U0001f600"


def test_controls_are_shown_and_the_rest_is_left() -> None:
    assert escaped(WILD) == "a\\x1b[31mb\\x9b2J\\r\\n\\x00\\x7f\\u2028\\u202e\u00e9\U0001f600"
    assert escaped("plain, caf\u00e9 \u4e2d") == "plain, caf\u00e9 \u4e2d"
    assert escaped("\ud800") == "\\ud800"


def test_json_reads_back_as_what_it_was() -> None:
    text = escaped_json(json.dumps({WILD: WILD}, ensure_ascii=False))
    assert json.loads(text) == {WILD: WILD}
    assert not set(map(ord, text)) & {*range(0x20), *range(0x7F, 0xA0)}


@pytest.mark.parametrize("body", [bytes(range(256)), b"\xff\xfe", b"", "caf\u00e9".encode()])
def test_bodies_of_any_bytes(body: bytes) -> None:
    assert not set(map(ord, body_text(body))) & {*range(0x20), *range(0x7F, 0xA0)}
    fields = body_fields(body)
    got = base64.b64decode(fields["bodyBase64"]) if "bodyBase64" in fields else fields["body"].encode()
    assert got == body


def test_text_needs_no_base64() -> None:
    assert body_fields(b"a\x1b") == {"body": "a\x1b"}
    assert body_text(b"a\xffb") == "a\\xffb"
