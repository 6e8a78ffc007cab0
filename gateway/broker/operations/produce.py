"""Sends and recalls of messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from twisted.internet.defer import Deferred

from mqgateway.engine.message import NAME_VALUE_SEPARATOR, PROPERTY_SEPARATOR, properties_text
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.operations.gate import Gate, Permit, Runner, Use
from mqgateway.gateway.broker.operations.messages import ANY_QUEUE, NewMessage
from mqgateway.gateway.broker.produce import timers
from mqgateway.gateway.broker.produce.send import SendOutcome, Sent
from mqgateway.gateway.broker.produce.timers import RecallOutcome
from mqgateway.gateway.broker.static_topics.messages import send
from mqgateway.gateway.codec.batches import PROPERTIES_MAX, encode_element

LANE = "send"
"""Large batches are prepared one after another."""


@dataclass(slots=True)
class _Request:
    """A `MessageRequest`: a new message, or several together, as sends read them."""

    topic: str
    queue_id: int
    born_timestamp: int
    properties: dict[str, str]
    sys_flag: int
    flag: int
    reconsume_times: int
    producer_group: str
    batch: bool
    default_topic: str = ""
    default_topic_queue_nums: int = 0
    unit_mode: bool = False
    max_reconsume_times: int | None = None


class Produce:
    """Sends to one broker, to topics whose queues are its own or are mapped (static topics)."""

    def __init__(self, broker: Broker, gate: Gate, runner: Runner) -> None:
        self._broker = broker
        self._gate = gate
        self._runner = runner

    def send(self, permit: Permit, message: NewMessage) -> Sent:
        """Store a message; the outcome is there when it is as durable as configured. Raises `OperationError`.

        Properties without a name or a value are not stored.
        """
        self._gate.enter(permit, Use.SEND)
        return self._put(permit, _request(message, message.queue_id), message.body)

    def send_batch(self, permit: Permit, messages: Sequence[NewMessage]) -> Sent:
        """Store several messages of one topic together, in a queue that the broker chooses.

        The first message also names what a batch has once: its time of birth, flags and properties. A large
        batch is prepared as a cooperative task. Raises `OperationError`.
        """
        self._gate.enter(permit, Use.SEND)
        request = _request(messages[0], ANY_QUEUE, is_batch=True)
        return self._put(permit, request, b"".join(map(_element, messages)))

    def recall(
        self, permit: Permit, topic: str, recall_handle: str, producer_group: str | None = None
    ) -> RecallOutcome | Deferred[RecallOutcome]:
        """Delete a timer that is not due yet. Raises `OperationError`."""
        self._gate.enter(permit, Use.RECALL)
        outcome = timers.recall(
            self._broker, topic, recall_handle, producer_group, permit.connection, permit.now
        )
        return self._gate.leave(outcome)

    def _put(self, permit: Permit, request: _Request, body: bytes) -> Sent:
        outcome = send(self._broker, request, body, permit.connection, permit.now)
        if not isinstance(outcome, SendOutcome | Deferred):
            outcome = self._runner.run(LANE, outcome)
        return self._gate.leave(outcome)


def _request(message: NewMessage, queue_id: int, *, is_batch: bool = False) -> _Request:
    return _Request(
        message.topic,
        queue_id,
        message.born_timestamp,
        _checked(message.properties),
        message.sys_flag,
        message.flag,
        message.reconsume_times,
        message.producer_group,
        is_batch,
    )


def _checked(properties: dict[str, str]) -> dict[str, str]:
    """Return the properties that a record can hold. Raises `OperationError` for one that would be several."""
    text = "".join(properties) + "".join(properties.values())
    if NAME_VALUE_SEPARATOR in text or PROPERTY_SEPARATOR in text:
        raise OperationError(
            Reason.MESSAGE_ILLEGAL,
            "a property has the character U+0001 or U+0002, which separate properties: remove it",
        )
    return {name: value for name, value in properties.items() if name and value}


def _element(message: NewMessage) -> bytes:
    """Return a message as one of a batch. Raises `OperationError` when its properties are too long."""
    properties = properties_text(message.properties)
    if len(properties) > PROPERTIES_MAX:
        raise OperationError(Reason.PROPERTIES_TOO_LARGE, "the properties of a message are too large")
    return encode_element(message.body, message.flag, properties)
