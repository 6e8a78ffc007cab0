"""Replies, delivered to the client that sent the request.

The requester put its client id into its message, and the responder copies it into the reply. `send_reply`
finds the requester's connection among the producers, pushes the reply, and is done when the requester has
accepted it. With `storeReplyMessageEnable` the reply is also stored, whatever the outcome. The client matches
replies with requests and limits its wait, by the properties CORRELATION_ID and TTL. RocketMQ:
`ReplyMessageProcessor`.
"""

import logging
from random import random
from typing import NamedTuple

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine.message import (
    PROPERTY_PUSH_REPLY_TIME,
    PROPERTY_REPLY_TO_CLIENT,
    Message,
    SysFlag,
)
from mqgateway.engine.store.message_store import PutStatus
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.clients.outgoing import PushedReply
from mqgateway.gateway.broker.connection import ClientConnection
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.new_message import NewMessage
from mqgateway.gateway.broker.produce.send_checks import checked_topic

log = logging.getLogger(__name__)

STORED_FLAGS = SysFlag.COMPRESSED | SysFlag.COMPRESSION_TYPE_MASK
"""Flags of a reply that describe its body's encoding; the others are meaningless in a stored reply."""


class StoredReply(NamedTuple):
    """Id and queue offset of a stored reply."""

    message_id: str
    queue_offset: int


class ReplyOutcome(NamedTuple):
    """Result of a reply, without whether the requester accepted it; `stored` is None if it is not stored."""

    queue_id: int
    stored: StoredReply | None
    region_id: str
    is_traced: bool


class ReplyNotTaken(OperationError):
    """The requester did not receive the reply, which may be stored all the same."""

    def __init__(self, message: str, outcome: ReplyOutcome) -> None:
        super().__init__(Reason.SYSTEM_ERROR, message)
        self.outcome = outcome


def send_reply(
    broker: Broker, reply: NewMessage, connection: ClientConnection, now: int
) -> Deferred[ReplyOutcome]:
    """Push a reply to the client that waits for it. `now` is the wall time in ms.

    Raises `OperationError`, and `ReplyNotTaken`, with which the Deferred may fail too.
    """
    known = broker.tables.topics.get(reply.topic)
    topic_config = checked_topic(broker, reply, known, connection, now)
    queue_id = reply.queue_id
    if queue_id < 0:
        queue_id = int(random() * topic_config.write_queue_nums)
    properties, options = reply.properties, broker.options
    message = _message(broker, reply, queue_id, connection)
    stored = _store(broker, message) if options.store_reply_message_enable else None
    outcome = ReplyOutcome(queue_id, stored, options.region_id, options.trace_on)
    requester_id = properties.get(PROPERTY_REPLY_TO_CLIENT)
    if requester_id is None:
        raise ReplyNotTaken(f"reply message properties[{PROPERTY_REPLY_TO_CLIENT}] is null", outcome)
    requester = broker.clients.producer(requester_id)
    if requester is None:
        raise ReplyNotTaken(f"push reply message fail, channel of <{requester_id}> not found.", outcome)

    def lost(failure: Failure) -> ReplyOutcome:
        log.warning("a reply could not be delivered to %s: %s", requester, failure.value)
        raise ReplyNotTaken(f"push reply message to {requester_id}fail.", outcome)

    properties[PROPERTY_PUSH_REPLY_TIME] = str(now)
    pushed = PushedReply(reply, connection.address, broker.store_host, now)
    return requester.outgoing.push_reply(pushed).addCallbacks(lambda _: outcome, lost)


def _message(broker: Broker, reply: NewMessage, queue_id: int, connection: ClientConnection) -> Message:
    return Message(
        reply.topic,
        queue_id,
        reply.body,
        dict(reply.properties),
        reply.born_timestamp,
        connection.host_bytes,
        broker.store_host,
        reply.flag,
        reply.sys_flag & STORED_FLAGS,
        reply.reconsume_times,
    )


def _store(broker: Broker, message: Message) -> StoredReply | None:
    """Store the reply; return its position. A failure is only logged: the reply is pushed anyway."""
    result = broker.store.put(message)
    if result.status is not PutStatus.PUT_OK:
        log.warning("a reply is not stored: %s %s", result.status.name, result.remark)
        return None
    broker.stats.put(message.topic, result.count, result.end_offset - result.physical_offset)
    return StoredReply(result.message_id, result.queue_offset)
