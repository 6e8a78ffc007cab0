"""Messages as lines, as JSON, as bytes; whatever is in them."""

from __future__ import annotations

import base64
import io
import json
import sys
from typing import Any

import click
import pytest

from mqgateway.gateway.cli.printing import form_of, print_message
from tests.gateway.client.test_message import received

CONTROLS = {*range(0x20), *range(0x7F, 0xA0)} - {0x0A}


def wild() -> Any:
    message: Any = received(TAGS="t\x1b[2J", KEYS="k\x9b1m", own="\x7f\x07")
    message.topic = "T\x1bc"
    message.body = b"a\nb\x1b]0;x\x07\xff"
    return message


def printed(message: Any, form: Any) -> str:
    out = io.StringIO()
    print_message(message, out, form)
    return out.getvalue()


def test_nothing_in_a_message_is_a_control_sequence() -> None:
    for form in ("text", "json"):
        text = printed(wild(), form)
        assert not set(map(ord, text)) & CONTROLS and text.count("\n") == 1
    shown = json.loads(printed(wild(), "json"))
    assert (shown["topic"], shown["properties"]["own"]) == ("T\x1bc", "\x7f\x07")
    assert base64.b64decode(shown["bodyBase64"]) == wild().body
    assert "a\\nb\\x1b]0;x\\x07\\xff" in printed(wild(), "text")


def test_long_bodies_are_cut_and_lines_stay_lines() -> None:
    message: Any = received()
    message.body = b"a\nb" + b"x" * 1000
    text = printed(message, "text")
    assert "a\\nbxxx" in text and text.endswith("... 1003 bytes\n")


def test_the_bytes_of_a_body_and_nothing_else() -> None:
    octets = io.BytesIO()
    out = io.TextIOWrapper(octets)
    print_message(wild(), out, "raw")
    assert octets.getvalue() == wild().body


def test_one_form_and_no_bytes_to_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    assert form_of({"raw": False, "as_json": True}) == "json"
    assert form_of({"raw": False, "as_json": False}) == "text"
    with pytest.raises(click.UsageError, match="exclude each other"):
        form_of({"raw": True, "as_json": True})
    monkeypatch.setattr(sys, "stdout", Terminal())
    with pytest.raises(click.UsageError, match="cannot write to a terminal"):
        form_of({"raw": True, "as_json": False})
