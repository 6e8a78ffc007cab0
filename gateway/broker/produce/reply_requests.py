"""324 SEND_REPLY_MESSAGE and 325 SEND_REPLY_MESSAGE_V2; 326 PUSH_REPLY_MESSAGE_TO_CLIENT for the requester.

Standard: `ReplyMessageProcessor`.
"""

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine.message import (
    PROPERTY_MSG_REGION,
    PROPERTY_TRACE_SWITCH,
    format_properties,
    unpack_host,
)
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.clients.table import Client
from mqgateway.gateway.broker.needs import Needs, Request
from mqgateway.gateway.broker.produce import reply
from mqgateway.gateway.broker.produce.reply import PushedReply, ReplyNotTaken, ReplyOutcome
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import ReplyMessageRequestHeader, SendMessageRequestHeader
from mqgateway.gateway.remoting.call import Call, Reply, RequestError

REQUESTER_ANSWER_SECONDS = 10.0


def send_reply(broker: Broker, call: Call) -> Reply | Deferred[Reply]:
    """324 and 325: answered when the requester has taken the reply."""
    header = call.header
    assert isinstance(header, SendMessageRequestHeader)
    try:
        taken = reply.send_reply(broker, header, call.body, call.peer, call.now, push)
    except ReplyNotTaken as error:
        return _not_taken(error)
    return taken.addCallbacks(_taken, _failed)


def push(requester: Client, pushed: PushedReply) -> Deferred[None]:
    """326: hand a reply over; fails where the requester does not answer, or with `RequestError`."""
    request = pushed.request
    ip, port = unpack_host(pushed.store_host)
    question = ReplyMessageRequestHeader(
        producer_group=request.producer_group,
        topic=request.topic,
        default_topic=request.default_topic,
        default_topic_queue_nums=request.default_topic_queue_nums,
        queue_id=request.queue_id,
        sys_flag=request.sys_flag,
        born_timestamp=request.born_timestamp,
        flag=request.flag,
        properties=format_properties(pushed.properties),
        reconsume_times=request.reconsume_times,
        unit_mode=bool(request.unit_mode),
        born_host=pushed.born_address,
        store_host=f"{ip}:{port}",
        store_timestamp=pushed.store_timestamp,
    )
    command = RemotingCommand.request(RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, question, pushed.body)
    return requester.peer.request(command, REQUESTER_ANSWER_SECONDS).addCallback(_accepted)


def _accepted(answer: RemotingCommand) -> None:
    if answer.code != ResponseCode.SUCCESS:
        raise RequestError(answer.code, f"it answers {answer.code} {answer.remark}")


def _taken(outcome: ReplyOutcome) -> Reply:
    nowhere = {"msgId": "0", "queueId": str(outcome.queue_id), "queueOffset": "0"}
    return Reply(ext=_fields(outcome) | (_place(outcome) or nowhere))


def _failed(failure: Failure) -> Reply | Failure:
    error = failure.value
    return _not_taken(error) if isinstance(error, ReplyNotTaken) else failure


def _not_taken(error: ReplyNotTaken) -> Reply:
    fields = _fields(error.outcome) | _place(error.outcome)
    return Reply(ResponseCode.SYSTEM_ERROR, remark=error.message, ext=fields)


def _fields(outcome: ReplyOutcome) -> dict[str, str]:
    return {
        PROPERTY_MSG_REGION: outcome.region_id,
        PROPERTY_TRACE_SWITCH: "true" if outcome.is_traced else "false",
    }


def _place(outcome: ReplyOutcome) -> dict[str, str]:
    """The fields that say where a reply lies; none where it is not stored."""
    stored = outcome.stored
    if stored is None:
        return {}
    return {
        "msgId": stored.message_id,
        "queueId": str(outcome.queue_id),
        "queueOffset": str(stored.queue_offset),
    }


REQUESTS: dict[int, Request] = {
    RequestCode.SEND_REPLY_MESSAGE: Request(send_reply, Needs.NOT_FENCED),
    RequestCode.SEND_REPLY_MESSAGE_V2: Request(send_reply, Needs.NOT_FENCED),
}
