"""The mechanisms SCRAM-SHA-256 and SCRAM-SHA-512: two messages of each side.

Standard: RFC 5802, `ScramSaslServer`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import NamedTuple

from twisted.internet.defer import Deferred, execute, fail

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

FindCredential = Callable[[ScramMechanism, str], "Deferred[ScramCredential]"]
"""Function that returns the credential of a user."""


class ScramExchange:
    """See `exchange.SaslExchange`."""

    def __init__(
        self,
        mechanism: ScramMechanism,
        client: SaslClient,
        find: FindCredential,
        authenticate: Authenticate,
    ) -> None:
        self._mechanism = mechanism
        self._client = client
        self._find = find
        self._authenticate = authenticate
        self._begun: _Begun | None = None

    def evaluate(self, token: bytes) -> Deferred[SaslStep]:
        """See `exchange.SaslExchange`."""
        if self._begun is not None:
            return execute(self._finish, self._begun, token)
        first = read_client_first(token)
        if first is None:
            return fail(AuthenticationFailed())
        return self._find(self._mechanism, first.user).addCallback(self._begin, first)

    def _begin(self, credential: ScramCredential, first: ClientFirst) -> SaslStep:
        check_authorization_id(first.authorization_id, first.user)
        nonce = first.nonce + secrets.token_urlsafe()
        self._begun = _Begun(first, nonce, server_first(nonce, credential), credential)
        return SaslStep(self._begun.answer.encode())

    def _finish(self, begun: _Begun, token: bytes) -> SaslStep:
        final, first = read_client_final(token), begun.first
        if final is None or final.nonce != begun.nonce or final.binding != first.binding:
            raise AuthenticationFailed
        signed = f"{first.bare},{begun.answer},{final.unproved}"
        is_valid = is_proved(self._mechanism, begun.credential, signed, final.proof)
        try:
            self._authenticate(self._client.claims(first.user, lambda _: is_valid))
        except NotAdmitted as error:
            raise AuthenticationFailed(None, error.until) from error
        return SaslStep(server_final(self._mechanism, begun.credential, signed), first.user)


class _Begun(NamedTuple):
    """The outcome of the first messages; `answer` is the server's."""

    first: ClientFirst
    nonce: str
    answer: str
    credential: ScramCredential
