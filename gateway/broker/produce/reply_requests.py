"""324 SEND_REPLY_MESSAGE and 325 SEND_REPLY_MESSAGE_V2.

RocketMQ: `ReplyMessageProcessor`.
"""

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from mqgateway.engine.message import (
    PROPERTY_MSG_REGION,
    PROPERTY_TRACE_SWITCH,
)
from mqgateway.gateway.broker.operations import Operations, Permit, ReplyNotTaken, ReplyOutcome, Use
from mqgateway.gateway.broker.produce.requests import new_message
from mqgateway.gateway.broker.translated import Translated
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.headers import SendMessageRequestHeader
from mqgateway.gateway.remoting.call import Call, Reply


def send_reply(operations: Operations, permit: Permit, call: Call) -> Reply | Deferred[Reply]:
    """324 and 325: answered when the requester has accepted the reply."""
    header = call.header
    assert isinstance(header, SendMessageRequestHeader)
    try:
        taken = operations.produce.reply(permit, new_message(header, call))
    except ReplyNotTaken as error:
        return _not_taken(error)
    return taken.addCallbacks(_taken, _failed)


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
    """Return the fields of a stored reply's position; empty if it is not stored."""
    stored = outcome.stored
    if stored is None:
        return {}
    return {
        "msgId": stored.message_id,
        "queueId": str(outcome.queue_id),
        "queueOffset": str(stored.queue_offset),
    }


REQUESTS: dict[int, Translated] = {
    RequestCode.SEND_REPLY_MESSAGE: Translated(send_reply, Use.REPLY),
    RequestCode.SEND_REPLY_MESSAGE_V2: Translated(send_reply, Use.REPLY),
}
