"""Popped messages: received, acknowledged, hidden for longer, dead-lettered."""

from __future__ import annotations

from dataclasses import dataclass

from twisted.internet.defer import Deferred

from mqgateway.engine.pop import Receipt
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.lite.pop import PopLiteOutcome, pop_lite
from mqgateway.gateway.broker.operations.gate import Gate, Permit, Use
from mqgateway.gateway.broker.parked_pops import ANY_QUEUE
from mqgateway.gateway.broker.pop.acks import acknowledge, change_invisible_time, check_receipt
from mqgateway.gateway.broker.pop.pop import PopOutcome, pop
from mqgateway.gateway.broker.produce.send_back import SendBack, send_back

FROM_THE_LATEST = 1
"""A new group begins at the end of a queue. Source: RocketMQ `ConsumeInitMode.MAX`."""
DEAD = -1
"""The delay level of a message that becomes a dead letter."""


@dataclass(frozen=True, slots=True)
class Receive:
    """A request for messages of a topic, or of the lite topics below it. Times in ms.

    With the `attempt_id` of the last request in order, the same messages are delivered again.
    """

    client_id: str
    group: str
    topic: str
    max_messages: int
    invisible_time: int
    max_wait: int
    expression: str
    expression_type: str
    is_ordered: bool
    attempt_id: str | None


@dataclass(frozen=True, slots=True)
class _Request:
    """A `PopRequest` and a `PopLiteRequest`."""

    client_id: str
    consumer_group: str
    topic: str
    max_msg_nums: int
    invisible_time: int
    poll_time: int
    exp: str
    exp_type: str
    order: bool
    attempt_id: str | None
    queue_id: int = ANY_QUEUE
    init_mode: int = FROM_THE_LATEST
    born_time: int = 0

    @property
    def max_msg_num(self) -> int:
        """The name of the number in a pop of lite topics."""
        return self.max_msg_nums


@dataclass(frozen=True, slots=True)
class Delivery:
    """A delivered message: `topic` is where it is stored, `receipt` the text of its receipt.

    A message of a lite topic names that, and the parent as its `topic`.
    """

    group: str
    topic: str
    queue_id: int
    receipt: str
    offset: int
    lite_topic: str | None


@dataclass(frozen=True, slots=True)
class _OfMessage:
    """An `InvisibleTimeRequest`."""

    consumer_group: str
    topic: str
    queue_id: int
    extra_info: str
    offset: int
    lite_topic: str | None
    invisible_time: int = 0
    suspend: bool = False


class Pop:
    """Deliveries of one broker."""

    def __init__(self, broker: Broker, gate: Gate) -> None:
        self._broker = broker
        self._gate = gate

    def receive(self, permit: Permit, wanted: Receive) -> PopOutcome | Deferred[PopOutcome]:
        """Deliver messages, or wait for them; cancel the Deferred to end the wait. Raises
        `OperationError`."""
        self._gate.enter(permit, Use.RECEIVE)
        return self._gate.leave(pop(self._broker, _request(wanted), permit.connection))

    def receive_lite(self, permit: Permit, wanted: Receive) -> PopLiteOutcome | Deferred[PopLiteOutcome]:
        """Deliver messages of the lite topics that a client subscribes to; see `receive`."""
        self._gate.enter(permit, Use.RECEIVE)
        return self._gate.leave(pop_lite(self._broker, _request(wanted), permit.connection))

    def acknowledge(self, permit: Permit, delivery: Delivery) -> Deferred[None] | None:
        """Record that a message was consumed. Raises `OperationError`.

        The permit may be of a request whose messages the front end disposes of: one that receives them, and
        drops what the subscription does not match, or one that dead-letters them.
        """
        self._gate.enter(permit, Use.ACKNOWLEDGE, Use.RECEIVE, Use.DEAD_LETTER)
        return self._gate.leave(acknowledge(self._broker, _of(delivery), permit.connection))

    def change_invisible_time(
        self, permit: Permit, delivery: Delivery, millis: int, *, is_suspended: bool = False
    ) -> Receipt | Deferred[Receipt] | None:
        """Hide a message for so long from now on, and return its new receipt; None if it was not stored.

        Suspended, the delivery does not count. Raises `OperationError`.
        """
        self._gate.enter(permit, Use.CHANGE_INVISIBLE_TIME)
        request = _of(delivery, millis, is_suspended=is_suspended)
        return self._gate.leave(change_invisible_time(self._broker, request, permit.connection))

    def check_receipt(self, permit: Permit, delivery: Delivery) -> None:
        """Refuse a receipt that is not current. Raises `OperationError`."""
        self._gate.enter(permit, Use.DEAD_LETTER)
        check_receipt(self._broker, _of(delivery))

    def dead_letter(self, permit: Permit, group: str, topic: str, log_offset: int) -> Deferred[None] | None:
        """Store the message at an offset of the log, which must be of a topic, as a dead letter of a group.

        Raises `OperationError`.
        """
        self._gate.enter(permit, Use.DEAD_LETTER, Use.RECEIVE)
        request = SendBack(group, log_offset, DEAD, 0)
        return self._gate.leave(send_back(self._broker, request, lambda stored: stored == topic))


def _request(wanted: Receive) -> _Request:
    return _Request(
        wanted.client_id,
        wanted.group,
        wanted.topic,
        wanted.max_messages,
        wanted.invisible_time,
        wanted.max_wait,
        wanted.expression,
        wanted.expression_type,
        wanted.is_ordered,
        wanted.attempt_id,
    )


def _of(delivery: Delivery, millis: int = 0, *, is_suspended: bool = False) -> _OfMessage:
    return _OfMessage(
        delivery.group,
        delivery.topic,
        delivery.queue_id,
        delivery.receipt,
        delivery.offset,
        delivery.lite_topic,
        millis,
        is_suspended,
    )
