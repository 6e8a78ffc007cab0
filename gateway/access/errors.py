"""What goes wrong with users and policies."""

from __future__ import annotations


class AccessError(Exception):
    """Something that is not done, or not let through; the sentence is the standard's.

    Standard: `AuthenticationException`, `AuthorizationException`.
    """
