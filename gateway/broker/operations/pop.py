"""Popped messages: received, acknowledged, hidden for longer, dead-lettered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from twisted.internet.defer import Deferred

from mqgateway.engine.pop import OrderKey, Receipt
from mqgateway.engine.pop.names import REVIVE_GROUP
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.expansion import unique_key
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.lite.pop import PopLiteOutcome, ReceiveLite, pop_lite
from mqgateway.gateway.broker.operations.gate import Gate, Permit
from mqgateway.gateway.broker.operations.uses import Use
from mqgateway.gateway.broker.pop import acks, questions
from mqgateway.gateway.broker.pop.pop import PopOutcome, pop
from mqgateway.gateway.broker.pop.reading import Receive
from mqgateway.gateway.broker.produce.send_back import SendBack, send_back
from mqgateway.gateway.broker.receipts import Delivery

DEAD = -1
"""The delay level of a message that becomes a dead letter."""

_RECEIVE: Final = Use.RECEIVE
_RECEIVE_LITE: Final = Use.RECEIVE_LITE
_QUERY: Final = Use.QUERY
_ACKNOWLEDGE: Final = Use.ACKNOWLEDGE
_CHANGE_INVISIBLE_TIME: Final = Use.CHANGE_INVISIBLE_TIME
_DEAD_LETTER: Final = Use.DEAD_LETTER


class PopFigures(NamedTuple):
    """Figures of POP: requests that wait, and queues with messages in flight, in order or not.

    Without `is_revived` (`timerWheelEnable`) messages that are not acknowledged do not come back.
    """

    waiting_pops: int
    waiting_notifications: int
    queues_in_flight: int
    queues_in_order: int
    is_revived: bool


class RevivalProgress(NamedTuple):
    """The progress of a revive queue.

    `checkpoints` counts those that are not due yet, `lag` the records that are not processed; `age` is the
    age of the first of these in ms, 0 if there are none.
    """

    queue_id: int
    checkpoints: int
    lag: int
    age: int


class Pop:
    """Deliveries of one broker."""

    def __init__(self, broker: Broker, gate: Gate) -> None:
        self._broker = broker
        self._gate = gate

    def receive(self, permit: Permit, wanted: Receive) -> PopOutcome | Deferred[PopOutcome]:
        """Deliver messages, or wait for them; cancel the Deferred to end the wait.

        A `Deferred` that is cancelled takes nothing. Raises `OperationError`, and fails with it.
        """
        self._gate.enter(permit, _RECEIVE)
        return self._gate.leave(pop(self._broker, wanted, permit.connection))

    def receive_lite(self, permit: Permit, wanted: ReceiveLite) -> PopLiteOutcome | Deferred[PopLiteOutcome]:
        """Deliver messages of the lite topics that a client subscribes to; see `receive`."""
        self._gate.enter(permit, _RECEIVE, _RECEIVE_LITE)
        return self._gate.leave(pop_lite(self._broker, wanted, permit.connection))

    def peek(
        self, permit: Permit, wanted: questions.Peek
    ) -> questions.PeekOutcome | Deferred[questions.PeekOutcome]:
        """Return messages that `receive` would deliver. Raises `OperationError`, and fails with it."""
        self._gate.enter(permit, _QUERY)
        return questions.peek(self._broker, wanted, permit.connection)

    def watch(
        self, permit: Permit, wanted: questions.Watch
    ) -> questions.NotificationOutcome | Deferred[questions.NotificationOutcome]:
        """Return whether `receive` would deliver messages, or wait until it would; see `receive`."""
        self._gate.enter(permit, _QUERY)
        return questions.notification(self._broker, wanted, permit.connection)

    def waiting(self, permit: Permit, group: str, topic: str, queue_id: int) -> int:
        """Return how many requests wait for messages of a queue, or of any (-1). Raises `OperationError`."""
        self._gate.enter(permit, _QUERY)
        return questions.polling_info(self._broker, topic, group, queue_id, permit.connection)

    def figures(self) -> PopFigures:
        """Return the figures of POP."""
        state = self._broker.pop
        return PopFigures(
            len(state.parked),
            len(state.parked_notifications),
            len(state.log.in_flight),
            len(state.orders),
            self._broker.timers.is_enabled,
        )

    def revival(self) -> list[RevivalProgress]:
        """Return the progress of each revive queue."""
        broker = self._broker
        topic, store, now = broker.pop.log.topic, broker.store, broker.store.steady.now()
        found = []
        for queue_id, checkpoints in enumerate(broker.pop.log.open_points):
            done = broker.tables.offsets.query(REVIVE_GROUP, topic, queue_id)
            lag = max(0, store.max_offset(topic, queue_id) - 1 - done)
            first = store.store_time(topic, queue_id, done + 1) if lag else -1
            found.append(RevivalProgress(queue_id, checkpoints, lag, 0 if first < 0 else max(0, now - first)))
        return found

    def in_flight(self) -> dict[OrderKey, int]:
        """Return the queues of groups that have messages in flight, with their number."""
        return {OrderKey(*key): count for key, count in self._broker.pop.log.in_flight.items()}

    def waiting_pops(self) -> dict[OrderKey, int]:
        """Return the queues of groups for which pops wait, with their number; queue -1 is any queue."""
        return {
            OrderKey(key.topic, key.group, key.queue_id): count
            for key, count in self._broker.pop.parked.counts()
        }

    def acknowledge(self, permit: Permit, delivery: Delivery) -> Deferred[None] | None:
        """Record that a message was consumed. Raises `OperationError`.

        The permit may be of a request whose messages the front end disposes of: one that receives them, and
        drops what the subscription does not match, or one that dead-letters them.
        """
        self._gate.enter(permit, _ACKNOWLEDGE, _RECEIVE, _DEAD_LETTER)
        return self._gate.leave(acks.acknowledge(self._broker, delivery, permit.connection))

    def acknowledging(
        self, permit: Permit, given: Iterable[acks.CheckpointAcks]
    ) -> Steps[Deferred[None] | None]:
        """Record that messages of several deliveries were consumed, a delivery a step.

        The front end runs the steps. If some receipts are not current, the others count, and the whole is
        refused. Raises `OperationError`, and fails with it.
        """
        self._gate.enter(permit, _ACKNOWLEDGE)
        return acks.acknowledge_batch(self._broker, given, permit.connection)

    def change_invisible_time(
        self, permit: Permit, delivery: Delivery, millis: int, *, is_suspended: bool = False
    ) -> Receipt | Deferred[Receipt | None] | None:
        """Hide a message for so long from now on, and return its new receipt; None if it was not stored.

        Suspended, the delivery does not count. Raises `OperationError`.
        """
        self._gate.enter(permit, _CHANGE_INVISIBLE_TIME)
        changed = acks.change_invisible_time(
            self._broker, delivery, millis, permit.connection, is_suspended=is_suspended
        )
        return self._gate.leave(changed)

    def check_receipt(self, permit: Permit, delivery: Delivery) -> None:
        """Refuse a receipt that is not current. Raises `OperationError`."""
        self._gate.enter(permit, _DEAD_LETTER)
        acks.check_receipt(self._broker, delivery)

    def dead_letter(
        self, permit: Permit, group: str, topic: str, log_offset: int, queue_id: int, offset: int
    ) -> Deferred[None] | None:
        """Store the message at an offset of the log, which must be of a topic, as a dead letter of a group.

        Queue and offset in it tell messages of one batch apart.

        Raises `OperationError`.
        """
        self._gate.enter(permit, _DEAD_LETTER, _RECEIVE)
        request = SendBack(group, log_offset, DEAD, 0, key=unique_key(topic, queue_id, offset))
        return self._gate.leave(send_back(self._broker, request, lambda stored: stored == topic))
