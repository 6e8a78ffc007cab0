"""Clients of a protocol that has no heartbeats of RocketMQ's own: members of groups, lite subscriptions."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from twisted.internet.defer import Deferred

from mqgateway.engine.steps import run
from mqgateway.gateway.broker.admin import consumers
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.clients import heartbeats
from mqgateway.gateway.broker.clients.outgoing import ClientAnswer
from mqgateway.gateway.broker.clients.table import Client
from mqgateway.gateway.broker.connection import ClientConnection
from mqgateway.gateway.broker.lite.state import LiteClient
from mqgateway.gateway.broker.lite.subscriptions import SubscriptionChange, change_subscriptions
from mqgateway.gateway.broker.operations.gate import Gate, Permit, Use
from mqgateway.gateway.codec.bodies.heartbeat import HeartbeatData


class Clients:
    """Clients of one broker. A client has a `ClientConnection` of its own, which may outlive its requests."""

    def __init__(self, broker: Broker, gate: Gate) -> None:
        self._broker = broker
        self._gate = gate

    def register(
        self,
        permit: Permit,
        connection: ClientConnection,
        heartbeat: HeartbeatData,
        new_client: Callable[[str], Client],
    ) -> None:
        """Make a client a member of its groups, or renew that it is. Raises `OperationError`."""
        self._gate.enter(permit, Use.CONNECT)
        run(heartbeats.heart_beat(self._broker, connection, heartbeat, new_client))

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
