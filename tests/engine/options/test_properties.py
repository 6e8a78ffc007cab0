"""Java properties text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options.properties import Setting, format_properties_text, load_properties


def pairs(text: str) -> list[tuple[str, str]]:
    return [(setting.key, setting.value) for setting in load_properties(text, "f")]


@pytest.mark.parametrize("line", ["a=b", "a:b", "a b", "a = b", "  a\t:  b", "a\f=b"])
def test_separators(line: str) -> None:
    assert pairs(line) == [("a", "b")]


def test_only_the_first_separator_counts() -> None:
    assert pairs("a = =b") == [("a", "=b")]
    assert pairs("namesrvAddr=127.0.0.1:9876;b:1") == [("namesrvAddr", "127.0.0.1:9876;b:1")]


def test_a_key_may_stand_alone() -> None:
    assert pairs("a\nb=\n") == [("a", ""), ("b", "")]


def test_comments_and_blank_lines_are_skipped_and_counted() -> None:
    text = "# one\n\n  ! two\r\na=1 # kept\rb=2\n"
    assert load_properties(text, "f") == [Setting("a", "1 # kept", 4, "f"), Setting("b", "2", 5, "f")]


def test_a_line_goes_on_after_an_odd_backslash() -> None:
    text = "a = x \\\n    # no comment\\\\\nb=1"
    assert load_properties(text, "f") == [Setting("a", "x # no comment\\", 1, "f"), Setting("b", "1", 3, "f")]


def test_the_last_line_may_end_in_a_backslash() -> None:
    assert pairs("a=b\\") == [("a", "b")]


def test_escapes() -> None:
    assert pairs(r"a\ b\==\u00e9\t\x\ud83d\ude00") == [("a b=", "é\tx😀")]


def test_a_broken_escape_is_an_error_with_its_place() -> None:
    with pytest.raises(ConfigError, match=r"f:2: .*hex digits"):
        load_properties("a=1\nb=\\u12", "f")


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@given(st.dictionaries(TEXT.filter(bool), TEXT))
def test_what_is_written_is_read_back(properties: dict[str, str]) -> None:
    text = format_properties_text(properties)
    assert text.isascii()
    assert dict(pairs(text)) == properties


@given(st.text(st.sampled_from("ab=: \\#!\n\r\tu0"), max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        settings = load_properties(text, "f")
    except ConfigError:
        return
    assert all(1 <= setting.line <= len(text) + 1 for setting in settings)
