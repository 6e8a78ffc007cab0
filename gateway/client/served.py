"""Requests that brokers send to clients.

| code | request                                                                                    |
|------|--------------------------------------------------------------------------------------------|
| 39   | check the transaction of the half message in the body; answered later by a request of ours |
| 40   | the members of a group changed: rebalance                                                  |
| 220  | reset consumed offsets                                                                     |
| 221  | query consumed offsets                                                                     |
| 307  | query the state of a consumer                                                              |
| 309  | consume this message now                                                                   |
| 326  | deliver the reply to a request                                                             |

RocketMQ: `ClientRemotingProcessor`.
"""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from collections.abc import Coroutine, Mapping
from typing import Any, Protocol

from twisted.internet.defer import Deferred

from mqgateway.engine.message import PROPERTY_PRODUCER_GROUP
from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.client.members import ConsumerMember, ProducerMember
from mqgateway.gateway.client.reading import read_messages
from mqgateway.gateway.client.requests import Requests
from mqgateway.gateway.codec.bodies import GetConsumerStatusBody, ResetOffsetBody
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.headers import (
    CheckTransactionStateRequestHeader,
    ConsumeMessageDirectlyResultRequestHeader,
    GetConsumerRunningInfoRequestHeader,
    GetConsumerStatusRequestHeader,
    ReplyMessageRequestHeader,
    ResetOffsetRequestHeader,
)
from mqgateway.gateway.remoting.call import NO_REPLY, Call, Reply, RequestError
from mqgateway.gateway.remoting.dispatch import RequestFunction

log = logging.getLogger(__name__)


class ServingClient(Protocol):
    """Interface of the client that these functions get as their context."""

    producers: dict[str, ProducerMember]
    consumers: dict[str, ConsumerMember]
    requests: Requests

    def rebalance_soon(self) -> None:
        """Schedule a rebalance of all groups."""
        ...

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run a coroutine in the background."""
        ...


def check_transaction(client: ServingClient, call: Call) -> Reply:
    """Serve 39: pass the check to the group's producer, which answers to the address of the sender."""
    header = call.header
    assert isinstance(header, CheckTransactionStateRequestHeader)
    for message in read_messages(call.body, header.bname or ""):
        group = message.properties.get(PROPERTY_PRODUCER_GROUP, "")
        producer = client.producers.get(group)
        if producer is None:
            log.info("a transaction of group %r is asked about, which is not ours", group)
        else:
            producer.check_transaction(call.peer.address, message, header)
    return NO_REPLY


def members_changed(client: ServingClient, call: Call) -> Reply:
    """Serve 40: rebalance at once."""
    client.rebalance_soon()
    return NO_REPLY


def reset_offsets(client: ServingClient, call: Call) -> Reply:
    """Serve 220: stop the consumer and continue from the given offsets."""
    header = call.header
    assert isinstance(header, ResetOffsetRequestHeader)
    consumer = client.consumers.get(header.group)
    if consumer is None:
        log.info("offsets of group %s are reset, which is not ours", header.group)
    elif call.body:
        offsets = ResetOffsetBody.decode(call.body).offset_table
        client.spawn(consumer.reset_offsets(header.topic, offsets))
    return NO_REPLY


def consumer_status(client: ServingClient, call: Call) -> Reply:
    """Serve 221: return the offsets by queue; empty for a group that this client does not have."""
    header = call.header
    assert isinstance(header, GetConsumerStatusRequestHeader)
    consumer = client.consumers.get(header.group)
    offsets = {} if consumer is None else consumer.consumed(header.topic or None)
    return Reply(body=GetConsumerStatusBody(message_queue_table=offsets).encode())


def running_info(client: ServingClient, call: Call) -> Deferred[Reply]:
    """Serve 307: return settings, queues, rates, and on request the stacks of all threads."""
    header = call.header
    assert isinstance(header, GetConsumerRunningInfoRequestHeader)

    async def answer() -> Reply:
        consumer = client.consumers.get(header.consumer_group)
        if consumer is None:
            raise _not_ours(header.consumer_group)
        info = await consumer.running_info()
        if header.jstack_enable:
            info.jstack = _stacks()
        return Reply(body=info.encode())

    return Deferred.fromCoroutine(answer())


def consume_directly(client: ServingClient, call: Call) -> Deferred[Reply]:
    """Serve 309: return the listener's outcome for one message."""
    header = call.header
    assert isinstance(header, ConsumeMessageDirectlyResultRequestHeader)

    async def answer() -> Reply:
        consumer = client.consumers.get(header.consumer_group)
        if consumer is None:
            raise _not_ours(header.consumer_group)
        messages = read_messages(call.body, header.broker_name or "")
        if not messages:
            raise RequestError(ResponseCode.SYSTEM_ERROR, "the message cannot be read")
        result = await consumer.consume_directly(messages[0], header.broker_name or "")
        return Reply(body=result.encode())

    return Deferred.fromCoroutine(answer())


def take_reply(client: ServingClient, call: Call) -> Reply:
    """Serve 326: deliver the reply to its pending request."""
    header = call.header
    assert isinstance(header, ReplyMessageRequestHeader)
    try:
        client.requests.take(header, call.body, call.now)
    except ClientError as error:
        log.warning("a reply cannot be read: %s", error)
        raise RequestError(ResponseCode.SYSTEM_ERROR, "process reply message fail") from None
    return Reply()


REQUESTS: Mapping[int, RequestFunction] = {
    RequestCode.CHECK_TRANSACTION_STATE: check_transaction,
    RequestCode.NOTIFY_CONSUMER_IDS_CHANGED: members_changed,
    RequestCode.RESET_CONSUMER_CLIENT_OFFSET: reset_offsets,
    RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT: consumer_status,
    RequestCode.GET_CONSUMER_RUNNING_INFO: running_info,
    RequestCode.CONSUME_MESSAGE_DIRECTLY: consume_directly,
    RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT: take_reply,
}


def _not_ours(group: str) -> RequestError:
    remark = f"The Consumer Group <{group}> not exist in this consumer"
    return RequestError(ResponseCode.SYSTEM_ERROR, remark)


def _stacks() -> str:
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    parts = []
    for number, frame in sys._current_frames().items():
        stack = "".join(traceback.format_stack(frame))
        parts.append(f"{names.get(number, '?')} TID: {number}\n{stack}")
    return "\n".join(parts)
