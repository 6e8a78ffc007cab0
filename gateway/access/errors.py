"""Errors of authentication, authorization and their administration."""

from __future__ import annotations

from twisted.internet.defer import Deferred


class AccessError(Exception):
    """Refused operation, with RocketMQ's text.

    RocketMQ: `AuthenticationException`, `AuthorizationException`.
    """


class NotAdmitted(AccessError):
    """Caller that is not authenticated or not authorized.

    The refusal is sent when `until` fires, if given.
    """

    def __init__(self, message: str, until: Deferred[None] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.until = until
