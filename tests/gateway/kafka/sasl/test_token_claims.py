"""Claims of access tokens: times, audience, issuer, scopes and user."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.gateway.kafka.sasl.token_claims import SECONDS_MAX, AccessToken, ClaimRules, InvalidToken

NOW = 1_000_000
"""Seconds."""
GOOD: dict[str, Any] = {"sub": "alice", "iat": NOW - 60, "exp": NOW + 60}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def check(rules: ClaimRules | None = None, **changes: Any) -> AccessToken:
    """Check good claims with changes; a change to None leaves a claim out."""
    claims = {name: value for name, value in (GOOD | changes).items() if value is not None}
    return (rules or ClaimRules()).check(claims, NOW * 1000)


def is_accepted(rules: ClaimRules | None = None, **changes: Any) -> bool:
    """Return True if such claims are accepted."""
    try:
        check(rules, **changes)
    except InvalidToken:
        return False
    return True


def test_claims_have_user_and_end() -> None:
    assert check() == AccessToken("alice", (NOW + 60) * 1000)
    assert check(sub=" bob ", exp=NOW + 1.5) == AccessToken("bob", NOW * 1000 + 1500)
    assert check(ClaimRules(user_claim="email"), email="a@b") == AccessToken("a@b", (NOW + 60) * 1000)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"exp": NOW - 29}, True),
        ({"exp": NOW - 30}, False),
        ({"exp": None}, False),
        ({"exp": "later"}, False),
        ({"exp": True}, False),
        ({"exp": -1}, False),
        ({"exp": float("nan")}, False),
        ({"exp": float("inf")}, False),
        ({"exp": SECONDS_MAX}, True),
        ({"exp": SECONDS_MAX + 1}, False),
        ({"iat": None}, False),
        ({"iat": NOW + 61}, False),
        ({"nbf": NOW + 30}, True),
        ({"nbf": NOW + 31}, False),
        ({"nbf": "now"}, False),
        ({"sub": None}, False),
        ({"sub": " "}, False),
        ({"sub": 7}, False),
        ({"scope": "a b"}, True),
        ({"scope": ["a", "b"]}, True),
        ({"scope": ["a", "a"]}, False),
        ({"scope": ["a", ""]}, False),
        ({"scope": 7}, True),
        ({"aud": "kafka"}, True),
        ({"iss": "anyone"}, True),
    ],
)
def test_claims_meet_the_conditions_of_kafka(changes: dict[str, Any], expected: bool) -> None:
    assert is_accepted(**changes) is expected


@pytest.mark.parametrize(
    ("audience", "expected"),
    [("kafka", True), (["x", "kafka"], True), ("Kafka", False), ([], False), (None, False), ([7], False)],
)
def test_audience_is_one_of_the_expected(audience: Any, expected: bool) -> None:
    rules = ClaimRules(audiences=frozenset({"kafka", "other"}))
    assert is_accepted(rules, aud=audience) is expected


@pytest.mark.parametrize(
    ("issuer", "expected"), [("https://idp", True), ("https://evil", False), (None, False)]
)
def test_issuer_is_the_expected(issuer: str | None, expected: bool) -> None:
    assert is_accepted(ClaimRules(issuer="https://idp"), iss=issuer) is expected


@given(st.dictionaries(st.sampled_from(["sub", "exp", "iat", "nbf", "aud", "iss", "scope"]), JSON))
def test_any_claims_are_accepted_or_refused(claims: dict[str, Any]) -> None:
    for rules in (ClaimRules(), ClaimRules(frozenset({"a"}), "i")):
        try:
            token = rules.check(claims, NOW * 1000)
        except InvalidToken:
            continue
        assert token.user and 0 <= token.expires < 2**63
