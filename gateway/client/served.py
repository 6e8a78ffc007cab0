"""What brokers ask of clients.

| code | what                                                                                       |
|------|--------------------------------------------------------------------------------------------|
| 39   | what became of the half message in the body? Answered by a request of ours, later          |
| 40   | the members of a group changed: share the queues anew                                      |
| 220  | consume from other offsets                                                                 |
| 221  | how far are queues consumed?                                                               |
| 307  | what is a consumer doing?                                                                  |
| 309  | consume this message now                                                                   |
| 326  | here is the reply to a request                                                             |

Standard: `ClientRemotingProcessor`.
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


class Asked(Protocol):
    """What brokers can ask about: the client that these functions get as their context."""

    producers: dict[str, ProducerMember]
    consumers: dict[str, ConsumerMember]
    requests: Requests

    def rebalance_soon(self) -> None:
        """Share the queues of all groups anew."""
        ...

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Let something go on by itself."""
        ...


def check_transaction(client: Asked, call: Call) -> Reply:
    """39: the producer of the group is asked, and answers the address that the question came from."""
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


def members_changed(client: Asked, call: Call) -> Reply:
    """40: at once."""
    client.rebalance_soon()
    return NO_REPLY


def reset_offsets(client: Asked, call: Call) -> Reply:
    """220: the consumer stops, and goes on where it is told."""
    header = call.header
    assert isinstance(header, ResetOffsetRequestHeader)
    consumer = client.consumers.get(header.group)
    if consumer is None:
        log.info("offsets of group %s are reset, which is not ours", header.group)
    elif call.body:
        offsets = ResetOffsetBody.decode(call.body).offset_table
        client.spawn(consumer.reset_offsets(header.topic, offsets))
    return NO_REPLY


def consumer_status(client: Asked, call: Call) -> Reply:
    """221: offsets by queue; none of a group that is not ours."""
    header = call.header
    assert isinstance(header, GetConsumerStatusRequestHeader)
    consumer = client.consumers.get(header.group)
    offsets = {} if consumer is None else consumer.consumed(header.topic or None)
    return Reply(body=GetConsumerStatusBody(message_queue_table=offsets).encode())


def running_info(client: Asked, call: Call) -> Deferred[Reply]:
    """307: settings, queues, rates, and if wanted the stacks of all threads."""
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


def consume_directly(client: Asked, call: Call) -> Deferred[Reply]:
    """309: what the listener makes of one message."""
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


def take_reply(client: Asked, call: Call) -> Reply:
    """326: whoever waits for the reply gets it."""
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
