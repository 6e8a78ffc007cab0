"""324 SEND_REPLY_MESSAGE and 325 SEND_REPLY_MESSAGE_V2: brings a reply to the client that asked.

The requester put its client id into its message, and whoever answers puts it into the reply. `send_reply`
finds the requester's connection among the producers, hands the reply over (326 PUSH_REPLY_MESSAGE_TO_CLIENT)
and answers when the requester has taken it. With `storeReplyMessageEnable` the reply is stored, too, whatever
becomes of it. Matching replies with requests and waiting no longer than wanted is the client's business, by
the properties CORRELATION_ID and TTL. Standard: `ReplyMessageProcessor`.
"""

import logging
from random import random

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine.message import (
    PROPERTY_MSG_REGION,
    PROPERTY_PUSH_REPLY_TIME,
    PROPERTY_REPLY_TO_CLIENT,
    PROPERTY_TRACE_SWITCH,
    Message,
    SysFlag,
    format_properties,
    parse_properties,
    unpack_host,
)
from mqgateway.engine.store.message_store import PutStatus
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.produce.send_checks import checked_topic
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import ReplyMessageRequestHeader, SendMessageRequestHeader
from mqgateway.gateway.remoting.call import Call, Reply

log = logging.getLogger(__name__)

REQUESTER_ANSWER_SECONDS = 10.0
STORED_FLAGS = SysFlag.COMPRESSED | SysFlag.COMPRESSION_TYPE_MASK
"""What of a reply's flags says how to read its body; the others make no sense in a stored reply."""


def send_reply(broker: Broker, call: Call) -> Reply | Deferred[Reply]:
    """Hand a reply over to the client that waits for it."""
    header = call.header
    assert isinstance(header, SendMessageRequestHeader)
    topic_config = checked_topic(broker, call, header)
    queue_id = header.queue_id
    if queue_id < 0:
        queue_id = int(random() * topic_config.write_queue_nums)
    properties = parse_properties(header.properties) if header.properties else {}
    options = broker.options
    fields = {
        PROPERTY_MSG_REGION: options.region_id,
        PROPERTY_TRACE_SWITCH: "true" if options.trace_on else "false",
    }
    place = (
        _store(broker, call, header, queue_id, dict(properties)) if options.store_reply_message_enable else {}
    )
    requester_id = properties.get(PROPERTY_REPLY_TO_CLIENT)
    if requester_id is None:
        return _failed(f"reply message properties[{PROPERTY_REPLY_TO_CLIENT}] is null", fields | place)
    requester = broker.clients.producer(requester_id)
    if requester is None:
        remark = f"push reply message fail, channel of <{requester_id}> not found."
        return _failed(remark, fields | place)
    nowhere = {"msgId": "0", "queueId": str(queue_id), "queueOffset": "0"}

    def pushed(answer: RemotingCommand) -> Reply:
        if answer.code == ResponseCode.SUCCESS:
            return Reply(ext=fields | (place or nowhere))
        log.warning("%s did not take a reply: %d %s", requester, answer.code, answer.remark)
        return _failed(f"push reply message to {requester_id}fail.", fields | place)

    def lost(failure: Failure) -> Reply:
        log.warning("a reply could not be brought to %s: %s", requester, failure.value)
        return _failed(f"push reply message to {requester_id}fail.", fields | place)

    command = _push(broker, call, header, properties)
    return requester.peer.request(command, REQUESTER_ANSWER_SECONDS).addCallbacks(pushed, lost)


def _failed(remark: str, fields: dict[str, str]) -> Reply:
    return Reply(ResponseCode.SYSTEM_ERROR, remark=remark, ext=fields)


def _push(
    broker: Broker, call: Call, header: SendMessageRequestHeader, properties: dict[str, str]
) -> RemotingCommand:
    """What the requester is sent: the reply, and where it came from and by way of whom."""
    properties[PROPERTY_PUSH_REPLY_TIME] = str(call.now)
    ip, port = unpack_host(broker.store_host)
    question = ReplyMessageRequestHeader(
        producer_group=header.producer_group,
        topic=header.topic,
        default_topic=header.default_topic,
        default_topic_queue_nums=header.default_topic_queue_nums,
        queue_id=header.queue_id,
        sys_flag=header.sys_flag,
        born_timestamp=header.born_timestamp,
        flag=header.flag,
        properties=format_properties(properties),
        reconsume_times=header.reconsume_times,
        unit_mode=bool(header.unit_mode),
        born_host=call.peer.address,
        store_host=f"{ip}:{port}",
        store_timestamp=call.now,
    )
    return RemotingCommand.request(RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, question, call.body)


def _store(
    broker: Broker, call: Call, header: SendMessageRequestHeader, queue_id: int, properties: dict[str, str]
) -> dict[str, str]:
    """Store the reply; the fields that say where it lies. A failure is only logged: the reply goes out."""
    message = Message(
        header.topic,
        queue_id,
        call.body,
        properties,
        header.born_timestamp,
        call.peer.host_bytes,
        broker.store_host,
        header.flag,
        header.sys_flag & STORED_FLAGS,
        header.reconsume_times or 0,
    )
    result = broker.store.put(message)
    if result.status is not PutStatus.PUT_OK:
        log.warning("a reply is not stored: %s %s", result.status.name, result.remark)
        return {}
    broker.stats.put(header.topic, result.count, result.end_offset - result.physical_offset)
    return {
        "msgId": result.message_id,
        "queueId": str(queue_id),
        "queueOffset": str(result.queue_offset),
    }
