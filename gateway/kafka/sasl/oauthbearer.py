"""The mechanism OAUTHBEARER: the client sends an access token that an identity provider has signed.

A token that is refused is answered with an error as JSON. The client confirms it, and the authentication
fails. Standard: RFC 7628, KIP-255, KIP-768. Source: `OAuthBearerSaslServer`,
`OAuthBearerClientInitialResponse`, whose texts these are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from twisted.internet.defer import Deferred, fail
from twisted.python.failure import Failure

from mqgateway.gateway.access.audit import Audit
from mqgateway.gateway.access.errors import NotAdmitted
from mqgateway.gateway.kafka.sasl.exchange import (
    Authenticate,
    AuthenticationFailed,
    SaslClient,
    SaslStep,
)
from mqgateway.gateway.kafka.sasl.token_claims import AccessToken, InvalidToken

MECHANISM: Final = "OAUTHBEARER"
RESPONSE_SIZE_MAX: Final = 128 * 1024
"""Bytes of the longest first message of a client."""
INVALID_TOKEN: Final = '{"status":"invalid_token"}'
_RESPONSE: Final = re.compile(
    r"n,(?:a=(?P<authorization_id>(?:[^\0=,]|=2C|=3D)+))?,\x01"
    r"(?P<pairs>(?:[A-Za-z]+=[\x21-\x7e \t\r\n]+\x01)*)\x01"
)
_AUTH: Final = re.compile(r"(?i:bearer) +(?P<token>[-_~+/.a-zA-Z0-9]+=*)")

VerifyToken = Callable[[str], "Deferred[AccessToken]"]
"""Function that returns the contents of a token; fails with `InvalidToken`."""


class ClientResponse(NamedTuple):
    """The first message of a client."""

    authorization_id: str
    token: str


def read_client_response(message: bytes) -> ClientResponse | None:
    """Parse the first message of a client; None if it cannot be parsed. Extensions are ignored."""
    if len(message) > RESPONSE_SIZE_MAX:
        return None
    found = _RESPONSE.fullmatch(message.decode("utf-8", "replace"))
    if found is None:
        return None
    pairs = dict(pair.split("=", 1) for pair in found["pairs"].split("\x01") if pair)
    auth = _AUTH.fullmatch(pairs.get("auth", ""))
    return None if auth is None else ClientResponse(found["authorization_id"] or "", auth["token"])


class OAuthBearerExchange:
    """See `exchange.SaslExchange`. Tokens that `verify` refuses are written to the `audit` log."""

    def __init__(
        self, client: SaslClient, verify: VerifyToken, authenticate: Authenticate, audit: Audit
    ) -> None:
        self._audit = audit
        self._client = client
        self._verify = verify
        self._authenticate = authenticate
        self._is_refused = False

    def evaluate(self, token: bytes) -> Deferred[SaslStep]:
        """See `exchange.SaslExchange`."""
        if self._is_refused:
            return fail(AuthenticationFailed(INVALID_TOKEN, is_logged=True))
        response = read_client_response(token)
        if response is None:
            return fail(AuthenticationFailed())
        verified = self._verify(response.token)
        return verified.addCallbacks(self._accept, self._refuse, callbackArgs=(response.authorization_id,))

    def _accept(self, token: AccessToken, authorization_id: str) -> SaslStep:
        if authorization_id and authorization_id != token.user:
            raise AuthenticationFailed(
                f"Authentication failed: Client requested an authorization id ({authorization_id}) that is "
                f"different from the token's principal name ({token.user})"
            )
        try:
            self._authenticate(self._client.claims(token.user, lambda _: True))
        except NotAdmitted as error:
            raise AuthenticationFailed(
                f"Authentication failed: {error.message}", error.until, is_logged=True
            ) from error
        return SaslStep(b"", token.user, token.expires)

    def _refuse(self, failure: Failure) -> SaslStep:
        error = failure.value
        if not isinstance(error, InvalidToken):
            assert error is not None
            raise error
        # The client may leave without the confirmation by which its authentication fails.
        client, reason = self._client, f"the access token is refused: {error}"
        self._audit.authenticated("", client.address, client.request, reason)
        self._is_refused = True
        return SaslStep(INVALID_TOKEN.encode())
