"""Popped messages: received, acknowledged, hidden for longer, dead-lettered."""

from __future__ import annotations

from collections.abc import Iterable

from twisted.internet.defer import Deferred

from mqgateway.engine.pop import Receipt
from mqgateway.engine.steps import Steps
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.lite.pop import PopLiteOutcome, ReceiveLite, pop_lite
from mqgateway.gateway.broker.operations.gate import Gate, Permit, Use
from mqgateway.gateway.broker.pop import acks, questions
from mqgateway.gateway.broker.pop.pop import PopOutcome, pop
from mqgateway.gateway.broker.pop.reading import Receive
from mqgateway.gateway.broker.produce.send_back import SendBack, send_back
from mqgateway.gateway.broker.receipts import Delivery

DEAD = -1
"""The delay level of a message that becomes a dead letter."""


class Pop:
    """Deliveries of one broker."""

    def __init__(self, broker: Broker, gate: Gate) -> None:
        self._broker = broker
        self._gate = gate

    def receive(self, permit: Permit, wanted: Receive) -> PopOutcome | Deferred[PopOutcome]:
        """Deliver messages, or wait for them; cancel the Deferred to end the wait.

        A `Deferred` that is cancelled takes nothing. Raises `OperationError`, and fails with it.
        """
        self._gate.enter(permit, Use.RECEIVE)
        return self._gate.leave(pop(self._broker, wanted, permit.connection))

    def receive_lite(self, permit: Permit, wanted: ReceiveLite) -> PopLiteOutcome | Deferred[PopLiteOutcome]:
        """Deliver messages of the lite topics that a client subscribes to; see `receive`."""
        self._gate.enter(permit, Use.RECEIVE, Use.RECEIVE_LITE)
        return self._gate.leave(pop_lite(self._broker, wanted, permit.connection))

    def peek(
        self, permit: Permit, wanted: questions.Peek
    ) -> questions.PeekOutcome | Deferred[questions.PeekOutcome]:
        """Return messages that `receive` would deliver. Raises `OperationError`, and fails with it."""
        self._gate.enter(permit, Use.QUERY)
        return questions.peek(self._broker, wanted, permit.connection)

    def watch(
        self, permit: Permit, wanted: questions.Watch
    ) -> questions.NotificationOutcome | Deferred[questions.NotificationOutcome]:
        """Return whether `receive` would deliver messages, or wait until it would; see `receive`."""
        self._gate.enter(permit, Use.QUERY)
        return questions.notification(self._broker, wanted, permit.connection)

    def waiting(self, permit: Permit, group: str, topic: str, queue_id: int) -> int:
        """Return how many requests wait for messages of a queue, or of any (-1). Raises `OperationError`."""
        self._gate.enter(permit, Use.QUERY)
        return questions.polling_info(self._broker, topic, group, queue_id, permit.connection)

    def acknowledge(self, permit: Permit, delivery: Delivery) -> Deferred[None] | None:
        """Record that a message was consumed. Raises `OperationError`.

        The permit may be of a request whose messages the front end disposes of: one that receives them, and
        drops what the subscription does not match, or one that dead-letters them.
        """
        self._gate.enter(permit, Use.ACKNOWLEDGE, Use.RECEIVE, Use.DEAD_LETTER)
        return self._gate.leave(acks.acknowledge(self._broker, delivery, permit.connection))

    def acknowledging(self, permit: Permit, given: Iterable[acks.BatchAck]) -> Steps[Deferred[None] | None]:
        """Record that messages of several deliveries were consumed, a delivery a step.

        The front end runs the steps. If some receipts are not current, the others count, and the whole is
        refused. Raises `OperationError`, and fails with it.
        """
        self._gate.enter(permit, Use.ACKNOWLEDGE)
        return acks.acknowledge_batch(self._broker, given, permit.connection)

    def change_invisible_time(
        self, permit: Permit, delivery: Delivery, millis: int, *, is_suspended: bool = False
    ) -> Receipt | Deferred[Receipt] | None:
        """Hide a message for so long from now on, and return its new receipt; None if it was not stored.

        Suspended, the delivery does not count. Raises `OperationError`.
        """
        self._gate.enter(permit, Use.CHANGE_INVISIBLE_TIME)
        changed = acks.change_invisible_time(
            self._broker, delivery, millis, permit.connection, is_suspended=is_suspended
        )
        return self._gate.leave(changed)

    def check_receipt(self, permit: Permit, delivery: Delivery) -> None:
        """Refuse a receipt that is not current. Raises `OperationError`."""
        self._gate.enter(permit, Use.DEAD_LETTER)
        acks.check_receipt(self._broker, delivery)

    def dead_letter(self, permit: Permit, group: str, topic: str, log_offset: int) -> Deferred[None] | None:
        """Store the message at an offset of the log, which must be of a topic, as a dead letter of a group.

        Raises `OperationError`.
        """
        self._gate.enter(permit, Use.DEAD_LETTER, Use.RECEIVE)
        request = SendBack(group, log_offset, DEAD, 0)
        return self._gate.leave(send_back(self._broker, request, lambda stored: stored == topic))
