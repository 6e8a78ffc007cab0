"""Access tokens: JSON Web Tokens whose signatures are checked with the keys of an identity provider.

Sizes are checked before anything is decoded, and claims are read after the signature was verified.
Standard: RFC 7515, RFC 7519. Source: `OAuthBearerValidatorCallbackHandler`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from jwt.api_jws import PyJWS
from jwt.exceptions import PyJWTError
from twisted.internet.defer import Deferred, fail

from mqgateway.gateway.kafka.sasl.key_set import SigningKey
from mqgateway.gateway.kafka.sasl.published_keys import PublishedKeys
from mqgateway.gateway.kafka.sasl.token_claims import AccessToken, ClaimRules, InvalidToken

TOKEN_SIZE_MAX: Final = 64 * 1024
"""Longest token, in characters."""
HEADER_SIZE_MAX: Final = 8 * 1024
"""Longest header of a token, in characters."""
KEY_ID_SIZE_MAX: Final = 1000
_PARTS: Final = 3
"""Header, claims, signature."""


class TokenHeader(NamedTuple):
    """The header of a token: the id of its key (None without one), and the algorithm of its signature."""

    key_id: str | None
    algorithm: str


class AccessTokens:
    """Verification of access tokens. `now` is the wall time, ms."""

    def __init__(self, keys: PublishedKeys, rules: ClaimRules, now: Callable[[], int]) -> None:
        self._keys = keys
        self._rules = rules
        self._now = now

    def verify(self, token: str) -> Deferred[AccessToken]:
        """Return what a token says once its signature was checked; fails with `InvalidToken`."""
        try:
            header = read_header(token)
        except InvalidToken:
            return fail()

        def check(key: SigningKey | None) -> AccessToken:
            if key is None:
                raise InvalidToken(f"no key {header.key_id!r:.100} for {header.algorithm!r:.20} is known")
            return self._rules.check(read_claims(token, key), self._now())

        return self._keys.find(header.key_id, header.algorithm).addCallback(check)


def read_header(token: str) -> TokenHeader:
    """Parse the header of a token, which is not verified. Raises `InvalidToken`."""
    parts = token.split(".", _PARTS)
    if len(token) > TOKEN_SIZE_MAX or len(parts[0]) > HEADER_SIZE_MAX:
        raise InvalidToken("it is too long")
    if len(parts) != _PARTS:
        raise InvalidToken("it has not three parts")
    try:
        header: Any = PyJWS().get_unverified_header(token)
    except (PyJWTError, ValueError, RecursionError) as error:
        raise InvalidToken(f"its header cannot be read: {error}") from None
    key_id, algorithm = header.get("kid"), header.get("alg")
    if "crit" in header:
        raise InvalidToken("it has extensions that are not known")
    if not isinstance(algorithm, str) or not (key_id is None or isinstance(key_id, str)):
        raise InvalidToken("its header has no algorithm, or a key id that is not a text")
    if len(key_id or "") > KEY_ID_SIZE_MAX:
        raise InvalidToken("its key id is too long")
    return TokenHeader(key_id, algorithm)


def read_claims(token: str, key: SigningKey) -> dict[str, Any]:
    """Verify the signature of a token, and return its claims. Raises `InvalidToken`."""
    try:
        claims = json.loads(PyJWS().decode(token, key.key, algorithms=list(key.algorithms)))
    except (PyJWTError, ValueError, TypeError, RecursionError) as error:
        raise InvalidToken(f"it cannot be verified: {error}") from None
    if not isinstance(claims, dict):
        raise InvalidToken("its claims are not an object")
    return claims
