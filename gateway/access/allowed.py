"""What was found to be allowed, so that it is not found anew for each message.

Users and policies are never changed, they are replaced: an answer counts as long as both are the very
objects that it was found with. Refusals are not kept. Standard: the caches behind `userCache*` and
`aclCache*`, which go by time.
"""

from __future__ import annotations

from mqgateway.gateway.access.needs import Need
from mqgateway.gateway.access.policies import Acl
from mqgateway.gateway.access.users import User

ALLOWED_MAX = 4096
"""Answers that are kept; of more, the oldest are forgotten."""
NAME_MAX = 255
"""Characters of a resource's name; what no topic or group can be called is not kept."""

Question = tuple[str, Need, str]
"""The name of a user, what is needed, and the address that asks."""


class Allowed:
    """Questions whose answer was yes."""

    def __init__(self) -> None:
        self._known: dict[Question, tuple[User | None, Acl | None]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def knows(self, question: Question, user: User | None, acl: Acl | None) -> bool:
        """Whether the answer was yes for this user with these policies."""
        found = self._known.get(question)
        return found is not None and found[0] is user and found[1] is acl

    def add(self, question: Question, user: User | None, acl: Acl | None) -> None:
        """The answer is yes."""
        if len(question[1].resource.name or "") > NAME_MAX:
            return
        if len(self._known) >= ALLOWED_MAX:
            del self._known[next(iter(self._known))]
        self._known[question] = user, acl
