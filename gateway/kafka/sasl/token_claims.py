"""Claims of access tokens, pure: the conditions that they must meet, and the user they name.

Conditions are those of Apache Kafka: `exp` and `iat` are required, audience and issuer if they are expected.
Source: `BrokerJwtValidator`, `ClaimValidationUtils`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

SECONDS_MAX: Final = 2**63 // 1000 - 1
"""Latest time of a claim, seconds: in milliseconds it fits into 64 bits."""


class InvalidToken(Exception):
    """An access token that is refused; the text is for the log of the server."""


class AccessToken(NamedTuple):
    """An accepted token: its user, and the wall time of its end, ms."""

    user: str
    expires: int


@dataclass(frozen=True, slots=True)
class ClaimRules:
    """Conditions for claims. `clock_skew` are the seconds that clocks may differ.

    No audiences stand for any audience, an empty issuer for any issuer.
    """

    audiences: frozenset[str] = frozenset()
    issuer: str = ""
    user_claim: str = "sub"
    scope_claim: str = "scope"
    clock_skew: int = 30

    def check(self, claims: Mapping[str, Any], now: int) -> AccessToken:
        """Return the token of claims at a wall time, ms. Raises `InvalidToken`."""
        expires = self._check_times(claims, now / 1000)
        self._check_audience(claims.get("aud"))
        if self.issuer and claims.get("iss") != self.issuer:
            raise InvalidToken(f"its issuer is {claims.get('iss')!r:.100}")
        self._check_scopes(claims.get(self.scope_claim))
        return AccessToken(_text(claims.get(self.user_claim), self.user_claim), int(expires * 1000))

    def _check_times(self, claims: Mapping[str, Any], now: float) -> float:
        expires, issued = _time(claims, "exp"), _time(claims, "iat")
        begins = _time(claims, "nbf") if "nbf" in claims else issued
        if now - self.clock_skew >= expires:
            raise InvalidToken(f"it expired {now - expires:.0f} s ago")
        if "nbf" in claims and now + self.clock_skew < begins:
            raise InvalidToken(f"it is valid in {begins - now:.0f} s only")
        if expires < max(issued, begins):
            raise InvalidToken("it ends before it begins")
        return expires

    def _check_audience(self, given: object) -> None:
        if not self.audiences:
            return
        audiences = given if isinstance(given, list) else [given]
        if not any(isinstance(one, str) and one in self.audiences for one in audiences):
            raise InvalidToken(f"its audience is {given!r:.100}")

    def _check_scopes(self, given: object) -> None:
        scopes = given if isinstance(given, list) else [given] if isinstance(given, str) else []
        names = [_text(one, self.scope_claim) for one in scopes]
        if len(set(names)) < len(names):
            raise InvalidToken(f"{self.scope_claim} has a value twice")


def _time(claims: Mapping[str, Any], name: str) -> float:
    """Return a time of claims, seconds. Raises `InvalidToken`."""
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidToken(f"{name} is not a time")
    if not 0 <= value <= SECONDS_MAX or math.isnan(value):
        raise InvalidToken(f"{name} is out of range")
    return value


def _text(value: object, name: str) -> str:
    """Return a text that is not blank, without the blanks around it. Raises `InvalidToken`."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidToken(f"{name} is not a text")
    return value.strip()
