"""Cache of allowed requests, so that authorization is not repeated for each message.

The permissions that a request needs depend on its code and on some header fields: those that were read to
determine them. Users and policies are immutable and get replaced. So a cached decision is valid while both
are the same objects as when it was made. Refusals are not cached. RocketMQ: the caches behind `userCache*`
and `aclCache*`, which expire by time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mqgateway.gateway.access.policies import Acl
from mqgateway.gateway.access.users import User

ALLOWED_MAX = 4096
"""Maximum number of cached decisions; the oldest are evicted."""
VALUE_MAX = 255
"""Maximum length of a field in characters.

Requests with longer ones, which no topic or group has, are not cached.
"""

Question = tuple[str | int | None, ...]
"""Cache key: user name, address, request code, and the values of the relevant header fields."""
Acls = tuple[Acl | None, Acl | None]
"""The policies of a user, and those of all users."""


class Watched(Mapping[str, str]):
    """Header fields that record in `seen` which names were read, present or not.

    Iterating or counting them makes the result depend on fields that only another request has. Then
    `is_whole` is set.
    """

    def __init__(self, fields: Mapping[str, str]) -> None:
        self._fields = fields
        self.seen: set[str] = set()
        self.is_whole = False

    def __getitem__(self, name: str) -> str:
        self.seen.add(name)
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        self.is_whole = True
        return iter(self._fields)

    def __len__(self) -> int:
        self.is_whole = True
        return len(self._fields)


class Allowed:
    """Allowed requests."""

    def __init__(self) -> None:
        self._looked_at: dict[int, tuple[str, ...]] = {}
        self._known: dict[Question, tuple[User | None, Acls]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def knows(
        self,
        name: str,
        ip: str,
        code: int,
        fields: Mapping[str, str],
        user: User | None,
        acls: Acls,
    ) -> bool:
        """Return True if the request was allowed for this user with these policies."""
        found = self._known.get((name, ip, code, *map(fields.get, self._looked_at.get(code, ()))))
        if found is None:
            return False
        known, (own, everyone) = found
        return known is user and own is acls[0] and everyone is acls[1]

    def add(self, name: str, ip: str, code: int, fields: Watched, user: User | None, acls: Acls) -> None:
        """Cache that a request was allowed, by the fields that were read.

        With other values, other fields may be read. Then cache keys of the code get more parts, and earlier
        entries are no longer found. Requests whose fields were iterated are not cached.
        """
        if fields.is_whole:
            return
        looked_at = self._looked_at.get(code, ())
        if not fields.seen.issubset(looked_at):
            self._looked_at[code] = looked_at = tuple(sorted(fields.seen.union(looked_at)))
        question: Question = (name, ip, code, *map(fields.get, looked_at))
        if any(isinstance(value, str) and len(value) > VALUE_MAX for value in question):
            return
        if len(self._known) >= ALLOWED_MAX:
            del self._known[next(iter(self._known))]
        self._known[question] = user, acls
