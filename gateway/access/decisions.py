"""Authorization decisions, with the policy entry that made them.

An entry of the kind Kafka that denies decides first, whatever resource it names. Then entries of ACL 2.0
decide, by the most specific resource. Where none matches, an entry of the kind Kafka may allow.
RocketMQ: `UserAuthorizationHandler`, `AclAuthorizationHandler`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from mqgateway.gateway.access.bindings import OPERATIONS
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.access.policies import (
    Acl,
    Action,
    BindingPolicy,
    PolicyEntry,
    PolicyType,
    Resource,
    ResourcePattern,
    ResourceType,
    literal,
)
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
    username: str,
    user: User | None,
    acl: Acl | None,
    resource: Resource,
    actions: Sequence[Action],
    ip: str,
    operation: AclOperation | None = None,
    everyone: Acl | None = None,
) -> AuthorizationResult:
    """Decide whether a user may do one of the actions; `user` and `acl` are None if there are none.

    With an `operation`, that of Kafka is decided on. `everyone` has bindings for all users.
    """
    if user is None:
        return AuthorizationResult(f"User:{username} not found.")
    if user.is_disabled:
        return AuthorizationResult(f"User:{username} is disabled.")
    if user.is_super:
        return ALLOWED
    if resource.is_unnamed:
        return _on_any_one(username, user, acl, resource, actions, ip, operation, everyone)
    policies = [one.bindings for one in (acl, everyone) if one is not None and one.bindings.entries]
    allowing = None
    if policies:
        if operation is None:
            found = {one: _binding(policies, resource, OPERATIONS.get(one), ip) for one in actions}
        else:
            found = dict.fromkeys(actions, _binding(policies, resource, operation, ip))
        actions = [action for action, entry in found.items() if entry is None or not entry.denies]
        if not actions:
            return _denied(username, resource, ip, PolicyType.KAFKA, next(iter(found.values())))
        allowing = next(filter(None, (found[action] for action in actions)), None)
    decided = (_by_actions if operation is None else _by_operation)(username, acl, resource, actions, ip)
    if decided is not None:
        return decided
    if allowing is not None:
        return AuthorizationResult("", PolicyType.KAFKA, allowing)
    return AuthorizationResult(_refusal(username, resource, ip, NO_MATCH))


def _on_any_one(
    username: str,
    user: User,
    acl: Acl | None,
    resource: Resource,
    actions: Sequence[Action],
    ip: str,
    operation: AclOperation | None,
    everyone: Acl | None,
) -> AuthorizationResult:
    """Decide on any one resource of a type: the user may do it on one that some entry names.

    An entry of a prefix, or of all, is tried with a name that no other entry has.
    """
    policies = [*(() if acl is None else acl.policies.values())]
    if everyone is not None:
        policies.append(everyone.bindings)
    for entry in (one for policy in policies for one in policy.entries.values()):
        kind, name, pattern = entry.resource
        if entry.denies or kind not in (resource.type, ResourceType.ANY):
            continue
        tried = name if name and pattern is ResourcePattern.LITERAL else f"{name or ''}\0"
        verdict = decide(username, user, acl, literal(resource.type, tried), actions, ip, operation, everyone)
        if verdict.is_allowed:
            return verdict
    return AuthorizationResult(_refusal(username, resource, ip, NO_MATCH))


def _by_actions(
    username: str, acl: Acl | None, resource: Resource, actions: Sequence[Action], ip: str
) -> AuthorizationResult | None:
    """Decide by the entries of ACL 2.0; None if none of them matches."""
    policies = {} if acl is None else acl.policies
    for kind in (PolicyType.CUSTOM, PolicyType.DEFAULT):
        policy = policies.get(kind)
        entry = None if policy is None else policy.find(resource, actions, ip)
        if entry is not None:
            if entry.denies:
                return _denied(username, resource, ip, kind, entry)
            return AuthorizationResult("", kind, entry)
    return None


def _by_operation(
    username: str, acl: Acl | None, resource: Resource, actions: Sequence[Action], ip: str
) -> AuthorizationResult | None:
    """Decide like `_by_actions` on an operation of Kafka.

    Only the first action is the operation's own. Others imply it if they are allowed; denied ones do not
    deny it.
    """
    for action in actions:
        decided = _by_actions(username, acl, resource, (action,), ip)
        if decided is not None and (decided.is_allowed or action is actions[0]):
            return decided
    return None


def _binding(
    policies: Iterable[BindingPolicy], resource: Resource, operation: AclOperation | None, ip: str
) -> PolicyEntry | None:
    """Return the entry of the kind Kafka that denies an operation, else one that allows it."""
    if operation is None:
        return None
    found = [entry for one in policies if (entry := one.deciding(resource, operation, ip)) is not None]
    return next((entry for entry in found if entry.denies), found[0] if found else None)


def _denied(
    username: str, resource: Resource, ip: str, kind: PolicyType, entry: PolicyEntry | None
) -> AuthorizationResult:
    return AuthorizationResult(_refusal(username, resource, ip, DENIED), kind, entry)


def _refusal(username: str, resource: Resource, ip: str, detail: str) -> str:
    return f"{subject_of(username)} has no permission to access {resource} from {ip}, {detail}"
