"""ReceiveMessage: a pop whose client waits for it.

It is parked as other pops are, and dropped when the client leaves. Messages that fail the tag filter are
acknowledged; messages that were delivered too often become dead letters. A client without settings, as after
a restart of the broker, is served by those of its group, unless the group reads lite topics. RocketMQ:
`ReceiveMessageActivity`, `ReceiveMessageResponseStreamWriter`, `PopMessageResultFilterImpl`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeVar

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine.errors import FilterError
from mqgateway.engine.filters import SQL92_TYPE, TAG_TYPE, TopicSubscription, compile_subscription
from mqgateway.engine.message import PROPERTY_LITE_TOPIC, PROPERTY_TAGS, StoredMessage
from mqgateway.engine.pop import Receipt, kind_of
from mqgateway.engine.pop.names import MESSAGES_MAX, NORMAL, ORDER_REVIVE_QUEUE
from mqgateway.engine.store.record import decode
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import PERM_READ
from mqgateway.gateway.broker.operations import (
    Operations,
    Permit,
    PollingStatus,
    PopLiteOutcome,
    PopOutcome,
    Receive,
    ReceiveLite,
)
from mqgateway.gateway.grpc import v2
from mqgateway.gateway.grpc.service.acks import Acknowledger
from mqgateway.gateway.grpc.service.caller import CallConnection
from mqgateway.gateway.grpc.service.handles import Handle, Handles
from mqgateway.gateway.grpc.service.names import (
    check_invisible_time,
    checked_group,
    checked_topic,
    millis_of,
    timestamp,
)
from mqgateway.gateway.grpc.service.properties import received_message
from mqgateway.gateway.grpc.service.renewals import Key, Received
from mqgateway.gateway.grpc.service.sessions import ClientSession, no_settings
from mqgateway.gateway.grpc.service.settings import group_of
from mqgateway.gateway.grpc.service.status import (
    OK,
    CallRefused,
    Code,
    refused_by_proxy,
    status,
    status_of,
    topic_not_found,
)
from mqgateway.gateway.runtime.outcomes import pending, then

REQUEST_TIMEOUT = 3000
"""Default time for which clients wait for answers, ms."""
ILLEGAL_POLLING_TIME_SINCE = "5.0.3"
"""The first version whose clients know this code."""
TOGETHER_BYTES = 64 * 1024
"""Answers up to this size in bytes are sent together: fewer frames, and no second copy of all messages."""
TOO_SHORT = "The deadline time remaining is not enough for polling, please check network condition"


class Popped(NamedTuple):
    """One message with its handle, and the number of its earlier deliveries."""

    stored: StoredMessage
    handle: Handle
    times: int


Found = TypeVar("Found", PopOutcome, PopLiteOutcome)


class ReceiveCall(NamedTuple):
    """A request to receive, and its client."""

    session: ClientSession
    caller: CallConnection
    permit: Permit
    group: SubscriptionGroupConfig
    subscription: TopicSubscription
    wanted: Receive
    renews: bool


def subscription_of(topic: str, expression: v2.FilterExpression) -> TopicSubscription:
    """Return the subscription of a filter expression. Raises `FilterError`."""
    kind = SQL92_TYPE if expression.type == v2.FilterType.SQL else TAG_TYPE
    return compile_subscription(topic, expression.expression, kind)


def _of_lites(session: ClientSession, wanted: Receive) -> ReceiveLite:
    return ReceiveLite(
        session.client_id,
        wanted.group,
        wanted.topic,
        wanted.max_messages,
        wanted.invisible_time,
        wanted.max_wait,
        wanted.attempt_id,
    )


class Receivers:
    """Delivers the messages of one broker."""

    def __init__(self, operations: Operations, handles: Handles, acknowledger: Acknowledger) -> None:
        self._operations = operations
        self._handles = handles
        self._acknowledger = acknowledger

    def receive(
        self,
        request: v2.ReceiveMessageRequest,
        session: ClientSession,
        caller: CallConnection,
        permit: Permit,
    ) -> Deferred[None] | None:
        """Answer with messages, or that there are none, as soon as that is known. Raises `CallRefused`."""
        receive = self._checked_call(request, session, caller, permit)
        caller.watch()
        pop = self._operations.pop
        if session.is_lite:
            return self._answer(receive, pop.receive_lite(permit, _of_lites(session, receive.wanted)))
        return self._answer(receive, pop.receive(permit, receive.wanted))

    def _answer(self, receive: ReceiveCall, outcome: Found | Deferred[Found]) -> Deferred[None] | None:
        caller = receive.caller
        waiting = pending(outcome)
        if waiting is not None:
            caller.on_lost(lambda _: waiting.cancel())
        return then(
            outcome, lambda found: self._give(receive, found), lambda failure: _refuse(caller, failure)
        )

    def _checked_call(
        self,
        request: v2.ReceiveMessageRequest,
        session: ClientSession,
        caller: CallConnection,
        permit: Permit,
    ) -> ReceiveCall:
        """Return the request, checked in RocketMQ's order. Raises `Refused`."""
        options = self._operations.options
        group = group_of(self._operations, session.group if session.has_settings else request.group.name)
        if not session.has_settings and self._operations.groups.bound_topic(group.group_name) is not None:
            raise no_settings()
        poll_time = self._poll_time(request, session, caller)
        topic, name = checked_topic(request.message_queue.topic), checked_group(request.group)
        renews = bool(request.auto_renew) and options.enable_proxy_auto_renew
        invisible = options.default_invisible_time_mills
        if not renews:
            invisible = millis_of(request.invisible_duration)
            check_invisible_time(invisible, options.min_invisible_time_mills_for_recv, options)
        try:
            subscription = subscription_of(topic, request.filter_expression)
        except FilterError as error:
            raise CallRefused(Code.ILLEGAL_FILTER_EXPRESSION, str(error)) from None
        self._check_topic(topic)
        if session.is_lite:
            self._check_lite(session)
        most = min(request.batch_size, MESSAGES_MAX)
        if renews:
            most = min(most, self._acknowledger.renewals.room())
            if not most and request.batch_size > 0:
                raise CallRefused(
                    Code.TOO_MANY_REQUESTS,
                    "too many messages are renewed, no more are allowed (maxRenewedMessages)",
                )
        wanted = Receive(
            group=name,
            topic=topic,
            max_messages=most,
            invisible_time=invisible,
            max_wait=poll_time,
            expression_type=subscription.expression_type,
            expression=subscription.sub_string,
            is_ordered=group.consume_message_orderly,
            attempt_id=request.attempt_id if request.HasField("attempt_id") else None,
        )
        return ReceiveCall(session, caller, permit, group, subscription, wanted, renews)

    def _poll_time(
        self, request: v2.ReceiveMessageRequest, session: ClientSession, caller: CallConnection
    ) -> int:
        """Return the time to wait, ms: the client's, limited by its deadline. Raises `CallRefused`."""
        options = self._operations.options
        shortest = options.grpc_client_consumer_min_long_polling_timeout_millis
        longest = options.grpc_client_consumer_max_long_polling_timeout_millis
        remaining = caller.call.remaining()
        left = longest if remaining is None else int(remaining * 1000)
        if request.HasField("long_polling_timeout"):
            wanted = millis_of(request.long_polling_timeout)
        else:
            settings = session.settings
            timeout = millis_of(settings.request_timeout) if session.has_settings else REQUEST_TIMEOUT
            wanted = left - timeout // 2
        poll_time = min(max(wanted, shortest), longest)
        if poll_time <= left:
            return poll_time
        if left >= shortest:
            return left
        knows = caller.version >= ILLEGAL_POLLING_TIME_SINCE
        raise CallRefused(Code.ILLEGAL_POLLING_TIME if knows else Code.BAD_REQUEST, TOO_SHORT)

    def _check_topic(self, topic: str) -> None:
        config = self._operations.topics.get(topic)
        if config is None:
            raise topic_not_found(topic)
        if not config.perm & self._operations.options.broker_permission & PERM_READ:
            raise refused_by_proxy(Code.FORBIDDEN, "no readable queue")

    def _check_lite(self, session: ClientSession) -> None:
        """Refuse a client of lite topics with too many messages that are not acknowledged."""
        if not session.has_stream:
            raise CallRefused(Code.BAD_REQUEST, f"The client [{session.client_id}] is disconnected.")
        count = self._acknowledger.renewals.count(session)
        if count > self._operations.options.max_lite_renew_num_per_channel:
            raise CallRefused(
                Code.FORBIDDEN,
                f"The client [{session.client_id}] has too many unacked messages. Unacked count: {count}",
            )

    def _give(self, receive: ReceiveCall, outcome: PopOutcome | PopLiteOutcome) -> None:
        """Answer with the messages of a pop."""
        caller, call = receive.caller, receive.caller.call
        if outcome.status is PollingStatus.POLLING_FULL:
            end(caller, status(Code.TOO_MANY_REQUESTS, "polling full"), self._operations)
            return
        if not outcome.is_found:
            end(caller, status(Code.MESSAGE_NOT_FOUND, "no new message"), self._operations)
            return
        found = [one for one in self._popped(outcome) if self._is_wanted(receive, one)]
        if not found:
            end(caller, status(Code.MESSAGE_NOT_FOUND, "no match message"), self._operations)
            return
        topic, name = receive.wanted.topic, receive.wanted.group
        if not caller.is_open:
            for one in found:
                self._acknowledger.redeliver(one.handle, topic, name, _lite_topic(one.stored))
            return
        now, inflated_max = self._operations.clock.millis(), self._operations.options.max_inflated_body
        answers, size = [v2.ReceiveMessageResponse(status=OK)], 0
        for one in found:
            text = self._handles.text(one.handle, topic, name)
            message = received_message(
                one.stored, now, inflated_max, handle=text, topic=topic, times_consumed=one.times
            )
            answers.append(v2.ReceiveMessageResponse(message=message))
            size += one.stored.size
            if size > TOGETHER_BYTES:
                call.send(*answers)
                answers, size = [], 0
            if receive.renews:
                self._renew(receive, one, message.system_properties.message_id, text)
        call.send(*answers, _last_answer(self._operations))
        call.finish()

    def _renew(self, receive: ReceiveCall, one: Popped, message_id: str, text: str) -> None:
        wanted = receive.wanted
        received = Received(
            wanted.group,
            wanted.topic,
            one.handle,
            one.times,
            one.handle.receipt.pop_time,
            _lite_topic(one.stored),
        )
        self._acknowledger.renewals.add(receive.session, Key(wanted.group, message_id, text), received)

    def _popped(self, outcome: PopOutcome | PopLiteOutcome) -> Iterator[Popped]:
        """Yield each message of a pop, with its handle."""
        broker_name = self._operations.options.broker_name
        times = outcome.pop_time, outcome.invisible_time
        if isinstance(outcome, PopLiteOutcome):
            for lite in outcome.finds:
                receipt = Receipt(0, *times, ORDER_REVIVE_QUEUE, NORMAL, broker_name)
                for offset, stored in zip(lite.queue_offsets, records_in(lite.body), strict=True):
                    handle = Handle(receipt, 0, offset, stored.physical_offset)
                    yield Popped(stored, handle, lite.counts.get(offset, 0))
            return
        for find in outcome.finds:
            kind = kind_of(find.topic)
            receipt = Receipt(find.start_offset, *times, outcome.revive_queue_id, kind, broker_name)
            for stored in records_in(find.body):
                handle = Handle(receipt, find.queue_id, stored.queue_offset, stored.physical_offset)
                before = stored.reconsume_times
                if find.counts is not None:
                    before = find.counts.get(stored.queue_offset, 0) or before
                yield Popped(stored, handle, before)

    def _is_wanted(self, receive: ReceiveCall, one: Popped) -> bool:
        """Return True if a message is for the client; others are acknowledged or dead-lettered here."""
        topic, name = receive.wanted.topic, receive.wanted.group
        lite_topic = _lite_topic(one.stored)
        if not is_tagged(receive.subscription, one.stored):
            self._acknowledger.consumed(receive.permit, one.handle, topic, name, lite_topic)
            return False
        if one.times > receive.group.retry_max_times:
            try:
                self._acknowledger.dead_letter(receive.permit, one.handle, topic, name, lite_topic)
            except Exception as error:
                status_of(error)  # an unexpected error is logged; the message comes again
            return False
        return True


def is_tagged(subscription: TopicSubscription, stored: StoredMessage) -> bool:
    """Return True if a message has a subscribed tag, of which the store compared only hashes."""
    return not subscription.tags_set or stored.properties.get(PROPERTY_TAGS) in subscription.tags_set


def records_in(body: bytes) -> Iterator[StoredMessage]:
    """Return the messages of consecutive records."""
    at = 0
    while at < len(body):
        stored = decode(body, at)
        at += stored.size
        yield stored


def _lite_topic(stored: StoredMessage) -> str | None:
    return stored.properties.get(PROPERTY_LITE_TOPIC)


def _refuse(caller: CallConnection, failure: Failure) -> Failure | None:
    """Return the failure; None if the client has left."""
    return failure if caller.is_open else None


def end(caller: CallConnection, why: v2.Status, operations: Operations) -> None:
    """Answer with a status and no messages."""
    caller.call.send(v2.ReceiveMessageResponse(status=why), _last_answer(operations))
    caller.call.finish()


def _last_answer(operations: Operations) -> v2.ReceiveMessageResponse:
    """Return the last answer, which has the delivery time of the messages."""
    return v2.ReceiveMessageResponse(delivery_timestamp=timestamp(operations.clock.millis()))
