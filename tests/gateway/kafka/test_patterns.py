"""Regular expressions over names of topics."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.steps import run
from mqgateway.gateway.kafka.patterns import NamePattern


@pytest.mark.parametrize(
    ("text", "yes", "no"),
    [
        ("orders", ("orders",), ("order", "orders2", "Orders")),
        ("orders.*", ("orders", "orders.eu"), ("my.orders",)),
        ("^(a|b)+$", ("a", "abba"), ("abc",)),
        ("a{2,3}", ("aa", "aaa"), ("a", "aaaa")),
        ("a{2}", ("aa",), ("aaa",)),
        ("a{2,}b??", ("aa", "aaaab"), ("a", "ab")),
        ("a{,2}", ("a{,2}",), ("aa",)),
        ("[a-c_]x?", ("bx", "_"), ("d", "xx")),
        ("[^a-c]+", ("xyz",), ("xaz",)),
        ("[]a-]+", ("a-",), ("b",)),
        ("[[:digit:]]+-[[:^digit:]]", ("12-a",), ("12-1",)),
        (r"\d+\.\w", ("12.x",), ("12x", "1.-")),
        (r"\D\W", ("a-",), ("1-", "ab")),
        (r"\Qa.b\E.", ("a.bc",), ("axbc",)),
        (r"\Qa.b", ("a.b",), ("axb",)),
        (r"\p{Lu}\pN", ("A1",), ("a1", "AA")),
        (r"\P{Lu}\p{^N}", ("aA",), ("AA", "a1")),
        (r"\x41\x{42}[\x43-E]", ("ABD",), ("ABF",)),
        ("(?i)oRders(?-i)x", ("ORDERSx",), ("ordersX",)),
        ("(?i:a)b", ("Ab",), ("aB",)),
        ("(?:a|b)(?P<name>c)(?<other>d)", ("acd",), ("ab",)),
        (r"\Aa\z", ("a",), ("aa",)),
        ("a$b", (), ("ab",)),
        ("b^a", (), ("ba",)),
        ("|a", ("a",), ("b",)),
        ("é", ("é",), ("e", "è", "ê")),
        ("[é-ü]x?", ("é", "êx", "ü"), ("è", "ý", "z")),
        ("[^é]+", ("aèê日",), ("é",)),
        (r"\x{e9}.\xFC", ("éaü", "é日ü"), ("èaü",)),
        (r"\D\W\P{L}", ("日日日",), ("1日日",)),
        (".", ("a", "日"), ("\n", "ab")),
        ("(?s:.)(?-s).", ("\na",), ("a\n",)),
    ],
)
def test_pattern_matches_whole_names(text: str, yes: tuple[str, ...], no: tuple[str, ...]) -> None:
    pattern = NamePattern(text)
    assert [name for name in yes if not pattern.matches(name)] == []
    assert [name for name in no if pattern.matches(name)] == []


def test_pattern_that_backtracks_for_ever_elsewhere_is_fast() -> None:
    pattern = NamePattern("((a+)+)+b")
    assert not pattern.matches("a" * 127)
    assert pattern.matches("a" * 126 + "b")
    assert len(pattern) < 20


def test_long_name_is_matched_in_steps() -> None:
    pattern = NamePattern("(a?){300}(a|b){100}x")
    steps = pattern.matching("a" * 1023 + "x")
    assert sum(1 for _ in steps) > 30
    assert run(NamePattern("(ab)+").matching("ab" * 512))
    assert not run(NamePattern("(ab)+").matching("ab" * 511 + "a"))


def test_steps_that_are_kept_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mqgateway.gateway.kafka.patterns.CACHE_MAX", 2)
    assert NamePattern("[a-z]+").matches("abcdefgh")


parts = st.recursive(
    st.sampled_from(["a", "b", ".", "[ab]", "[^a]", "c"]),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda options: f"({'|'.join(options)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{1,2}"])).map(lambda one: f"({one[0]}){one[1]}"),
    ),
    max_leaves=6,
)


@given(parts, st.text("abc", min_size=1, max_size=6))
def test_pattern_agrees_with_the_module_re(text: str, name: str) -> None:
    assert NamePattern(text).matches(name) == (re.fullmatch(text, name) is not None)
