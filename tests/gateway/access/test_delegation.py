"""Delegation tokens: lifetimes, who may change them, and where they are stored."""

from __future__ import annotations

import hashlib
import hmac

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.gateway.access import delegation
from mqgateway.gateway.access.delegation import (
    DelegationTokens,
    NoSuchToken,
    NotOwner,
    OwnedToken,
    TokenExpired,
    TokenLimitExceeded,
)
from mqgateway.gateway.access.tables import UserTable
from mqgateway.gateway.access.users import User

NOW = 1_000_000
LIFETIME, RENEWAL = 1000, 100


class Scene:
    """Two users, and their tokens."""

    def __init__(self, key: str = "key") -> None:
        self.disk = CrashDisk()
        self.clock = ManualClock(NOW)
        self.users = self.table()
        self.users.put(User("alice", "a"), User("bob", "b"))
        self.tokens = DelegationTokens(self.users, key, self.clock.millis, LIFETIME, RENEWAL)

    def table(self) -> UserTable:
        """Return the table of the disk."""
        table = UserTable(self.disk, "users.json", self.clock, None, None)
        table.load()
        return table

    def create(self, *renewers: str, lifetime: int = -1) -> OwnedToken:
        """Create a token of alice."""
        return self.tokens.create("alice", "alice", renewers, lifetime)


@pytest.mark.parametrize(
    ("lifetime", "ends", "expires"),
    [
        (-1, LIFETIME, RENEWAL),
        (0, LIFETIME, RENEWAL),
        (500, 500, RENEWAL),
        (50, 50, 50),
        (5000, LIFETIME, RENEWAL),
    ],
)
def test_lifetime_is_the_wanted_or_the_longest(lifetime: int, ends: int, expires: int) -> None:
    token = Scene().create(lifetime=lifetime).token
    assert (token.issued, token.expires, token.ends) == (NOW, NOW + expires, NOW + ends)


def test_secret_is_derived_from_the_id_and_not_stored() -> None:
    scene = Scene()
    made = scene.create("bob")
    assert made.secret == hmac.digest(b"key", made.token.token_id.encode(), hashlib.sha512)
    assert scene.tokens.find(made.token.token_id) == made == next(iter(scene.tokens.all()))
    assert made.is_for("alice") and made.is_for("bob") and not made.is_for("carol")
    assert scene.tokens.id_of(made.secret) == made.token.token_id
    [user] = [one for one in scene.table().all() if one.tokens]
    assert (user.username, user.tokens) == ("alice", (made.token,))
    assert made.password not in str(user.to_json()) and made.password not in repr(user)


def test_token_is_renewed_up_to_its_end() -> None:
    scene = Scene()
    secret = scene.create("bob").secret
    scene.clock.advance(90)
    assert scene.tokens.renew("bob", secret, 20) == NOW + 110
    assert scene.tokens.renew("alice", secret, -1) == NOW + 190
    for _ in range(9):
        scene.clock.advance(95)
        expires = scene.tokens.renew("alice", secret, 10**15)
    assert expires == NOW + LIFETIME


def test_token_is_expired_after_its_time_and_removed_with_the_next_change() -> None:
    scene = Scene()
    made = scene.create()
    scene.clock.advance(RENEWAL)
    assert scene.tokens.find(made.token.token_id) is not None
    scene.clock.advance(1)
    assert scene.tokens.find(made.token.token_id) is None and list(scene.tokens.all()) == []
    for change in (scene.tokens.renew, scene.tokens.expire):
        with pytest.raises(TokenExpired):
            change("alice", made.secret, 10)
    scene.create()
    with pytest.raises(NoSuchToken):
        scene.tokens.renew("alice", made.secret, 10)


def test_token_is_ended_by_owner_or_renewer() -> None:
    scene = Scene()
    first, second = scene.create("bob"), scene.create()
    assert scene.tokens.expire("bob", first.secret, 7) == NOW + 7
    assert scene.tokens.expire("alice", second.secret, -1) == NOW
    assert [one.token.token_id for one in scene.tokens.all()] == [first.token.token_id]


def test_others_cannot_change_a_token() -> None:
    scene = Scene()
    secret = scene.create().secret
    for change in (scene.tokens.renew, scene.tokens.expire):
        with pytest.raises(NotOwner):
            change("bob", secret, -1)
        with pytest.raises(NoSuchToken):
            change("alice", b"guess", -1)


def test_token_ends_with_its_owner_and_needs_one() -> None:
    scene = Scene()
    made = scene.create()
    scene.users.delete("alice")
    assert scene.tokens.find(made.token.token_id) is None
    with pytest.raises(NoSuchToken):
        scene.create()


def test_number_of_tokens_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delegation, "TOKENS_PER_USER_MAX", 2)
    scene = Scene()
    scene.create()
    scene.create()
    with pytest.raises(TokenLimitExceeded):
        scene.create()
    for renewers in (["u" * 256], list(map(str, range(101)))):
        with pytest.raises(TokenLimitExceeded):
            scene.create(*renewers)
    scene.clock.advance(RENEWAL + 1)
    scene.create()


def test_renewers_of_all_tokens_of_a_user_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delegation, "RENEWER_NAMES_MAX", 10)
    scene = Scene()
    first, _ = scene.create("carol"), scene.create("dave")
    with pytest.raises(TokenLimitExceeded, match="renewers"):
        scene.create("eve")
    scene.tokens.expire("alice", first.secret, -1)
    scene.create("eve")


def test_without_a_key_there_are_no_tokens() -> None:
    scene = Scene("")
    assert not scene.tokens.is_enabled and scene.tokens.find("any") is None
