"""Who asks by a door that has no commands: what access control has to know of such a request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from mqgateway.gateway.access.needs import Need


@dataclass(frozen=True, slots=True)
class Asker:
    """`name` is the user that it says it is, None where it says nobody; `address` is its `ip:port`.

    `proof` says whether the request was signed with a secret key; `request` is what the audit log calls it.
    """

    name: str | None
    proof: Callable[[str], bool]
    address: str
    request: str

    @property
    def ip(self) -> str:
        """From where it asks."""
        return self.address.rpartition(":")[0].strip("[]")


class Admission(Protocol):
    """Lets in, or not."""

    def admit(self, asker: Asker, needs: Callable[[], Sequence[Need]]) -> None:
        """Refuse who is not who it says, and who may not do what `needs` says; that is asked once it is known
        who asks, if it matters then, and may refuse by itself. Raises `NotAdmitted`."""
        ...
