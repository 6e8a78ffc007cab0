"""Sends, replies and recalls of messages."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Final

from twisted.internet.defer import Deferred

from mqgateway.engine.message import NAME_VALUE_SEPARATOR, PROPERTY_SEPARATOR, properties_text
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.client_elements import encode_element
from mqgateway.engine.store.record import PROPERTIES_LENGTH_MAX
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.connection import MayUse
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.new_message import NewMessage
from mqgateway.gateway.broker.operations.gate import Gate, Permit, Runner
from mqgateway.gateway.broker.operations.uses import Use
from mqgateway.gateway.broker.produce import timers
from mqgateway.gateway.broker.produce.put import SendOutcome, Sent
from mqgateway.gateway.broker.produce.reply import ReplyOutcome, send_reply
from mqgateway.gateway.broker.produce.send import send as send_here
from mqgateway.gateway.broker.produce.send_back import SendBack, send_back
from mqgateway.gateway.broker.produce.timers import RecallOutcome
from mqgateway.gateway.broker.static_topics.messages import send

_SEND: Final = Use.SEND

LANE: Final = "send"
"""Large batches are prepared one after another."""


class ProduceOperations:
    """Sends to one broker, to topics whose queues are its own or are mapped (static topics)."""

    def __init__(self, broker: Broker, gate: Gate, runner: Runner) -> None:
        self._broker = broker
        self._gate = gate
        self._runner = runner

    def send(self, permit: Permit, message: NewMessage) -> Sent:
        """Store a message; the outcome is there when it is as durable as configured. Raises `OperationError`.

        Properties without a name or a value are not stored.
        """
        self._gate.enter(permit, _SEND)
        message.properties = _checked(message.properties)
        return self._run(send(self._broker, message, permit.connection, permit.now))

    def send_batch(self, permit: Permit, messages: Sequence[NewMessage]) -> Sent:
        """Store several messages of one topic together, in a queue that the broker chooses.

        The first message also names what a batch has once: its time of birth, flags and properties. A large
        batch is prepared as a cooperative task. Raises `OperationError`.
        """
        self._gate.enter(permit, _SEND)
        first = messages[0]
        batch = NewMessage(
            first.topic,
            b"".join(map(_element, messages)),
            first.born_timestamp,
            _checked(first.properties),
            sys_flag=first.sys_flag,
            flag=first.flag,
            reconsume_times=first.reconsume_times if first.is_counted else None,
            producer_group=first.producer_group,
        )
        return self._run(send(self._broker, batch, permit.connection, permit.now, is_batch=True))

    def sending(
        self, permit: Permit, message: NewMessage, *, is_batch: bool = False, is_mapped: bool = True
    ) -> Sent | Steps[Sent]:
        """Store a message whose properties were read from the text of a record, and thus can be stored.

        With `is_batch` its body holds several messages (`client_elements`); a large batch is a cooperative
        task, which the front end runs. Without `is_mapped` the queue is one of this broker, whatever its
        topic is mapped to. Raises `OperationError`, perhaps in a later step.
        """
        gate, broker, connection = self._gate, self._broker, permit.connection
        gate.enter(permit, _SEND)
        if is_mapped:
            return gate.leave(send(broker, message, connection, permit.now, is_batch=is_batch))
        return gate.leave(send_here(broker, message, connection, permit.now, is_batch=is_batch))

    def reply(self, permit: Permit, message: NewMessage) -> Deferred[ReplyOutcome]:
        """Hand a reply over to the client that waits for it; the outcome is there when the client has it.

        Raises `OperationError` and `ReplyNotTaken`, with which the Deferred fails, too.
        """
        self._gate.enter(permit, Use.REPLY)
        return self._gate.leave(send_reply(self._broker, message, permit.connection, permit.now))

    def send_back(
        self, permit: Permit, request: SendBack, may_use: MayUse | None = None
    ) -> Deferred[None] | None:
        """Store a message once more that a consumer could not use, or make it a dead letter.

        `may_use` decides on the record's own topic; None permits every topic. Raises `OperationError`.
        """
        self._gate.enter(permit, Use.SEND_BACK)
        return self._gate.leave(send_back(self._broker, request, may_use))

    def recall(
        self, permit: Permit, topic: str, recall_handle: str, producer_group: str | None = None
    ) -> RecallOutcome | Deferred[RecallOutcome]:
        """Delete a timer that is not due yet. Raises `OperationError`."""
        self._gate.enter(permit, Use.RECALL)
        outcome = timers.recall(
            self._broker, topic, recall_handle, producer_group, permit.connection, permit.now
        )
        return self._gate.leave(outcome)

    def timer_checkpoint(self, permit: Permit) -> bytes:
        """Return the checkpoint of the timers, as their file has it. Raises `OperationError`."""
        self._gate.enter(permit, Use.QUERY)
        return timers.check_point(self._broker)

    def timer_metrics(self, permit: Permit) -> bytes:
        """Return the pending timers by topic, as JSON. Raises `OperationError`."""
        self._gate.enter(permit, Use.QUERY)
        return timers.metrics(self._broker)

    def switch_timer_engine(self, permit: Permit, engine: str | None) -> None:
        """Choose the engine that serves the timers. Raises `OperationError`."""
        self._gate.enter(permit, Use.CONFIGURE)
        timers.switch_engine(self._broker, engine)

    def _run(self, sent: Sent | Steps[Sent]) -> Sent:
        self._gate.leave(sent)
        if isinstance(sent, SendOutcome) or not isinstance(sent, Generator):
            return sent
        return self._gate.leave(self._runner.run(LANE, sent))


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
    if len(properties) > PROPERTIES_LENGTH_MAX:
        raise OperationError(Reason.PROPERTIES_TOO_LARGE, "the properties of a message are too large")
    return encode_element(message.body, message.flag, properties)
