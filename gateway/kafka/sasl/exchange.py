"""The interface of mechanisms: tokens of a client in, tokens for the client out, in the end its user."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from twisted.internet.defer import Deferred

from mqgateway.gateway.access.callers import FrontEndCaller

Authenticate = Callable[[FrontEndCaller], None]
"""Function that checks a caller's proof against its user. Raises `NotAdmitted`."""


class SaslStep(NamedTuple):
    """The token that answers a client's. `user` is there once the exchange is complete.

    `expires` is the wall time at which its proof ends, ms; None for one that does not end. `has_token` is
    True if the proof was a delegation token.
    """

    token: bytes
    user: str | None = None
    expires: int | None = None
    has_token: bool = False


class AuthenticationFailed(Exception):
    """A failed exchange.

    `text` is for the client; None stands for the text that does not say why. The refusal is sent when `until`
    fires, if given. `is_logged` is True if the audit log has the refusal.
    """

    def __init__(
        self, text: str | None = None, until: Deferred[None] | None = None, *, is_logged: bool = False
    ) -> None:
        super().__init__(text or "invalid credentials")
        self.text = text
        self.until = until
        self.is_logged = is_logged


class SaslExchange(Protocol):
    """One authentication by a mechanism."""

    def evaluate(self, token: bytes) -> Deferred[SaslStep]:
        """Evaluate a client's token; fails with `AuthenticationFailed`."""
        ...


class SaslClient(NamedTuple):
    """The client of an exchange: its address, `ip:port`, and the request by which it authenticates itself."""

    address: str
    request: str

    def claims(self, user: str, proof: Callable[[str], bool], token: str = "") -> FrontEndCaller:
        """Return the claim to be a user whose password the proof accepts.

        `token` is the id of the delegation token that stands for the user; an unknown one has no user.
        """
        return FrontEndCaller(user, proof, self.address, self.request, token=token)


Mechanism = Callable[[SaslClient], SaslExchange]
"""Function that begins an exchange."""
