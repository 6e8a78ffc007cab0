"""A delegation token as its owner's entry has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from mqgateway.engine.errors import ConfigError


@dataclass(frozen=True, slots=True)
class DelegationToken:
    """A token. Times are wall times, ms; `renewers` may renew and end it besides its owner."""

    token_id: str
    requester: str
    renewers: tuple[str, ...]
    issued: int
    expires: int
    ends: int
    """The time beyond which it cannot be renewed."""

    def is_expired(self, now: int) -> bool:
        """Return True if its time is over."""
        return min(self.expires, self.ends) < now

    def to_json(self) -> dict[str, Any]:
        """Return the token as files have it."""
        return {
            "tokenId": self.token_id,
            "requester": self.requester,
            "renewers": list(self.renewers),
            "issueTimestamp": self.issued,
            "expiryTimestamp": self.expires,
            "maxTimestamp": self.ends,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Parse a token of a file. Raises `ConfigError`."""
        try:
            issued, expires, ends = (
                int(value[name]) for name in ("issueTimestamp", "expiryTimestamp", "maxTimestamp")
            )
            renewers = tuple(map(str, value["renewers"]))
            return cls(str(value["tokenId"]), str(value["requester"]), renewers, issued, expires, ends)
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigError("a delegation token cannot be read") from error
