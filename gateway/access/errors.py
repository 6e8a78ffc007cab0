"""What goes wrong with users and policies."""

from __future__ import annotations

from twisted.internet.defer import Deferred


class AccessError(Exception):
    """Something that is not done, or not let through; the sentence is the standard's.

    Standard: `AuthenticationException`, `AuthorizationException`.
    """


class NotAdmitted(AccessError):
    """A caller that is not authenticated or not authorized; the refusal is sent when `until` fires, if
    given."""

    def __init__(self, message: str, until: Deferred[None] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.until = until
