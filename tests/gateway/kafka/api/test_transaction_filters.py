"""Patterns of transactional ids."""

import pytest

from mqgateway.gateway.kafka.api.transaction_filters import InvalidPattern, matcher


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        (None, ["", "shop", "shop-1", "a(b"]),
        ("", ["", "shop", "shop-1", "a(b"]),
        ("shop", ["shop"]),
        ("shop.*", ["shop", "shop-1"]),
        ("[a-z]+-[0-9]+", ["shop-1"]),
        ("a[(]b|shop", ["shop", "a(b"]),
        (r"a\(b", ["a(b"]),
        ("sho.", ["shop"]),
        ("shop-1?", ["shop-1"]),
        ("hop", []),
    ],
)
def test_whole_ids_are_matched(pattern: str | None, matched: list[str]) -> None:
    matches = matcher(pattern)
    assert [one for one in ("", "shop", "shop-1", "a(b") if matches(one)] == matched


@pytest.mark.parametrize("pattern", ["(a+)+", "a*b*c*", "a{2}b{3}c+", "[a", "a**", "(?i)a", "*"])
def test_patterns_that_may_take_long_or_are_none_are_refused(pattern: str) -> None:
    with pytest.raises(InvalidPattern):
        matcher(pattern)
