"""Callers of protocol front ends other than remoting, as access control sees them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from mqgateway.gateway.access.needs import Need


@dataclass(frozen=True, slots=True)
class FrontEndCaller:
    """Caller of a request.

    `name` is its claimed user, None for none; `address` is its `ip:port`. `proof` returns True if the request
    was signed with the given secret key. `request` is its name in the audit log. `has_session` is True if its
    connection was authenticated before: it needs no proof, but its user must still exist. `token` is the id
    of the delegation token by which it claims to be the user, empty for none; without a user it is unknown.
    """

    name: str | None
    proof: Callable[[str], bool]
    address: str
    request: str
    has_session: bool = False
    token: str = ""

    @property
    def ip(self) -> str:
        """IP address of the caller."""
        return self.address.rpartition(":")[0].strip("[]")


class CallerAccess(Protocol):
    """Authentication and authorization of callers."""

    def admit(self, caller: FrontEndCaller, needs: Callable[[], Sequence[Need]]) -> None:
        """Authenticate a caller and authorize the `needs` of its request. Raises `NotAdmitted`.

        `needs` is called after authentication, only if it matters, and may refuse by itself.
        """
        ...
