"""AckMessage, ChangeInvisibleDuration, ForwardMessageToDeadLetterQueue: what became of received messages.

Standard: the activities of the same names, `ConsumerProcessor`, `ProducerProcessor`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, maybeDeferred
from twisted.python.failure import Failure

from mqgateway.engine.pop import Receipt
from mqgateway.gateway.broker.operations import (
    Delivery,
    OperationError,
    Operations,
    Permit,
    Reason,
    Use,
)
from mqgateway.gateway.grpc import v2
from mqgateway.gateway.grpc.service.caller import CallConnection
from mqgateway.gateway.grpc.service.handles import Handle, Handles
from mqgateway.gateway.grpc.service.names import (
    check_invisible_time,
    checked_group,
    checked_topic,
    millis_of,
)
from mqgateway.gateway.grpc.service.renewals import Key, Received, Renewals
from mqgateway.gateway.grpc.service.sessions import ClientSession, ClientSessions
from mqgateway.gateway.grpc.service.status import (
    OK,
    CallRefused,
    Code,
    refused_by_proxy,
    status,
    status_of,
    status_of_all,
    status_of_failure,
)
from mqgateway.gateway.runtime.outcomes import gathered, then


def delivery_of(handle: Handle, topic: str, group: str, lite_topic: str | None) -> Delivery:
    """Return the delivery that a handle is of, to a group from a topic."""
    stored = handle.topic(topic, group)
    return Delivery(group, stored, handle.queue_id, handle.pop_text, handle.offset, lite_topic)


class Acknowledger:
    """Answers for one broker."""

    def __init__(self, operations: Operations, handles: Handles, sessions: ClientSessions) -> None:
        self._gate, self._pop = operations.gate, operations.pop
        self._options, self._steady = operations.options, operations.steady
        self._handles = handles
        self._sessions = sessions
        self.renewals = Renewals(operations, self._renew)

    def acknowledge(
        self, request: v2.AckMessageRequest, caller: CallConnection, permit: Permit
    ) -> v2.AckMessageResponse | Deferred[v2.AckMessageResponse]:
        """Messages were consumed; each has a result of its own."""
        topic, group = checked_topic(request.topic), checked_group(request.group)
        session = self._sessions.get(caller.client_id)
        results = [self._result(session, topic, group, entry, permit) for entry in request.entries]
        return then(gathered(results), _acknowledged)

    def _result(
        self, session: ClientSession | None, topic: str, group: str, entry: v2.AckMessageEntry, permit: Permit
    ) -> v2.AckMessageResultEntry | Deferred[v2.AckMessageResultEntry]:
        def result(status: v2.Status) -> v2.AckMessageResultEntry:
            return v2.AckMessageResultEntry(
                message_id=entry.message_id, receipt_handle=entry.receipt_handle, status=status
            )

        lite_topic = entry.lite_topic or None
        try:
            handle = self._current(session, topic, group, entry.message_id, entry.receipt_handle)
            done = then(handle, lambda one: self._done(one, topic, group, lite_topic, permit))
        except Exception as error:
            return result(status_of(error))
        return then(done, lambda _: result(OK), lambda failure: result(status_of_failure(failure)))

    def _current(
        self, session: ClientSession | None, topic: str, group: str, message_id: str, text: str
    ) -> Handle | Deferred[Handle]:
        """Return the handle that counts for the one a client has; raises `CallRefused` for one that does
        not."""
        given = self._handles.read(text, topic, group)

        def checked(handle: Handle) -> Handle:
            self._handles.check_current(handle, self._steady.now())
            return handle

        return then(self.renewals.take(session, Key(group, message_id, text), given), checked)

    def _done(
        self, handle: Handle, topic: str, group: str, lite_topic: str | None, permit: Permit
    ) -> Deferred[None] | None:
        return self._pop.acknowledge(permit, delivery_of(handle, topic, group, lite_topic))

    def change(
        self, request: v2.ChangeInvisibleDurationRequest, caller: CallConnection, permit: Permit
    ) -> v2.ChangeInvisibleDurationResponse | Deferred[v2.ChangeInvisibleDurationResponse]:
        """Have a message come again at another time."""
        topic, group = checked_topic(request.topic), checked_group(request.group)
        millis = millis_of(request.invisible_duration)
        check_invisible_time(millis, 0, self._options)
        session = self._sessions.get(caller.client_id)
        lite_topic, suspend = request.lite_topic or None, request.suspend
        current = self._current(session, topic, group, request.message_id, request.receipt_handle)

        def change(handle: Handle) -> Handle | Deferred[Handle]:
            return self._hide(permit, handle, topic, group, millis, lite_topic, suspend=suspend)

        def changed(handle: Handle) -> v2.ChangeInvisibleDurationResponse:
            text = self._handles.text(handle, topic, group)
            return v2.ChangeInvisibleDurationResponse(status=OK, receipt_handle=text)

        return _both(current, change, changed)

    def _hide(
        self,
        permit: Permit,
        handle: Handle,
        topic: str,
        group: str,
        millis: int,
        lite_topic: str | None,
        *,
        suspend: bool = False,
    ) -> Handle | Deferred[Handle]:
        """Make a message invisible for so long: its handle from now on."""

        def changed(receipt: Receipt | None) -> Handle:
            if receipt is None:
                raise CallRefused(
                    Code.INTERNAL_SERVER_ERROR, "changeInvisibleDuration failed: status is abnormal"
                )
            return handle._replace(receipt=receipt)

        delivery = delivery_of(handle, topic, group, lite_topic)
        outcome: Any = self._pop.change_invisible_time(permit, delivery, millis, is_suspended=suspend)
        hidden: Handle | Deferred[Handle] = then(outcome, changed)
        return hidden

    def redeliver(self, handle: Handle, topic: str, group: str, lite_topic: str | None) -> None:
        """Have a received message come again soon, as its client could not be given it."""
        millis = self._options.invisible_time_millis_when_clear
        permit = self._gate.internal(Use.CHANGE_INVISIBLE_TIME)
        hidden = maybeDeferred(self._hide, permit, handle, topic, group, millis, lite_topic)
        hidden.addErrback(_ignored)

    def _renew(self, received: Received, millis: int) -> Handle | Deferred[Handle]:
        permit = self._gate.internal(Use.CHANGE_INVISIBLE_TIME)
        return self._hide(
            permit, received.handle, received.topic, received.group, millis, received.lite_topic
        )

    def forward(
        self, request: v2.ForwardMessageToDeadLetterQueueRequest, caller: CallConnection, permit: Permit
    ) -> v2.ForwardMessageToDeadLetterQueueResponse | Deferred[v2.ForwardMessageToDeadLetterQueueResponse]:
        """Move a message to the dead letters."""
        topic, group = checked_topic(request.topic), checked_group(request.group)
        session = self._sessions.get(caller.client_id)
        given = self._handles.read(request.receipt_handle, topic, group)
        key = Key(group, request.message_id, request.receipt_handle)
        current = self.renewals.take(session, key, given)
        lite_topic = request.lite_topic or None

        def forward(handle: Handle) -> Deferred[None] | None:
            self._handles.check_current(handle, self._steady.now())
            self._pop.check_receipt(permit, delivery_of(handle, topic, group, lite_topic))
            return self.dead_letter(permit, handle, topic, group, lite_topic)

        return _both(
            current,
            forward,
            lambda _: v2.ForwardMessageToDeadLetterQueueResponse(status=status(Code.OK, "0")),
        )

    def dead_letter(
        self, permit: Permit, handle: Handle, topic: str, group: str, lite_topic: str | None
    ) -> Deferred[None] | None:
        """Move a message to its group's DLQ and acknowledge it. Raises `CallRefused`, `OperationError`."""
        if handle.log_offset < 0:
            raise refused_by_proxy(Code.INVALID_RECEIPT_HANDLE, "commit log offset is empty")
        try:
            place = handle.log_offset, handle.queue_id, handle.offset
            stored = self._pop.dead_letter(permit, group, handle.topic(topic, group), *place)
        except OperationError as error:
            if error.reason is not Reason.NO_PERMISSION:
                raise
            raise refused_by_proxy(Code.INVALID_RECEIPT_HANDLE, error.message) from None
        self.consumed(permit, handle, topic, group, lite_topic)
        return stored

    def consumed(
        self, permit: Permit, handle: Handle, topic: str, group: str, lite_topic: str | None
    ) -> None:
        """Acknowledge a message that its client does not get, or gave up."""
        done = maybeDeferred(self._done, handle, topic, group, lite_topic, permit)
        done.addErrback(_ignored)


A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")


def _both(
    first: A | Deferred[A], second: Callable[[A], B | Deferred[B]], third: Callable[[B], C]
) -> C | Deferred[C]:
    """Two things done one after the other, each of which may wait, and what is made of the outcome."""
    return then(then(first, second), third)


def _acknowledged(entries: list[v2.AckMessageResultEntry]) -> v2.AckMessageResponse:
    top = status_of_all([entry.status for entry in entries], "ack message result is empty")
    return v2.AckMessageResponse(status=top, entries=entries)


def _ignored(failure: Failure) -> None:
    """Do nothing: it comes again when its time is over."""
