"""Tokens of an SQL92 expression, as in RocketMQ."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.filters.tokens import END, ExpressionError, Token, next_token, place


def words(source: str) -> list[tuple[str, str]]:
    """Return kind and text of every token."""
    found: list[Token] = []
    at = 0
    while not found or found[-1].kind != END:
        found.append(next_token(source, at))
        at = found[-1].end
    return [(token.kind, token.text) for token in found[:-1]]


@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        ("a", ["<ID>"]),
        ("$a_1 _", ["<ID>", "<ID>"]),
        ("Not nOT between", ["NOT", "NOT", "BETWEEN"]),
        ("nothing", ["<ID>"]),
        ("5 5L 0 5l", ["<DECIMAL_LITERAL>"] * 4),
        ("5. .5 5.5E10 5e-1 5.e+2 00.5", ["<FLOATING_POINT_LITERAL>"] * 6),
        ("007", ["<DECIMAL_LITERAL>"] * 3),
        ("0L 0x1F", ["<DECIMAL_LITERAL>", "<ID>", "<DECIMAL_LITERAL>", "<ID>"]),
        ("5e 5.5f", ["<DECIMAL_LITERAL>", "<ID>", "<FLOATING_POINT_LITERAL>", "<ID>"]),
        ("'' 'it''s' '\n'", ["<STRING_LITERAL>"] * 3),
        ("a<>1>=2<=3<4>5=(6),+-", ["<ID>", "<>"]),
        ("a --b\nc -- d", ["<ID>", "<ID>", "-", "-", "<ID>"]),
        ("a/* x ** / */b", ["<ID>", "<ID>"]),
    ],
)
def test_kinds(source: str, kinds: list[str]) -> None:
    assert [kind for kind, _ in words(source)][: len(kinds)] == kinds


@pytest.mark.parametrize(
    ("source", "at"), [("a # 1", 2), ("a.b", 1), ("'it", 0), ("a\n !", 3), ("é", 0), ("/* a", 0), ('"', 0)]
)
def test_invalid_character_raises_with_position(source: str, at: int) -> None:
    with pytest.raises(ExpressionError, match="TokenMgrError: Lexical error at line") as caught:
        words(source)
    assert caught.value.position == at


def test_place_is_reported_as_editors_count() -> None:
    assert [place("ab\ncd", at) for at in (0, 1, 3, 5)] == [
        "line 1, column 1",
        "line 1, column 2",
        "line 2, column 1",
        "line 2, column 3",
    ]


@given(st.text(st.sampled_from("a1'-\n/*+=<>(). eE"), max_size=40))
def test_words_cover_the_text_in_order(source: str) -> None:
    """Between two tokens are only blanks and comments, and every step advances."""
    at = 0
    while True:
        try:
            token = next_token(source, at)
        except ExpressionError as error:
            assert at <= error.position < len(source)
            return
        assert at <= token.start
        assert source[token.start : token.end] == token.text
        if token.kind == END:
            assert token.start == len(source)
            return
        assert token.end > token.start
        at = token.end
