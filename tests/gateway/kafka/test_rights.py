"""Operations that a client is allowed, as Kafka's bits."""

from __future__ import annotations

from typing import Any

from mqgateway.gateway.access.needs import Need
from mqgateway.gateway.access.operations import AclOperation
from mqgateway.gateway.access.policies import Action, group, topic
from mqgateway.gateway.broker.operations import NotAdmitted, Use
from mqgateway.gateway.kafka.rights import (
    group_bits,
    on_group,
    on_topic,
    on_transactional_id,
    shows_topic,
    topic_bits,
)

READ, WRITE, DELETE, DESCRIBE, DESCRIBE_CONFIGS = 3, 4, 6, 8, 10


class Allowed:
    """A call of a client that is allowed some operations."""

    def __init__(self, *operations: AclOperation) -> None:
        self._operations = operations

    def admit(self, use: Use, *needs: Need) -> None:
        """Raises `NotAdmitted` unless each need has an allowed operation."""
        if not all(need.operation in self._operations for need in needs):
            raise NotAdmitted("no")


def bits(*operations: int) -> int:
    """Return the bits of operations."""
    return sum(1 << operation for operation in operations)


def test_allowed_operations_are_bits() -> None:
    reader: Any = Allowed(AclOperation.READ)
    assert topic_bits(reader, "a") == group_bits(reader, "g") == bits(READ)
    viewer: Any = Allowed(AclOperation.DESCRIBE, AclOperation.DELETE, AclOperation.DESCRIBE_CONFIGS)
    assert topic_bits(viewer, "a") == group_bits(viewer, "g") == bits(DELETE, DESCRIBE, DESCRIBE_CONFIGS)
    writer: Any = Allowed(AclOperation.WRITE)
    assert topic_bits(writer, "a") == bits(WRITE) and group_bits(writer, "g") == 0


def test_a_client_that_may_describe_a_topic_sees_it() -> None:
    viewer: Any = Allowed(AclOperation.DESCRIBE)
    assert shows_topic(viewer, "a")
    stranger: Any = Allowed(AclOperation.CREATE)
    assert not shows_topic(stranger, "a")


def test_needs_name_their_resource_and_the_actions_that_allow_the_operation() -> None:
    assert on_topic("a", AclOperation.WRITE) == Need(topic("a"), (Action.PUB,), AclOperation.WRITE)
    assert on_group("g", AclOperation.READ) == Need(group("g"), (Action.SUB,), AclOperation.READ)
    need = on_transactional_id("my.id", AclOperation.WRITE)
    assert str(need.resource) == "TransactionalId:my%2Eid"
