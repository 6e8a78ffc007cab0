"""YAML is read within bounds, and errors have a line."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from mqgateway.engine.errors import ConfigError
from mqgateway.gateway.access.plain import yaml_text
from mqgateway.gateway.access.plain.yaml_text import MAX_BYTES, parse_yaml, write_yaml


def parse(text: str) -> object:
    return parse_yaml("f.yml", text.encode(), "list").value


def test_scalars_are_what_is_written() -> None:
    text = "{a: 012, b: 1_000, c: 2026-01-01, d: 1e3, e: yes, f: , g: ~, h: 'on', i: 0x1F, j: .inf}"
    assert parse(text) == {
        "a": "012",
        "b": "1_000",
        "c": "2026-01-01",
        "d": "1e3",
        "e": True,
        "f": None,
        "g": None,
        "h": "on",
        "i": "0x1F",
        "j": ".inf",
    }
    assert parse("<<: {a: b}") == {"<<": {"a": "b"}}


def test_the_lines_of_a_list() -> None:
    text = "# head\nother: [1, 2]\n\nlist:\n- a\n\n- b: c\n  d: e\n- f\n"
    assert parse_yaml("f.yml", text.encode(), "list").lines == (5, 7, 9)
    assert parse_yaml("f.yml", b"list: x", "list").lines == ()
    assert parse_yaml("f.yml", b"", "list") == (None, ())


def test_the_same_is_read_without_the_quick_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"list:\n- {a: 012}\n- *b\n"
    monkeypatch.delattr(yaml, "CSafeLoader")
    monkeypatch.delattr(yaml, "CSafeDumper")
    yaml_text._loader.cache_clear()
    try:
        assert parse_yaml("f.yml", text.replace(b"*b", b"b"), "list") == (
            {"list": [{"a": "012"}, "b"]},
            (2, 3),
        )
        assert write_yaml({"a": ["012", None]}) == b"a:\n- '012'\n- null\n"
        with pytest.raises(ConfigError, match=r"f\.yml:3: found undefined alias"):
            parse_yaml("f.yml", text, "list")
    finally:
        yaml_text._loader.cache_clear()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"a: [", "2: did not find expected node content"),
        (b"a: 1\nb: \xff", "2: this is not UTF-8"),
        (b"a: 1\nb: \x01", "2: control characters are not allowed"),
        (b"a: 1\n---\nb: 2", "2: but found another document"),
        (b"? [a]\n: 1", "1: found unhashable key"),
        (b"a: !!python/object:os.system {}", "1: could not determine a constructor"),
        (b"a: !!int x", "1: could not determine a constructor"),
        (b"a: &a [*a]", "1: too many aliases, or an alias inside its own anchor"),
        (b"[" * 100, "1: more than 16 levels deep"),
        (b"a: &a b\nc: [" + b"*a, " * 51 + b"]", "2: too many aliases"),
        (b"a" * (MAX_BYTES + 1), " longer than 1048576 bytes"),
    ],
)
def test_errors_have_a_line(text: bytes, problem: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        parse_yaml("f.yml", text, "list")
    assert str(refusal.value).startswith(f"f.yml:{problem}")


def test_written_value_is_read_again() -> None:
    value = {"b": ["topicA=PUB|SUB", "012", "", None, "ä", "a: b", "yes"], "a": {"x": True, "n": 5}}
    text = write_yaml(value)
    assert text.startswith(b"b:\n- topicA=PUB|SUB\n- '012'\n")
    assert parse(text.decode()) == {**value, "a": {"x": True, "n": "5"}}


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        parse_yaml("f.yml", data, "list")
    except ConfigError as error:
        assert str(error).startswith("f.yml:")
