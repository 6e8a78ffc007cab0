"""Java properties text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options.properties import (
    Setting,
    change_properties,
    decode_text,
    format_properties_text,
    load_properties,
)


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


def test_line_continues_after_an_odd_backslash() -> None:
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
def test_written_properties_are_read_back(properties: dict[str, str]) -> None:
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


def test_byte_order_mark_is_skipped() -> None:
    assert load_properties(b"\xef\xbb\xbfa=1", "f") == [Setting("a", "1", 1, "f")]


@pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff"])
def test_utf_16_is_refused_with_a_remedy(mark: bytes) -> None:
    with pytest.raises(ConfigError, match="f: the file is UTF-16; save it as UTF-8"):
        load_properties(mark + b"a\0", "f")


def test_comment_in_another_encoding_does_not_matter() -> None:
    text = "# \u96c6\u7fa4\nbrokerName=a\n".encode("gbk") + "key=\u96c6\n".encode()
    assert load_properties(text, "f") == [
        Setting("brokerName", "a", 2, "f"),
        Setting("key", "\u96c6", 3, "f"),
    ]


def test_value_that_is_no_utf_8_is_read_as_latin_1() -> None:
    assert load_properties(b"a=\xe9", "f") == [Setting("a", "\xe9", 1, "f")]


@pytest.mark.parametrize("text", ["\\\n# no comment\na=1", "\\\n\na=1", "! \\\na=1"])
def test_empty_line_that_is_continued_begins_nothing(text: str) -> None:
    """A comment may follow as long as the line has no text, as in `java.util.Properties`."""
    assert pairs(text) == [("a", "1")]


def test_line_ends_of_unicode_are_no_line_ends() -> None:
    assert pairs("a=\x0b\x85\u2028b") == [("a", "\x0b\x85\u2028b")]


def test_decoded_text_has_no_mark() -> None:
    assert decode_text(b"\xef\xbb\xbfa\xff", "f") == "a\udcff"


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        (b"", b"a=2\n"),
        (b"a=1", b"a=2\n"),
        (b"  a : 1\nb=1\n", b"a=2\nb=1\n"),
        (b"#a=1\n", b"#a=1\na=2\n"),
        (b"a=1\nb=1\na=0\n", b"a=2\nb=1\na=2\n"),
        (b"a=1,\\\n  2,\\\n  3\nb=1\n", b"a=2\n\n\nb=1\n"),
        (b"b=1\r\na=1\r\n", b"b=1\r\na=2\r\n"),
        (b"\xef\xbb\xbfa=1\n", b"\xef\xbb\xbfa=2\n"),
        (b"# \xbc\xaf\nb=\xff\n", b"# \xbc\xaf\nb=\xff\na=2\n"),
        (b"b=\x0b\na=1\n", b"b=\x0b\na=2\n"),
        (b"b=1\\", b"b=1\\\n\n\na=2\n"),
    ],
)
def test_changed_text_keeps_all_other_bytes(text: bytes, changed: bytes) -> None:
    assert change_properties(text, {"a": "2"}) == changed


def test_changed_values_are_escaped() -> None:
    assert change_properties(b"", {"a b": "c\\d\u00e9"}) == b"a\\ b=c\\\\d\\u00e9\n"


@given(st.binary(max_size=60), TEXT)
def test_changed_property_is_read_back_and_the_others_stay(text: bytes, value: str) -> None:
    try:
        before = [(one.key, one.value) for one in load_properties(text, "f") if one.key != "k"]
    except ConfigError:
        return
    after = load_properties(change_properties(text, {"k": value}), "f")
    assert [(one.key, one.value) for one in after if one.key != "k"] == before
    assert {one.value for one in after if one.key == "k"} == {value}
