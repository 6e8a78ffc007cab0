"""Access tokens: signatures, sizes, and tokens that are malformed."""

from __future__ import annotations

import base64
import hmac
import json
from typing import Any

import jwt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mqgateway.engine.worker import InlineWorker
from mqgateway.gateway.kafka.sasl.access_tokens import HEADER_SIZE_MAX, TOKEN_SIZE_MAX, AccessTokens
from mqgateway.gateway.kafka.sasl.key_set import KeySet
from mqgateway.gateway.kafka.sasl.published_keys import PublishedKeys
from mqgateway.gateway.kafka.sasl.token_claims import AccessToken, ClaimRules, InvalidToken
from tests.support.gateway.kafka.access_tokens import IdentityProvider

PROVIDER = IdentityProvider()
NOW = 1_000_000
CLAIMS = {"sub": "alice", "iat": NOW, "exp": NOW + 60}
GOOD = PROVIDER.token(**CLAIMS)


def tokens() -> AccessTokens:
    """Return the verification with the keys of the provider."""
    keys = PublishedKeys(lambda: KeySet.parse(PROVIDER.document()), InlineWorker(), lambda: 0.0)
    return AccessTokens(keys, ClaimRules(), lambda: NOW * 1000)


TOKENS = tokens()


def outcome(token: str) -> Any:
    """Return the contents of a token, or the exception."""
    found: list[Any] = []
    TOKENS.verify(token).addCallbacks(found.append, lambda failure: found.append(failure.value))
    return found[0]


def part(value: object) -> str:
    """Return a part of a token."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def test_signed_token_is_accepted() -> None:
    assert outcome(GOOD) == AccessToken("alice", (NOW + 60) * 1000)
    assert outcome(PROVIDER.token({}, **CLAIMS)) == AccessToken("alice", (NOW + 60) * 1000)


def test_token_of_another_key_is_refused() -> None:
    assert isinstance(outcome(IdentityProvider().token(**CLAIMS)), InvalidToken)
    assert isinstance(outcome(IdentityProvider("unknown").token(**CLAIMS)), InvalidToken)


@pytest.mark.parametrize(
    "algorithm", ["none", "None", "HS256", "HS512", "ES384", "RS256", "", None, 7, ["ES256"]]
)
def test_token_with_another_algorithm_is_refused(algorithm: Any) -> None:
    _, claims, signature = GOOD.split(".")
    header = part({"alg": algorithm, "kid": PROVIDER.key_id})
    for proof in (signature, ""):
        assert isinstance(outcome(f"{header}.{claims}.{proof}"), InvalidToken)


def test_public_key_is_no_secret_of_a_keyed_hash() -> None:
    signed = f"{part({'alg': 'HS256', 'kid': PROVIDER.key_id})}.{part(CLAIMS)}"
    forged = hmac.digest(json.dumps(PROVIDER.entry()).encode(), signed.encode(), "sha256")
    assert isinstance(outcome(f"{signed}.{part(forged)}"), InvalidToken)


def test_changed_claims_are_refused() -> None:
    header, _, signature = GOOD.split(".")
    assert isinstance(outcome(f"{header}.{part(CLAIMS | {'sub': 'root'})}.{signature}"), InvalidToken)


@pytest.mark.parametrize(
    "header",
    [
        {"alg": "ES256", "kid": 7},
        {"alg": "ES256", "kid": "k" * 1001},
        {"alg": "ES256", "kid": "first", "crit": ["exp"]},
        {"alg": "ES256", "kid": "first", "b64": False, "crit": ["b64"]},
        {"kid": "first"},
        [],
        7,
        b"\xff\xfe",
        b"[" * 4000,
        b"1" * 5000,
    ],
)
def test_malformed_header_is_refused(header: Any) -> None:
    _, claims, signature = GOOD.split(".")
    assert isinstance(outcome(f"{part(header)}.{claims}.{signature}"), InvalidToken)


@pytest.mark.parametrize("claims", [b"[" * 20_000, b"7", b"[]", b"", b"\xff", b"1" * 5000])
def test_signed_claims_that_are_no_object_are_refused(claims: bytes) -> None:
    signed = jwt.PyJWS().encode(claims, PROVIDER._key, algorithm="ES256", headers={"kid": PROVIDER.key_id})
    assert isinstance(outcome(signed), InvalidToken)


def test_long_token_is_refused_before_it_is_decoded() -> None:
    header, claims, signature = GOOD.split(".")
    assert "too long" in str(outcome(f"{header}.{'A' * TOKEN_SIZE_MAX}.{signature}"))
    assert "too long" in str(outcome(f"{'A' * (HEADER_SIZE_MAX + 1)}.{claims}.{signature}"))


@given(st.text(alphabet="abcXYZ019-_.=", max_size=60) | st.text(max_size=30))
@example("..")
@example("...")
@example("\ud800.a.b")
def test_any_text_is_refused(token: str) -> None:
    assert isinstance(outcome(token), InvalidToken)


@given(st.integers(0, len(GOOD) - 1), st.sampled_from("abcXYZ019-_."))
def test_any_change_of_a_token_is_refused_or_without_effect(index: int, letter: str) -> None:
    changed = GOOD[:index] + letter + GOOD[index + 1 :]
    found = outcome(changed)
    assert isinstance(found, InvalidToken) or found == outcome(GOOD)


@given(st.binary(max_size=60), st.binary(max_size=60), st.binary(max_size=60))
def test_any_parts_are_refused(header: bytes, claims: bytes, signature: bytes) -> None:
    assert isinstance(outcome(f"{part(header)}.{part(claims)}.{part(signature)}"), InvalidToken)
