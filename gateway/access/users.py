"""Users: names, secrets that sign requests, and types.

RocketMQ: `User`, `UserType`, `UserStatus`, `Subject`, `UserConverter`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any, Self, TypeVar

from mqgateway.engine.errors import ConfigError
from mqgateway.gateway.codec.bodies.auth import UserInfo
from mqgateway.gateway.codec.errors import BodyError

N = TypeVar("N", bound=Enum)

SUBJECT_PREFIX = "User:"


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
    """User; `password` is the secret that signs requests and is not shown in logs."""

    username: str
    password: str = field(repr=False)
    user_type: UserType = UserType.NORMAL
    status: UserStatus = UserStatus.ENABLE

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

    def info(self) -> UserInfo:
        """Return the user in the form of requests and files, with the password."""
        return UserInfo(self.username, self.password, self.user_type.value, self.status.value)

    def to_json(self) -> dict[str, Any]:
        """Return the fields under the names of `UserInfo`."""
        return self.info().to_json()

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
        return cls(info.username, info.password, user_type, status)
