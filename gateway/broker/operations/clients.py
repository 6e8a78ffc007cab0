"""Clients: members of groups, their queues and locks, lite subscriptions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

from twisted.internet.defer import Deferred

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.steps import Steps, run
from mqgateway.gateway.broker.admin import consumers
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.clients import assignment, heartbeats, locking
from mqgateway.gateway.broker.clients.members import GroupClient
from mqgateway.gateway.broker.clients.outgoing import ClientAnswer
from mqgateway.gateway.broker.connection import ClientConnection
from mqgateway.gateway.broker.lite.state import LiteClient
from mqgateway.gateway.broker.lite.subscriptions import SubscriptionChange, change_subscriptions
from mqgateway.gateway.broker.operations.gate import Gate, Permit
from mqgateway.gateway.broker.operations.uses import Use
from mqgateway.gateway.codec.bodies.heartbeat import HeartbeatData, SubscriptionData
from mqgateway.gateway.codec.bodies.message_queue import MessageQueue


class GroupMember(NamedTuple):
    """A client in a group of producers or of consumers."""

    group: str
    client: GroupClient
    is_consumer: bool


class Consumers(NamedTuple):
    """The connected members of a consumer group, and what their heartbeats brought."""

    clients: list[GroupClient]
    message_model: str
    consume_type: str
    subscriptions: Mapping[str, SubscriptionData]


class ClientOperations:
    """Clients of one broker. A client has a `ClientConnection` of its own, which may outlive its requests."""

    def __init__(self, broker: Broker, gate: Gate) -> None:
        self._broker = broker
        self._gate = gate

    def register(
        self,
        permit: Permit,
        connection: ClientConnection,
        heartbeat: HeartbeatData,
        new_client: Callable[[str], GroupClient],
    ) -> None:
        """Make a client a member of its groups, or renew that it is. Raises `OperationError`."""
        run(self.registering(permit, connection, heartbeat, new_client))

    def registering(
        self,
        permit: Permit,
        connection: ClientConnection,
        heartbeat: HeartbeatData,
        new_client: Callable[[str], GroupClient],
    ) -> Steps[bool | None]:
        """As `register`, a group a step; the front end runs the steps.

        Return True if the client's subscriptions are not known any more and must be sent again, None if the
        connection was lost meanwhile. Raises `OperationError`.
        """
        self._gate.enter(permit, Use.CONNECT)
        return heartbeats.heart_beat(self._broker, connection, heartbeat, new_client)

    def members(self, permit: Permit, group: str) -> list[str]:
        """Return the client ids of a group's consumers. Raises `OperationError` if there are none."""
        self._gate.enter(permit, Use.QUERY)
        return heartbeats.consumer_ids(self._broker, group)

    def all_members(self) -> list[GroupMember]:
        """Return the members of all groups, producers first; a client appears once for each of its groups."""
        table = self._broker.clients
        producers = [
            GroupMember(group, client, is_consumer=False)
            for group, clients in table.producer_groups.items()
            for client in clients.values()
        ]
        return producers + [
            GroupMember(name, client, is_consumer=True)
            for name, group in table.consumer_groups.items()
            for client in group.clients.values()
        ]

    def consumer_groups(self) -> list[str]:
        """Return the consumer groups that have connected members."""
        return list(self._broker.clients.consumer_groups)

    def consumers(self, group: str) -> Consumers | None:
        """Return the connected members of a consumer group, None if there are none."""
        found = self._broker.clients.consumer_group(group)
        if found is None:
            return None
        return Consumers(
            list(found.clients.values()), found.message_model, found.consume_type, dict(found.subscriptions)
        )

    def consumer_count(self, group: str) -> int:
        """Return the number of connected members of a consumer group."""
        found = self._broker.clients.consumer_group(group)
        return 0 if found is None else len(found.clients)

    def has_producers(self, group: str) -> bool:
        """Return True if a member of a producer group is connected."""
        return bool(self._broker.clients.producer_groups.get(group))

    def inconsistent_groups(self) -> list[str]:
        """Return the consumer groups whose members subscribe to different topics or tags, sorted."""
        return sorted(self._broker.clients.inconsistent_groups)

    def is_inconsistent(self, group: str) -> bool:
        """Return True if the members of a consumer group subscribe to different topics or tags."""
        return group in self._broker.clients.inconsistent_groups

    def consumes_in_order(self, group: str) -> bool:
        """Return True if a member of a group has locked a queue, to consume it in order."""
        return self._broker.clients.locks.any_live(group, elapsed_millis(self._broker.clock))

    def check_subscription(self, permit: Permit, subscription: SubscriptionData) -> None:
        """Refuse a subscription that the broker does not understand. Raises `OperationError`."""
        self._gate.enter(permit, Use.QUERY)
        heartbeats.check_subscription(self._broker, subscription)

    def lock_queues(
        self, permit: Permit, group: str, client_id: str, queues: Collection[MessageQueue]
    ) -> set[MessageQueue]:
        """Take or renew locks of queues, and return the queues that the client has now."""
        self._gate.enter(permit, Use.LOCK)
        return locking.lock_queues(self._broker, group, client_id, queues)

    def unlock_queues(
        self, permit: Permit, group: str, client_id: str, queues: Collection[MessageQueue]
    ) -> None:
        """Release the locks that a client has of these queues."""
        self._gate.enter(permit, Use.CONNECT)
        locking.unlock_queues(self._broker, group, client_id, queues)

    def assignment(
        self, permit: Permit, query: assignment.AssignmentQuery
    ) -> Deferred[assignment.Assignment]:
        """Return the queues that the broker assigns to a member. Raises `OperationError`."""
        self._gate.enter(permit, Use.QUERY)
        return assignment.query_assignment(self._broker, query)

    def set_mode(self, permit: Permit, topic: str, group: str, mode: str | None, share: int) -> None:
        """Choose whether a group pulls or pops a topic; see `clients.assignment`. Raises `OperationError`."""
        self._gate.enter(permit, Use.ADMINISTER)
        assignment.set_mode(self._broker, topic, group, mode, share)

    def modes(self, permit: Permit) -> dict[str, Any]:
        """Return the content of messageRequestMode.json."""
        self._gate.enter(permit, Use.QUERY)
        return assignment.all_modes(self._broker)

    def leave_producers(self, permit: Permit, connection: ClientConnection, group: str) -> None:
        """Remove a client from a producer group."""
        self._gate.enter(permit, Use.CONNECT)
        heartbeats.unregister_producer(self._broker, connection, group)

    def leave_consumers(
        self, permit: Permit, connection: ClientConnection, client_id: str, group: str
    ) -> None:
        """Remove a client from a consumer group, and release its queue locks."""
        self._gate.enter(permit, Use.CONNECT)
        heartbeats.unregister_consumer(self._broker, connection, client_id, group)

    def change_lite_subscriptions(
        self, permit: Permit, changes: Iterable[SubscriptionChange], client: LiteClient
    ) -> Deferred[None]:
        """Change the lite topics that a client reads. Fails with `OperationError`."""
        self._gate.enter(permit, Use.CONNECT)
        return change_subscriptions(self._broker, changes, client)

    def running_info(
        self, permit: Permit, group: str, client_id: str, *, with_stacks: bool = False
    ) -> Deferred[ClientAnswer]:
        """Ask a member of a group what it is doing. Raises `OperationError`, and fails with it."""
        self._gate.enter(permit, Use.QUERY)
        return consumers.running_info(self._broker, group, client_id, jstack=with_stacks)
