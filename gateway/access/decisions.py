"""Authorization decisions, with the policy entry that made them.

RocketMQ: `UserAuthorizationHandler`, `AclAuthorizationHandler`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mqgateway.gateway.access.policies import Acl, Action, Decision, PolicyEntry, PolicyType, Resource
from mqgateway.gateway.access.users import User, subject_of

NO_MATCH = "no matched policies."
DENIED = "the decision is deny."


class AuthorizationResult(NamedTuple):
    """Authorization decision; `refusal` is RocketMQ's text, empty if allowed.

    `entry` of the kind `policy` made the decision. Without one, the user did, or no entry matched.
    """

    refusal: str = ""
    policy: PolicyType | None = None
    entry: PolicyEntry | None = None

    @property
    def is_allowed(self) -> bool:
        """True if the user is authorized."""
        return not self.refusal


ALLOWED = AuthorizationResult()


def decide(
    username: str, user: User | None, acl: Acl | None, resource: Resource, actions: Sequence[Action], ip: str
) -> AuthorizationResult:
    """Decide whether a user may do one of the actions; `user` and `acl` are None if there are none."""
    if user is None:
        return AuthorizationResult(f"User:{username} not found.")
    if user.is_disabled:
        return AuthorizationResult(f"User:{username} is disabled.")
    if user.is_super:
        return ALLOWED
    policies = {} if acl is None else acl.policies
    for kind in PolicyType:
        policy = policies.get(kind)
        entry = None if policy is None else policy.find(resource, actions, ip)
        if entry is not None:
            is_denied = entry.decision is Decision.DENY
            return AuthorizationResult(
                _refusal(username, resource, ip, DENIED) if is_denied else "", kind, entry
            )
    return AuthorizationResult(_refusal(username, resource, ip, NO_MATCH))


def _refusal(username: str, resource: Resource, ip: str, detail: str) -> str:
    return f"{subject_of(username)} has no permission to access {resource} from {ip}, {detail}"
