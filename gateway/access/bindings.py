"""Access control lists of Kafka over policies: one operation on a resource for a user and a host.

Bindings that a Kafka client wrote are entries of the kind Kafka. Entries of ACL 2.0 appear as bindings too.
Kafka has more operations than ACL 2.0 has actions, so that an action stands for several operations.
Standard: `AclBinding`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.access.policies import (
    Action,
    BindingPolicy,
    Decision,
    PolicyEntry,
    Resource,
    ResourceType,
)

EVERYONE: Final = "*"
"""The user of bindings that apply to all users."""
ANY_HOST: Final = "*"

ACTIONS: Final[Mapping[AclOperation, tuple[Action, ...]]] = {
    AclOperation.ALL: (Action.ALL,),
    AclOperation.READ: (Action.SUB,),
    AclOperation.WRITE: (Action.PUB,),
    AclOperation.CREATE: (Action.CREATE,),
    AclOperation.DELETE: (Action.DELETE,),
    AclOperation.ALTER: (Action.UPDATE,),
    AclOperation.DESCRIBE: (Action.GET, Action.SUB, Action.PUB, Action.DELETE, Action.UPDATE),
    AclOperation.CLUSTER_ACTION: (Action.UPDATE,),
    AclOperation.DESCRIBE_CONFIGS: (Action.GET, Action.UPDATE),
    AclOperation.ALTER_CONFIGS: (Action.UPDATE,),
    AclOperation.IDEMPOTENT_WRITE: (Action.CREATE,),
    AclOperation.CREATE_TOKENS: (Action.UPDATE,),
    AclOperation.DESCRIBE_TOKENS: (Action.GET,),
    AclOperation.TWO_PHASE_COMMIT: (Action.PUB,),
}
"""Actions of which one allows an operation, for entries of ACL 2.0."""

OPERATIONS: Final[Mapping[Action, AclOperation]] = {
    Action.ALL: AclOperation.ALL,
    Action.PUB: AclOperation.WRITE,
    Action.SUB: AclOperation.READ,
    Action.CREATE: AclOperation.CREATE,
    Action.UPDATE: AclOperation.ALTER,
    Action.DELETE: AclOperation.DELETE,
    Action.GET: AclOperation.DESCRIBE,
    Action.LIST: AclOperation.DESCRIBE,
}
"""The operation that a request of a RocketMQ client needs in place of an action, for bindings."""

_SHOWN: Final[Mapping[Action, tuple[AclOperation, ...]]] = {
    Action.UPDATE: (AclOperation.ALTER, AclOperation.ALTER_CONFIGS),
    Action.GET: (AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS),
    Action.LIST: (),
}
"""Operations as which an action is shown, if not as that of `OPERATIONS`."""


class Binding(NamedTuple):
    """An operation that a user is allowed or denied on a resource, from a host, or from any (`ANY_HOST`)."""

    username: str
    resource: Resource
    host: str
    operation: AclOperation
    decision: Decision


def bindings_of(username: str, entry: PolicyEntry) -> Iterator[Binding]:
    """Yield the bindings that an entry stands for."""
    named = (operation for action in entry.actions for operation in _shown(action, entry.resource))
    for operation in dict.fromkeys((*entry.operations, *named)):
        for host in entry.source_ips or (ANY_HOST,):
            yield Binding(username, entry.resource, host, operation, entry.decision)


def policy_with(bindings: Iterable[Binding]) -> BindingPolicy:
    """Return the policy of a user that has these bindings."""
    return BindingPolicy(
        PolicyEntry(
            one.resource,
            (),
            one.decision,
            () if one.host == ANY_HOST else (one.host,),
            (one.operation,),
        )
        for one in bindings
    )


def _shown(action: Action, resource: Resource) -> tuple[AclOperation, ...]:
    if action is Action.UPDATE and resource.type is ResourceType.CLUSTER:
        return AclOperation.ALTER, AclOperation.ALTER_CONFIGS, AclOperation.CLUSTER_ACTION
    found = _SHOWN.get(action)
    if found is not None:
        return found
    operation = OPERATIONS.get(action)
    return () if operation is None else (operation,)
