"""Operations that a client is allowed, as Kafka's bits."""

from __future__ import annotations

from typing import Any

from mqgateway.gateway.access.needs import Need
from mqgateway.gateway.access.policies import Action, group, topic
from mqgateway.gateway.broker.operations import NotAdmitted, Use
from mqgateway.gateway.kafka.rights import group_bits, on_group, on_topic, shows_topic, topic_bits

READ, WRITE, DELETE, DESCRIBE, DESCRIBE_CONFIGS = 3, 4, 6, 8, 10


class Allowed:
    """A call of a client that is allowed some actions."""

    def __init__(self, *actions: Action) -> None:
        self._actions = actions

    def admit(self, use: Use, *needs: Need) -> None:
        """Raises `NotAdmitted` unless each need has an allowed action."""
        for need in needs:
            if not set(need.actions) & set(self._actions):
                raise NotAdmitted("no")


def bits(*operations: int) -> int:
    """Return the bits of operations."""
    return sum(1 << operation for operation in operations)


def test_actions_become_the_operations_of_kafka() -> None:
    reader: Any = Allowed(Action.SUB)
    assert topic_bits(reader, "a") == bits(READ)
    assert group_bits(reader, "g") == bits(READ)
    viewer: Any = Allowed(Action.GET, Action.DELETE)
    assert topic_bits(viewer, "a") == group_bits(viewer, "g") == bits(DELETE, DESCRIBE, DESCRIBE_CONFIGS)
    writer: Any = Allowed(Action.PUB)
    assert topic_bits(writer, "a") == bits(WRITE) and group_bits(writer, "g") == 0


def test_a_client_that_may_read_or_write_a_topic_sees_it() -> None:
    for action in (Action.GET, Action.SUB, Action.PUB):
        call: Any = Allowed(action)
        assert shows_topic(call, "a")
    stranger: Any = Allowed(Action.CREATE)
    assert not shows_topic(stranger, "a")


def test_needs_name_their_resource() -> None:
    assert on_topic("a", Action.PUB) == Need(topic("a"), (Action.PUB,))
    assert on_group("g", Action.SUB) == Need(group("g"), (Action.SUB,))
