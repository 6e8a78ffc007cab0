"""Users: names, secrets that sign requests, and types.

RocketMQ: `User`, `UserType`, `UserStatus`, `Subject`, `UserConverter`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any, Self, TypeVar

from mqgateway.engine.errors import ConfigError
from mqgateway.gateway.access.delegation_token import DelegationToken
from mqgateway.gateway.access.scram import ScramCredential
from mqgateway.gateway.codec.bodies.auth import UserInfo
from mqgateway.gateway.codec.errors import BodyError

N = TypeVar("N", bound=Enum)

SUBJECT_PREFIX = "User:"
SCRAM = "scramCredentials"
"""Field of a user in files that has its credentials of SCRAM."""
TOKENS = "delegationTokens"
"""Field of a user in files that has the delegation tokens that it owns."""


class UserType(StrEnum):
    """Super users may do everything; normal users what their policies allow."""

    SUPER = "Super"
    NORMAL = "Normal"


class UserStatus(StrEnum):
    """Enabled or disabled; disabled users are refused."""

    ENABLE = "enable"
    DISABLE = "disable"


def by_name(kind: type[N], text: str | None) -> N | None:
    """Return the enum member with this value, ignoring case; None for any other text."""
    if text is None:
        return None
    return next((one for one in kind if one.value.lower() == text.lower()), None)


def subject_of(username: str) -> str:
    """Return a user as policies name it: `User:alice`."""
    return SUBJECT_PREFIX + username


def username_of(subject: str | None) -> str | None:
    """Return the user of a subject; None if the subject is not a user. RocketMQ: `Subject.of`."""
    kind, _, name = (subject or "").partition(":")
    return name if kind.lower() == "user" else None


@dataclass(frozen=True, slots=True)
class User:
    """User; `password` is the secret that signs requests and is not shown in logs.

    `scram` are credentials that a Kafka client set, at most one of each mechanism. They count in place of the
    password for their mechanism. `tokens` are the delegation tokens that the user owns. Neither is part of
    `info`.
    """

    username: str
    password: str = field(repr=False)
    user_type: UserType = UserType.NORMAL
    status: UserStatus = UserStatus.ENABLE
    scram: tuple[ScramCredential, ...] = field(default=(), repr=False)
    tokens: tuple[DelegationToken, ...] = field(default=(), repr=False)

    @property
    def key(self) -> str:
        """User name."""
        return self.username

    @property
    def is_super(self) -> bool:
        """True if the user may do everything."""
        return self.user_type is UserType.SUPER

    @property
    def is_disabled(self) -> bool:
        """True if the user is disabled."""
        return self.status is UserStatus.DISABLE

    def scram_credential(self, mechanism: str) -> ScramCredential | None:
        """Return the credential that was set for a mechanism."""
        return next((one for one in self.scram if one.mechanism == mechanism), None)

    def info(self) -> UserInfo:
        """Return the user in the form of requests and files, with the password."""
        return UserInfo(self.username, self.password, self.user_type.value, self.status.value)

    def to_json(self) -> dict[str, Any]:
        """Return the fields under the names of `UserInfo`, and credentials of SCRAM and tokens, if any."""
        shape = self.info().to_json()
        if self.scram:
            shape[SCRAM] = [one.to_json() for one in self.scram]
        if self.tokens:
            shape[TOKENS] = [one.to_json() for one in self.tokens]
        return shape

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Parse a user of a file. Raises `ConfigError`: an incomplete user is not accepted."""
        try:
            info = UserInfo.from_json(value)
        except BodyError as error:
            raise ConfigError(str(error)) from None
        user_type, status = by_name(UserType, info.user_type), by_name(UserStatus, info.user_status)
        if not info.username or not info.password or user_type is None or status is None:
            raise ConfigError(f"the user {info.username!r} has no username, password, userType or userStatus")
        scram = tuple(ScramCredential.from_json(one) for one in value.get(SCRAM, ()))
        tokens = tuple(DelegationToken.from_json(one) for one in value.get(TOKENS, ()))
        return cls(info.username, info.password, user_type, status, scram, tokens)
