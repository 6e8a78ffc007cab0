"""SCRAM credentials of users and delegation tokens: those that were set, else those derived from passwords.

A derivation takes milliseconds, so that a worker makes it, once for each password. For an unknown user there
is a credential that no password fits, so that a client does not learn which users there are.
"""

from __future__ import annotations

import secrets
from typing import Final

from twisted.internet.defer import Deferred, succeed

from mqgateway.engine.worker import Worker
from mqgateway.gateway.access.delegation import OwnedToken
from mqgateway.gateway.access.scram import ITERATIONS_MIN, ScramCredential, ScramMechanism
from mqgateway.gateway.access.tables import UserTable

DERIVED_MAX: Final = 10_000
"""Derived credentials that are kept; the oldest is forgotten."""
_SALT_SIZE: Final = 16


class ScramCredentials:
    """The credentials of all users of one broker. Without a `worker` they are derived at once."""

    def __init__(self, users: UserTable, worker: Worker | None) -> None:
        self._users = users
        self._worker = worker
        self._derived: dict[tuple[str, str], tuple[str, ScramCredential]] = {}  # with the password
        self._secret = secrets.token_bytes(_SALT_SIZE)

    def find(self, mechanism: ScramMechanism, username: str) -> Deferred[ScramCredential]:
        """Return the credential of a user."""
        user = self._users.get(username)
        if user is None:
            return succeed(self.pretended(mechanism, username))
        set_before = user.scram_credential(mechanism.name)
        if set_before is not None:
            return succeed(set_before)
        return self._derived_from(mechanism, username, user.password)

    def of_token(self, mechanism: ScramMechanism, token: OwnedToken) -> Deferred[ScramCredential]:
        """Return the credential of a delegation token, whose secret counts as a password."""
        return self._derived_from(mechanism, token.token.token_id, token.password)

    def _derived_from(
        self, mechanism: ScramMechanism, username: str, password: str
    ) -> Deferred[ScramCredential]:
        """Return the credential of a password, which is derived once."""
        derived = self._derived.get((mechanism.name, username))
        if derived is not None and derived[0] == password:
            return succeed(derived[1])
        return self._derive(mechanism, username, password)

    def pretended(self, mechanism: ScramMechanism, username: str) -> ScramCredential:
        """Return a credential that is always the same for a name, and that no password fits."""
        seed = mechanism.hmac(self._secret, username.encode("utf-8", "surrogateescape"))
        return mechanism.credential(secrets.token_bytes(_SALT_SIZE), seed[:_SALT_SIZE], ITERATIONS_MIN)

    def _derive(self, mechanism: ScramMechanism, username: str, password: str) -> Deferred[ScramCredential]:
        salt = secrets.token_bytes(_SALT_SIZE)
        derived: Deferred[ScramCredential] = Deferred()

        def derive() -> ScramCredential:
            salted = mechanism.salted(password, salt, ITERATIONS_MIN)
            return mechanism.credential(salted, salt, ITERATIONS_MIN)

        def keep(outcome: ScramCredential | Exception) -> None:
            if isinstance(outcome, Exception):
                derived.errback(outcome)
                return
            if len(self._derived) >= DERIVED_MAX:
                del self._derived[next(iter(self._derived))]
            self._derived[mechanism.name, username] = (password, outcome)
            derived.callback(outcome)

        if self._worker is None:
            keep(derive())
        else:
            self._worker.run(derive, keep)
        return derived
