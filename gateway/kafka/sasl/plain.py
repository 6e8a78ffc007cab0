"""The mechanism PLAIN: the client sends its user and its password.

Standard: RFC 4616, `PlainSaslServer`, whose texts these are.
"""

from __future__ import annotations

import hmac
from typing import Final

from twisted.internet.defer import Deferred, execute

from mqgateway.gateway.access.errors import NotAdmitted
from mqgateway.gateway.kafka.sasl.exchange import (
    Authenticate,
    AuthenticationFailed,
    SaslClient,
    SaslStep,
)

_PARTS: Final = 3
"""Authorization id, user, password."""


class PlainExchange:
    """See `exchange.SaslExchange`."""

    def __init__(self, client: SaslClient, authenticate: Authenticate) -> None:
        self._client = client
        self._authenticate = authenticate

    def evaluate(self, token: bytes) -> Deferred[SaslStep]:
        """See `exchange.SaslExchange`."""
        return execute(self._evaluate, token)

    def _evaluate(self, token: bytes) -> SaslStep:
        parts = token.decode("utf-8", "replace").split("\0", _PARTS)
        if len(parts) != _PARTS:
            raise AuthenticationFailed
        authorization_id, user, password = parts
        if not user:
            raise AuthenticationFailed("Authentication failed: username not specified")
        if not password:
            raise AuthenticationFailed("Authentication failed: password not specified")
        try:
            self._authenticate(self._client.claims(user, lambda secret: _is_equal(secret, password)))
        except NotAdmitted as error:
            raise AuthenticationFailed(
                "Authentication failed: Invalid username or password", error.until, is_logged=True
            ) from error
        check_authorization_id(authorization_id, user)
        return SaslStep(b"", user)


def check_authorization_id(authorization_id: str, user: str) -> None:
    """Refuse a client that wants to act for another user. Raises `AuthenticationFailed`."""
    if authorization_id and authorization_id != user:
        raise AuthenticationFailed(
            "Authentication failed: Client requested an authorization id that is different from username"
        )


def _is_equal(secret: str, password: str) -> bool:
    return hmac.compare_digest(
        secret.encode("utf-8", "surrogatepass"), password.encode("utf-8", "surrogatepass")
    )
