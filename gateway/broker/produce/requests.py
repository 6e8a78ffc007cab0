"""10 SEND_MESSAGE, 310 SEND_MESSAGE_V2, 320 SEND_BATCH_MESSAGE, 36 CONSUMER_SEND_MSG_BACK; timers.

The three codes of sends share one header; its field `batch` marks a batch, not the code. Of timers, 370
RECALL_MESSAGE recalls one, 60 and 61 return their progress, 5001 switches their engine. RocketMQ:
`SendMessageProcessor`, `RecallMessageProcessor`, `AdminBrokerProcessor`.
"""

from collections.abc import Generator
from typing import Final

from twisted.internet.defer import Deferred

from mqgateway.engine.message import PROPERTY_MSG_REGION, PROPERTY_TRACE_SWITCH, parse_properties
from mqgateway.engine.store.message_store import PutStatus
from mqgateway.gateway.broker.operations import (
    NewMessage,
    Operations,
    Permit,
    RecallOutcome,
    SendBack,
    SendOutcome,
    Use,
)
from mqgateway.gateway.broker.translated import Translated
from mqgateway.gateway.codec.codes import V3_4_9, RequestCode, ResponseCode
from mqgateway.gateway.codec.headers import (
    ConsumerSendMsgBackRequestHeader,
    RecallMessageRequestHeader,
    RecallMessageResponseHeader,
    SendMessageRequestHeader,
)
from mqgateway.gateway.remoting.call import Call, Reply
from mqgateway.gateway.remoting.dispatch import Served
from mqgateway.gateway.runtime.outcomes import then, then_in_steps

_PUT_OK: Final = PutStatus.PUT_OK  # a look-up in an enumeration costs more than the rest of a check
LESS_SAFE: Final[dict[PutStatus, int]] = {
    PutStatus.FLUSH_DISK_TIMEOUT: ResponseCode.FLUSH_DISK_TIMEOUT,
    PutStatus.FLUSH_SLAVE_TIMEOUT: ResponseCode.FLUSH_SLAVE_TIMEOUT,
    PutStatus.SLAVE_NOT_AVAILABLE: ResponseCode.SLAVE_NOT_AVAILABLE,
}
"""Response codes of messages that are stored, but less durably than configured."""

ENGINE_FIELD: Final = "E_T"


def send_message(operations: Operations, permit: Permit, call: Call) -> Served:
    """Answer 10, 310 and 320 when the message is as durable as configured."""
    header = call.header
    assert isinstance(header, SendMessageRequestHeader)
    outcome = operations.produce.sending(
        permit, new_message(header, call), is_batch=bool(header.batch), is_mapped=header.lo is not False
    )
    if isinstance(outcome, SendOutcome):
        return sent(outcome)
    return then_in_steps(outcome, sent) if isinstance(outcome, Generator) else then(outcome, sent)


def new_message(header: SendMessageRequestHeader, call: Call) -> NewMessage:
    """Return the message, or the batch, that a header describes."""
    max_reconsume_times = header.max_reconsume_times
    if max_reconsume_times is not None and call.command.version < V3_4_9:  # the field had no meaning yet
        max_reconsume_times = None
    properties = header.properties
    return NewMessage(
        header.topic,
        call.body,
        header.born_timestamp,
        parse_properties(properties) if properties else {},
        header.queue_id,
        header.sys_flag,
        header.flag,
        header.reconsume_times,
        header.producer_group,
        header.default_topic,
        header.default_topic_queue_nums,
        bool(header.unit_mode),
        max_reconsume_times,
    )


def sent(outcome: SendOutcome) -> Reply:
    """Return the answer to a send. Its fields are written as text: a typed header costs two microseconds."""
    status = outcome.status
    fields = {
        "msgId": outcome.message_id,
        "queueId": str(outcome.queue_id),
        "queueOffset": str(outcome.queue_offset),
        PROPERTY_MSG_REGION: outcome.region_id,
        PROPERTY_TRACE_SWITCH: "true" if outcome.is_traced else "false",
    }
    if outcome.transaction_id is not None:
        fields["transactionId"] = outcome.transaction_id
    if outcome.recall_handle is not None:
        fields["recallHandle"] = outcome.recall_handle
    if outcome.batch_id is not None:
        fields["batchUniqId"] = outcome.batch_id
    return Reply(0 if status is _PUT_OK else LESS_SAFE[status], ext=fields)


def send_back(operations: Operations, permit: Permit, call: Call) -> Reply | Deferred[Reply]:
    """36: store a message again that a consumer sent back."""
    header = call.header
    assert isinstance(header, ConsumerSendMsgBackRequestHeader)
    turns = header.max_reconsume_times if call.command.version >= V3_4_9 else None
    key = header.origin_msg_id or ""
    request = SendBack(header.group, header.offset, header.delay_level, turns, header.unit_mode, key)
    waiting = operations.produce.send_back(permit, request, call.may_use)
    return Reply() if waiting is None else waiting.addCallback(lambda _: Reply())


def recall_message(operations: Operations, permit: Permit, call: Call) -> Reply | Deferred[Reply]:
    """370: recall a timer."""
    header = call.header
    assert isinstance(header, RecallMessageRequestHeader)
    outcome = operations.produce.recall(permit, header.topic, header.recall_handle, header.producer_group)
    return then(outcome, _recalled)


def _recalled(outcome: RecallOutcome) -> Reply:
    header = RecallMessageResponseHeader(msg_id=outcome.message_id)
    return Reply(header=header, ext={PROPERTY_MSG_REGION: outcome.region_id})


def check_point(operations: Operations, permit: Permit, call: Call) -> Reply:
    """60 GET_TIMER_CHECK_POINT."""
    return Reply(body=operations.produce.timer_checkpoint(permit))


def metrics(operations: Operations, permit: Permit, call: Call) -> Reply:
    """61 GET_TIMER_METRICS."""
    return Reply(body=operations.produce.timer_metrics(permit))


def switch_engine(operations: Operations, permit: Permit, call: Call) -> Reply:
    """5001 SWITCH_TIMER_ENGINE."""
    fields = call.command.ext_fields
    operations.produce.switch_timer_engine(permit, fields.get(ENGINE_FIELD, "") if fields else None)
    return Reply(remark="switch timer engine success")


_SEND: Final = Translated(send_message, Use.SEND)

REQUESTS: Final[dict[int, Translated]] = {
    RequestCode.SEND_MESSAGE: _SEND,
    RequestCode.SEND_MESSAGE_V2: _SEND,
    RequestCode.SEND_BATCH_MESSAGE: _SEND,
    RequestCode.CONSUMER_SEND_MSG_BACK: Translated(send_back, Use.SEND_BACK),
    RequestCode.RECALL_MESSAGE: Translated(recall_message, Use.RECALL),
    RequestCode.GET_TIMER_CHECK_POINT: Translated(check_point, Use.QUERY),
    RequestCode.GET_TIMER_METRICS: Translated(metrics, Use.QUERY),
    RequestCode.SWITCH_TIMER_ENGINE: Translated(switch_engine, Use.CONFIGURE),
}
"""Requests by code; replies are in `reply_requests`."""
