"""Kafka's operations on resources, and which of them imply others.

Standard: `AclOperation`, `StandardAuthorizerData`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final


class AclOperation(StrEnum):
    """Operation on a resource, by the word for it in an entry of a policy."""

    ALL = "All"
    READ = "Read"
    WRITE = "Write"
    CREATE = "Create"
    DELETE = "Delete"
    ALTER = "Alter"
    DESCRIBE = "Describe"
    CLUSTER_ACTION = "ClusterAction"
    DESCRIBE_CONFIGS = "DescribeConfigs"
    ALTER_CONFIGS = "AlterConfigs"
    IDEMPOTENT_WRITE = "IdempotentWrite"
    CREATE_TOKENS = "CreateTokens"
    DESCRIBE_TOKENS = "DescribeTokens"
    TWO_PHASE_COMMIT = "TwoPhaseCommit"


_IMPLYING: Final[Mapping[AclOperation, frozenset[AclOperation]]] = {
    AclOperation.DESCRIBE: frozenset(
        {AclOperation.READ, AclOperation.WRITE, AclOperation.DELETE, AclOperation.ALTER}
    ),
    AclOperation.DESCRIBE_CONFIGS: frozenset({AclOperation.ALTER_CONFIGS}),
}


def allows(operations: Iterable[AclOperation], operation: AclOperation) -> bool:
    """Return True if a binding that allows `operations` allows this one: it names or implies it."""
    implying = _IMPLYING.get(operation, frozenset())
    return any(one is operation or one is AclOperation.ALL or one in implying for one in operations)


def denies(operations: Iterable[AclOperation], operation: AclOperation) -> bool:
    """Return True if a binding that denies `operations` denies this one: only one that names it does."""
    return any(one is operation or one is AclOperation.ALL for one in operations)
