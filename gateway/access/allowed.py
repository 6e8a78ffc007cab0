"""Requests that were found to be allowed, so that it is not found anew for each message.

What a request needs hangs on its code and on some of its header fields: those that were looked at when it was
found. Users and policies are never changed, they are replaced: an answer counts as long as both are the very
objects that it was found with. Refusals are not kept. Standard: the caches behind `userCache*` and
`aclCache*`, which go by time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mqgateway.gateway.access.policies import Acl
from mqgateway.gateway.access.users import User

ALLOWED_MAX = 4096
"""Answers that are kept; of more, the oldest are forgotten."""
VALUE_MAX = 255
"""Characters of a field; a request with a longer one, which no topic or group has, is not kept."""

Question = tuple[str | int | None, ...]
"""A user's name, an address, a request code, and the values of the header fields that count with it."""


class Watched(Mapping[str, str]):
    """Header fields, and in `seen` the names of those that were looked at, whether they are there or not.

    Who goes through all of them, or counts them, hangs on fields that another request may have beside
    these: `is_whole` is true then.
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
    """Questions whose answer was yes."""

    def __init__(self) -> None:
        self._looked_at: dict[int, tuple[str, ...]] = {}
        self._known: dict[Question, tuple[User | None, Acl | None]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def knows(
        self,
        name: str,
        ip: str,
        code: int,
        fields: Mapping[str, str],
        user: User | None,
        acl: Acl | None,
    ) -> bool:
        """Whether the answer was yes for this user with these policies, as far as it is known by now which
        fields count."""
        found = self._known.get((name, ip, code, *map(fields.get, self._looked_at.get(code, ()))))
        return found is not None and found[0] is user and found[1] is acl

    def add(self, name: str, ip: str, code: int, fields: Watched, user: User | None, acl: Acl | None) -> None:
        """The answer is yes, and hung on the fields that were looked at.

        With other values others may be looked at: then questions of the code have more parts from now on,
        and those that were kept before are not asked again. Nothing is kept of a request whose fields were
        looked at as a whole.
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
        self._known[question] = user, acl
