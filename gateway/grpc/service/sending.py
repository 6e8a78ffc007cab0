"""SendMessage and RecallMessage.

The broker chooses the queue. For a message with a group it is chosen by a consistent hash of the group, so
that all messages of one group are in one queue. RocketMQ: `SendMessageActivity`, `ProducerProcessor`,
`RecallMessageActivity`.
"""

from __future__ import annotations

from functools import partial
from typing import Final, NamedTuple

from twisted.internet.defer import Deferred

from mqgateway.engine.errors import MessageIllegal
from mqgateway.engine.lite.names import bucket
from mqgateway.engine.message import (
    DLQ_PREFIX,
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_LITE_TOPIC,
    PROPERTY_RECONSUME_TIME,
    PROPERTY_SHARDING_KEY,
    PROPERTY_TRANSFER_FLAG,
    RETRY_PREFIX,
    SysFlag,
)
from mqgateway.engine.store.results import PutStatus
from mqgateway.engine.tables.topics import PERM_WRITE, TopicConfig
from mqgateway.engine.timers.messages import RecallHandle
from mqgateway.gateway.broker.operations import (
    ANY_QUEUE,
    NewMessage,
    Operations,
    Permit,
    SendOutcome,
    Sent,
)
from mqgateway.gateway.grpc import v2
from mqgateway.gateway.grpc.service import bodies
from mqgateway.gateway.grpc.service.caller import CallConnection
from mqgateway.gateway.grpc.service.names import checked_topic
from mqgateway.gateway.grpc.service.properties import (
    PROPERTY_BORN_TIMESTAMP,
    SendContext,
    message_type_of,
    stored_properties,
)
from mqgateway.gateway.grpc.service.routes import MIXED, type_of
from mqgateway.gateway.grpc.service.status import (
    OK,
    CallRefused,
    Code,
    refused_by_proxy,
    status,
    topic_not_found,
)
from mqgateway.gateway.grpc.service.transactions import TransactionEnds
from mqgateway.gateway.runtime.outcomes import then

_LESS_SAFE: Final[dict[PutStatus, tuple[v2.Code, str]]] = {
    PutStatus.FLUSH_DISK_TIMEOUT: (Code.MASTER_PERSISTENCE_TIMEOUT, "FLUSH_DISK_TIMEOUT"),
    PutStatus.FLUSH_SLAVE_TIMEOUT: (Code.SLAVE_PERSISTENCE_TIMEOUT, "FLUSH_SLAVE_TIMEOUT"),
    PutStatus.SLAVE_NOT_AVAILABLE: (Code.HA_NOT_AVAILABLE, "SLAVE_NOT_AVAILABLE"),
}
"""Codes for messages that are stored less safely than configured."""


class CheckedMessage(NamedTuple):
    """A checked message: its properties, its body as it is stored, and the bits of its system flag."""

    message_id: str
    properties: dict[str, str]
    body: bytes
    sys_flag: int


class Senders:
    """Stores messages for one broker."""

    def __init__(self, operations: Operations, transactions: TransactionEnds) -> None:
        self._operations = operations
        self._produce = operations.produce
        self._transactions = transactions

    def send(
        self, request: v2.SendMessageRequest, caller: CallConnection, permit: Permit
    ) -> v2.SendMessageResponse | Deferred[v2.SendMessageResponse]:
        """Store one message, or several of one topic together."""
        if not request.messages:
            raise CallRefused(Code.MESSAGE_CORRUPTED, "no message to send")
        first = request.messages[0]
        topic = checked_topic(first.topic)
        now = permit.now
        prepared = [self._prepared(first, caller, now)]
        for message in request.messages[1:]:
            if message.topic != first.topic:
                raise CallRefused(Code.MESSAGE_CORRUPTED, "topic in message is not same")
            prepared.append(self._prepared(message, caller, now))
        config = self._writable(topic, prepared[0])
        sent = self._store(topic, config, prepared, permit)
        return then(sent, partial(self._answer, prepared))

    def recall(
        self, request: v2.RecallMessageRequest, caller: CallConnection, permit: Permit
    ) -> v2.RecallMessageResponse | Deferred[v2.RecallMessageResponse]:
        """Delete a message that is not due yet."""
        topic = checked_topic(request.topic)
        config = self._operations.topics.get(topic)
        if config is None:
            raise topic_not_found(topic)
        if self._operations.options.enable_topic_message_type_check:
            _check_type(type_of(config), "DELAY")
        try:
            RecallHandle.decode(request.recall_handle)
        except MessageIllegal as error:
            raise refused_by_proxy(Code.INTERNAL_SERVER_ERROR, str(error)) from None
        recalled = self._produce.recall(permit, topic, request.recall_handle)
        return then(
            recalled,
            lambda outcome: v2.RecallMessageResponse(status=OK, message_id=outcome.message_id),
        )

    def _prepared(self, message: v2.Message, caller: CallConnection, now: int) -> CheckedMessage:
        """Check a message and return it prepared. Raises `CallRefused`."""
        options, body = self._operations.options, message.body
        if not body and options.enable_message_body_empty_check:
            raise CallRefused(Code.MESSAGE_BODY_EMPTY, "message body cannot be empty")
        most = self._operations.store_options.max_message_size
        if len(body) > most > 0:
            raise CallRefused(Code.MESSAGE_BODY_TOO_LARGE, f"message body cannot exceed the max {most}")
        levels: tuple[int, ...] = ()
        if options.use_delay_level:
            levels = self._operations.topics.delays()
        sending = SendContext(now, caller.address, levels)
        properties = stored_properties(message, options, sending)
        system = message.system_properties
        if options.check_body_digest:
            bodies.check_digest(body, system.body_digest)
        stored, sys_flag = bodies.as_stored(body, system.body_encoding, options.max_inflated_body)
        if system.message_type == v2.MessageType.TRANSACTION:
            sys_flag |= SysFlag.TRANSACTION_PREPARED
        return CheckedMessage(system.message_id, properties, stored, sys_flag)

    def _writable(self, topic: str, message: CheckedMessage) -> TopicConfig:
        """Return the topic, if a message of this type may be sent to it. Raises `CallRefused`."""
        config = self._operations.topics.get(topic)
        if config is None:
            raise topic_not_found(topic)
        is_checked = (
            self._operations.options.enable_topic_message_type_check
            and PROPERTY_TRANSFER_FLAG not in message.properties
            and not topic.startswith((RETRY_PREFIX, DLQ_PREFIX))
        )
        if is_checked:
            _check_type(type_of(config), v2.MessageType.Name(message_type_of(message.properties)))
        if not config.perm & self._operations.options.broker_permission & PERM_WRITE:
            raise refused_by_proxy(Code.FORBIDDEN, "no writable queue")
        return config

    def _store(self, topic: str, config: TopicConfig, messages: list[CheckedMessage], permit: Permit) -> Sent:
        if len(messages) > 1:
            for message in messages:
                if PROPERTY_DELAY_TIME_LEVEL in message.properties:
                    raise CallRefused(Code.MESSAGE_CORRUPTED, "messages with a delay level go by themselves")
            return self._produce.send_batch(permit, [_new(topic, message) for message in messages])
        new = _new(topic, messages[0])
        new.queue_id = _queue_of(new.properties, config.write_queue_nums)
        if topic.startswith(RETRY_PREFIX):
            new.reconsume_times = int(new.properties.pop(PROPERTY_RECONSUME_TIME))
        return self._produce.send(permit, new)

    def _answer(self, messages: list[CheckedMessage], outcome: SendOutcome) -> v2.SendMessageResponse:
        if outcome.status is not PutStatus.PUT_OK:
            code, name = _LESS_SAFE[outcome.status]
            why = status(code, f"send message failed, sendStatus={name}")
            return v2.SendMessageResponse(status=status(code), entries=[v2.SendResultEntry(status=why)])
        first = messages[0]
        if len(messages) == 1 and first.sys_flag & SysFlag.TRANSACTION_MASK:
            self._transactions.prepared(first.message_id, outcome)
        entry = v2.SendResultEntry(
            status=OK,
            message_id=",".join([message.message_id for message in messages]),
            transaction_id=outcome.transaction_id,
            offset=outcome.queue_offset,
            recall_handle=outcome.recall_handle,
        )
        return v2.SendMessageResponse(status=OK, entries=[entry])


def _check_type(expected: str, actual: str) -> None:
    """Refuse a message of another type than its topic has. RocketMQ: `DefaultTopicMessageTypeValidator`."""
    if expected not in (MIXED, actual):
        raise refused_by_proxy(
            Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE,
            f"TopicMessageType validate failed, the expected type is {expected}, but actual type is {actual}",
        )


def _queue_of(properties: dict[str, str], queues: int) -> int:
    """Return the queue of a message with a group or a lite topic; for other messages the broker chooses."""
    key = properties.get(PROPERTY_SHARDING_KEY) or properties.get(PROPERTY_LITE_TOPIC)
    return bucket(key, queues) if key else ANY_QUEUE


def _new(topic: str, message: CheckedMessage) -> NewMessage:
    return NewMessage(
        topic,
        message.body,
        int(message.properties[PROPERTY_BORN_TIMESTAMP]),
        message.properties,
        sys_flag=message.sys_flag,
        producer_group=topic,
    )
