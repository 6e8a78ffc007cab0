"""Delegation tokens: short-lived secrets by which a client authenticates itself as the user that owns them.

A token is a part of its owner's entry, so slaves and backups have it, and it ends with its owner. Its secret
is not stored: it is derived from the token's id and the secret key of the servers. Expired tokens are removed
with the next change of their owner's tokens. Source: KIP-48, `DelegationTokenControlManager`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from mqgateway.gateway.access.delegation_token import DelegationToken
from mqgateway.gateway.access.errors import AccessError
from mqgateway.gateway.access.tables import UserTable

TOKENS_PER_USER_MAX: Final = 1000
"""Maximum number of tokens that a user owns."""
RENEWERS_MAX: Final = 100
"""Maximum number of renewers of a token."""
RENEWER_NAME_MAX: Final = 255
"""Longest name of a renewer, in characters."""
RENEWER_NAMES_MAX: Final = 100_000
"""Characters of the names of the renewers of all tokens that a user owns: its entry is written with each
change, and slaves copy all entries in one answer."""
_TIME_MAX: Final = 2**63 - 1


class NoSuchToken(AccessError):
    """A token that does not exist."""


class TokenExpired(AccessError):
    """A token whose time is over."""


class NotOwner(AccessError):
    """A user that neither owns a token nor may renew it."""


class TokenLimitExceeded(AccessError):
    """A token beyond the limits: of tokens of its owner, or of their renewers."""


class OwnedToken(NamedTuple):
    """A token, its owner, and its secret."""

    owner: str
    token: DelegationToken
    secret: bytes

    @property
    def expires(self) -> int:
        """The wall time at which it expires, ms."""
        return min(self.token.expires, self.token.ends)

    @property
    def password(self) -> str:
        """The secret as a client uses it in place of a password."""
        return base64.b64encode(self.secret).decode("ascii")

    @property
    def viewers(self) -> frozenset[str]:
        """The users that may see it without a right: its owner, its requester and its renewers.

        Source: `TokenInformation.ownerOrRenewer`.
        """
        return frozenset((self.owner, self.token.requester, *self.token.renewers))

    def is_for(self, user: str) -> bool:
        """Return True for its owner and its renewers."""
        return user == self.owner or user in self.token.renewers


class DelegationTokens:
    """The tokens of all users. `now` is the wall time, ms.

    Without a secret key there are none. Lifetimes are in ms: `lifetime_max` from the issue of a token,
    `renewal_max` from its last renewal.
    """

    def __init__(
        self, users: UserTable, key: str, now: Callable[[], int], lifetime_max: int, renewal_max: int
    ) -> None:
        self._users = users
        self._key = key.encode("utf-8", "surrogatepass")
        self._now = now
        self._lifetime_max = lifetime_max
        self._renewal_max = renewal_max
        self._version: tuple[int, int, int] | None = None  # of the users that are indexed
        self._by_id: dict[str, OwnedToken] = {}
        self._by_secret: dict[bytes, OwnedToken] = {}

    @property
    def is_enabled(self) -> bool:
        """True if there is a secret key."""
        return bool(self._key)

    def find(self, token_id: str) -> OwnedToken | None:
        """Return the token of an id; None if there is none, or its time is over."""
        self._index()
        found = self._by_id.get(token_id)
        return None if found is None or found.token.is_expired(self._now()) else found

    def all(self) -> Iterator[OwnedToken]:
        """Yield all tokens that are not expired."""
        self._index()
        now = self._now()
        return (one for one in self._by_id.values() if not one.token.is_expired(now))

    def create(self, owner: str, requester: str, renewers: Sequence[str], lifetime: int) -> OwnedToken:
        """Create a token of an owner, which must exist; `lifetime` of 0 and less is the longest.

        Raises `NoSuchToken` without the owner, `TokenLimitExceeded`.
        """
        if len(renewers) > RENEWERS_MAX or any(len(name) > RENEWER_NAME_MAX for name in renewers):
            raise TokenLimitExceeded(
                f"a token has {RENEWERS_MAX} renewers at most, with names of 255 characters"
            )
        now = self._now()
        ends = _sum(now, min(self._lifetime_max, lifetime) if lifetime > 0 else self._lifetime_max)
        expires = min(ends, _sum(now, self._renewal_max))
        token_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode("ascii").rstrip("=")
        token = DelegationToken(token_id, requester, tuple(dict.fromkeys(renewers)), now, expires, ends)
        self._put(owner, token.token_id, token)
        return OwnedToken(owner, token, self._secret(token_id))

    def renew(self, user: str, secret: bytes, period: int) -> int:
        """Extend a token's time by a period (0 and less: the longest), and return when it expires.

        Raises `NoSuchToken`, `TokenExpired`, `NotOwner`.
        """
        found, now = self._of_secret(secret), self._now()
        if found.token.is_expired(now):
            raise TokenExpired(f"the token {found.token.token_id} is expired")
        _check_is_for(found, user)
        period = min(self._renewal_max, period) if period > 0 else self._renewal_max
        return self._expire_at(found, _sum(now, period))

    def expire(self, user: str, secret: bytes, period: int) -> int:
        """Have a token expire after a period, and return when; one below 0 removes it at once.

        Raises `NoSuchToken`, `NotOwner`, `TokenExpired`.
        """
        found, now = self._of_secret(secret), self._now()
        _check_is_for(found, user)
        if period < 0:
            self._put(found.owner, found.token.token_id, None)
            return now
        if found.token.is_expired(now):
            raise TokenExpired(f"the token {found.token.token_id} is expired")
        return self._expire_at(found, _sum(now, period))

    def id_of(self, secret: bytes) -> str:
        """Return the id of the token with a secret; empty for none."""
        self._index()
        found = self._by_secret.get(secret)
        return "" if found is None else found.token.token_id

    def _of_secret(self, secret: bytes) -> OwnedToken:
        self._index()
        found = self._by_secret.get(secret)
        if found is None:
            raise NoSuchToken("there is no such token")
        return found

    def _expire_at(self, found: OwnedToken, time: int) -> int:
        token = replace(found.token, expires=min(found.token.ends, time))
        self._put(found.owner, token.token_id, token)
        return token.expires

    def _put(self, owner: str, token_id: str, token: DelegationToken | None) -> None:
        """Replace a token of an owner, or remove it; expired ones are removed too."""
        user, now = self._users.get(owner), self._now()
        if user is None:
            raise NoSuchToken(f"there is no user {owner}")
        kept = [one for one in user.tokens if one.token_id != token_id and not one.is_expired(now)]
        if token is not None:
            kept.append(token)
            _check_limits(owner, kept)
        self._users.put(replace(user, tokens=tuple(kept)))

    def _secret(self, token_id: str) -> bytes:
        return hmac.digest(self._key, token_id.encode("utf-8", "surrogatepass"), hashlib.sha512)

    def _index(self) -> None:
        """Arrange the tokens for look-ups, if users have changed."""
        version = self._users.data_version
        current = version.state_version, version.timestamp, version.counter
        if current == self._version or not self.is_enabled:
            return
        self._version = current
        found = [
            OwnedToken(user.username, token, self._secret(token.token_id))
            for user in self._users.all()
            for token in user.tokens
        ]
        self._by_id = {one.token.token_id: one for one in found}
        self._by_secret = {one.secret: one for one in found}


def _check_limits(owner: str, tokens: Sequence[DelegationToken]) -> None:
    if len(tokens) > TOKENS_PER_USER_MAX:
        raise TokenLimitExceeded(f"{owner} owns {TOKENS_PER_USER_MAX} tokens already")
    if sum(len(name) for one in tokens for name in one.renewers) > RENEWER_NAMES_MAX:
        raise TokenLimitExceeded(
            f"the renewers of the tokens of {owner} have names of more than {RENEWER_NAMES_MAX} characters"
        )


def _check_is_for(found: OwnedToken, user: str) -> None:
    if not found.is_for(user):
        raise NotOwner(f"{user} does not own the token {found.token.token_id}")


def _sum(now: int, duration: int) -> int:
    return min(_TIME_MAX, now + duration)
