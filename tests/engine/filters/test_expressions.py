"""Compiled expressions, and the choice of messages by them."""

import logging

import pytest

from engine.errors import FilterError
from engine.filters import ExpressionFilter, compile_expression
from engine.filters.expressions import LENGTH_MAX
from engine.message import StoredMessage


def test_only_what_is_true_matches() -> None:
    expression = compile_expression("a > 5")
    assert expression.text == "a > 5"
    assert [expression.matches(p) for p in ({"a": "6"}, {"a": "5"}, {}, {"a": "x"})] == [
        True,
        False,
        False,
        False,
    ]


def test_an_expression_is_compiled_once() -> None:
    assert compile_expression("b > 5") is compile_expression("b > 5")


@pytest.mark.parametrize(
    ("text", "kind", "reason"),
    [
        (None, "SQL92", "there is no expression"),
        ("", "SQL92", "there is no expression"),
        ("a", "XPATH", "expressions of type XPATH are not known"),
        ("a" * (LENGTH_MAX + 1), "SQL92", "too long"),
        ("a >", "SQL92", "line 1, column 4"),
    ],
)
def test_refusals(text: str | None, kind: str, reason: str) -> None:
    with pytest.raises(FilterError, match=reason):
        compile_expression(text, kind)


def test_an_ignored_end_is_told_of(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        compile_expression("c LIKE 'x'")
    assert "the end is ignored" in caplog.text
    assert "LIKE 'x'" in caplog.text


def test_the_store_is_asked_for_the_message() -> None:
    chosen = ExpressionFilter(compile_expression("a = '1'").matches)
    asked = []

    def given(value: str) -> StoredMessage:
        asked.append(value)
        body, host = b"", b"\x7f\0\0\1\0\0\0\1"
        return StoredMessage("t", 0, body, {"a": value}, 0, host, host)

    assert chosen(0, lambda: given("1"))
    assert not chosen(0, lambda: given("2"))
    assert asked == ["1", "2"]
    assert chosen.matches({"a": "1"})
