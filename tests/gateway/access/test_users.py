"""Users, as they are named, written and read."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.engine.errors import ConfigError
from mqgateway.gateway.access.users import User, UserStatus, UserType, by_name, subject_of, username_of

ALICE = User("alice", "secret")
SHOWN = {"username": "alice", "password": "secret", "userType": "Normal", "userStatus": "enable"}


def test_user_is_normal_and_enabled_by_default() -> None:
    assert not ALICE.is_super and not ALICE.is_disabled and ALICE.key == "alice"
    root = User("root", "x", UserType.SUPER, UserStatus.DISABLE)
    assert root.is_super and root.is_disabled


def test_a_user_is_written_and_read_under_the_standards_names() -> None:
    assert ALICE.to_json() == SHOWN
    assert User.from_json(SHOWN) == ALICE


@pytest.mark.parametrize(
    "change",
    [
        {"username": ""},
        {"username": None},
        {"password": None},
        {"userType": "Other"},
        {"userStatus": None},
        {"password": ""},
    ],
)
def test_a_user_that_is_half_known_is_an_error(change: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        User.from_json(SHOWN | change)


def test_secrets_are_not_shown() -> None:
    assert "secret" not in repr(ALICE)


def test_words_are_read_in_any_case() -> None:
    assert by_name(UserType, "sUPER") is UserType.SUPER
    assert by_name(UserStatus, "DISABLE") is UserStatus.DISABLE
    assert by_name(UserType, "x") is None
    assert by_name(UserType, None) is None


@pytest.mark.parametrize(
    ("subject", "name"),
    [
        ("User:alice", "alice"),
        ("user:a:b", "a:b"),
        ("User", ""),
        ("Role:x", None),
        ("", None),
        (None, None),
    ],
)
def test_subjects_name_users(subject: str | None, name: str | None) -> None:
    assert username_of(subject) == name
    assert username_of(subject_of("bob")) == "bob"
