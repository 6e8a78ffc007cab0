"""The mechanisms SCRAM-SHA-256 and SCRAM-SHA-512: two messages of each side.

With the extension `tokenauth=true` the client names a delegation token in place of its user.
Standard: RFC 5802, KIP-48, `ScramSaslServer`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import NamedTuple

from twisted.internet.defer import Deferred, execute, fail, succeed

from mqgateway.gateway.access.delegation import OwnedToken
from mqgateway.gateway.access.errors import NotAdmitted
from mqgateway.gateway.access.scram import ScramCredential, ScramMechanism
from mqgateway.gateway.kafka.sasl.exchange import (
    Authenticate,
    AuthenticationFailed,
    SaslClient,
    SaslStep,
)
from mqgateway.gateway.kafka.sasl.plain import check_authorization_id
from mqgateway.gateway.kafka.sasl.scram import (
    ClientFirst,
    is_proved,
    read_client_final,
    read_client_first,
    server_final,
    server_first,
)
from mqgateway.gateway.kafka.sasl.scram_credentials import ScramCredentials

FindToken = Callable[[str], OwnedToken | None]
"""Function that returns the delegation token of an id, None if there is none that counts."""


class ScramExchange:
    """See `exchange.SaslExchange`."""

    def __init__(
        self,
        mechanism: ScramMechanism,
        client: SaslClient,
        credentials: ScramCredentials,
        find_token: FindToken,
        authenticate: Authenticate,
    ) -> None:
        self._mechanism = mechanism
        self._client = client
        self._credentials = credentials
        self._find_token = find_token
        self._authenticate = authenticate
        self._begun: _Begun | None = None

    def evaluate(self, token: bytes) -> Deferred[SaslStep]:
        """See `exchange.SaslExchange`."""
        if self._begun is not None:
            return execute(self._finish, self._begun, token)
        first = read_client_first(token)
        if first is None:
            return fail(AuthenticationFailed())
        delegated = self._find_token(first.user) if first.has_token else None
        if delegated is not None:
            found = self._credentials.of_token(self._mechanism, delegated)
        elif first.has_token:
            found = succeed(self._credentials.pretended(self._mechanism, first.user))
        else:
            found = self._credentials.find(self._mechanism, first.user)
        return found.addCallback(self._begin, first, delegated)

    def _begin(self, credential: ScramCredential, first: ClientFirst, token: OwnedToken | None) -> SaslStep:
        check_authorization_id(first.authorization_id, first.user)
        nonce = first.nonce + secrets.token_urlsafe()
        self._begun = _Begun(first, nonce, server_first(nonce, credential), credential, token)
        return SaslStep(self._begun.answer.encode())

    def _finish(self, begun: _Begun, token: bytes) -> SaslStep:
        final, first = read_client_final(token), begun.first
        if final is None or final.nonce != begun.nonce or final.binding != first.binding:
            raise AuthenticationFailed
        signed = f"{first.bare},{begun.answer},{final.unproved}"
        is_valid = is_proved(self._mechanism, begun.credential, signed, final.proof)
        delegated, answer = begun.token, server_final(self._mechanism, begun.credential, signed)
        token_id = first.user if first.has_token else ""
        user = first.user if not first.has_token else "" if delegated is None else delegated.owner
        try:
            self._authenticate(self._client.claims(user, lambda _: is_valid, token_id))
        except NotAdmitted as error:
            raise AuthenticationFailed(None, error.until, is_logged=True) from error
        if delegated is None:
            return SaslStep(answer, user)
        return SaslStep(answer, user, delegated.expires, has_token=True)


class _Begun(NamedTuple):
    """The outcome of the first messages; `answer` is the server's, `token` the client's delegation token."""

    first: ClientFirst
    nonce: str
    answer: str
    credential: ScramCredential
    token: OwnedToken | None
