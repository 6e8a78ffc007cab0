"""Users: who there is, with the secret they sign with, and whether they may do everything.

Standard: `User`, `UserType`, `UserStatus`, `Subject`, `UserConverter`.
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
    """Super users may do everything; what others may do policies say."""

    SUPER = "Super"
    NORMAL = "Normal"


class UserStatus(StrEnum):
    """Whether a user is let in."""

    ENABLE = "enable"
    DISABLE = "disable"


def by_name(kind: type[N], text: str | None) -> N | None:
    """The member of an enum that is written so, in any case of letters; None for any other text."""
    if text is None:
        return None
    return next((one for one in kind if one.value.lower() == text.lower()), None)


def subject_of(username: str) -> str:
    """How policies name a user: `User:alice`."""
    return SUBJECT_PREFIX + username


def username_of(subject: str | None) -> str | None:
    """The user that a subject names; None where it names none. Standard: `Subject.of`."""
    kind, _, name = (subject or "").partition(":")
    return name if kind.lower() == "user" else None


@dataclass(frozen=True, slots=True)
class User:
    """A user; `password` is the secret that requests are signed with, and is not shown in logs."""

    username: str
    password: str = field(repr=False)
    user_type: UserType = UserType.NORMAL
    status: UserStatus = UserStatus.ENABLE

    @property
    def key(self) -> str:
        """The name of the user."""
        return self.username

    @property
    def is_super(self) -> bool:
        """Whether the user may do everything."""
        return self.user_type is UserType.SUPER

    @property
    def is_disabled(self) -> bool:
        """Whether the user is not let in."""
        return self.status is UserStatus.DISABLE

    def info(self) -> UserInfo:
        """The user as requests and files have it, with the password."""
        return UserInfo(self.username, self.password, self.user_type.value, self.status.value)

    def to_json(self) -> dict[str, Any]:
        """The fields under the names of `UserInfo`."""
        return self.info().to_json()

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Read a user of a file. Raises `ConfigError`: a user who is half known is not let in."""
        try:
            info = UserInfo.from_json(value)
        except BodyError as error:
            raise ConfigError(str(error)) from None
        user_type, status = by_name(UserType, info.user_type), by_name(UserStatus, info.user_status)
        if not info.username or not info.password or user_type is None or status is None:
            raise ConfigError(f"the user {info.username!r} has no username, password, userType or userStatus")
        return cls(info.username, info.password, user_type, status)
