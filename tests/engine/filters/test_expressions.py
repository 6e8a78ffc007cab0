"""Compiled expressions."""

import logging

import pytest

from mqgateway.engine.errors import FilterError
from mqgateway.engine.filters import compile_expression
from mqgateway.engine.filters.expressions import LENGTH_MAX


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


def test_ignored_end_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        compile_expression("c LIKE 'x'")
    assert "the end of the expression" in caplog.text
    assert "LIKE 'x'" in caplog.text
