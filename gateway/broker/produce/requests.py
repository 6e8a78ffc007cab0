"""10 SEND_MESSAGE, 310 SEND_MESSAGE_V2, 320 SEND_BATCH_MESSAGE, 36 CONSUMER_SEND_MSG_BACK; timers.

The three codes of sends share one header; what makes a batch is its field `batch`, not the code. Of timers,
370 RECALL_MESSAGE takes one back, 60 and 61 tell how far they have come, 5001 names their engine.
Standard: `SendMessageProcessor`, `RecallMessageProcessor`, `AdminBrokerProcessor`.
"""

from typing import Final

from twisted.internet.defer import Deferred

from mqgateway.engine.message import PROPERTY_MSG_REGION, PROPERTY_TRACE_SWITCH
from mqgateway.engine.store.message_store import PutStatus
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.needs import Needs, Request
from mqgateway.gateway.broker.outcomes import then_in_steps
from mqgateway.gateway.broker.produce import reply_requests, timers
from mqgateway.gateway.broker.produce.send import Send, SendOutcome, send
from mqgateway.gateway.broker.produce.send_back import SendBack
from mqgateway.gateway.broker.produce.send_back import send_back as store_again
from mqgateway.gateway.codec.codes import V3_4_9, RequestCode, ResponseCode
from mqgateway.gateway.codec.headers import (
    ConsumerSendMsgBackRequestHeader,
    RecallMessageRequestHeader,
    RecallMessageResponseHeader,
    SendMessageRequestHeader,
)
from mqgateway.gateway.remoting.call import Call, Reply
from mqgateway.gateway.remoting.dispatch import Served

_PUT_OK: Final = PutStatus.PUT_OK  # a look-up in an enumeration costs more than the rest of a check
LESS_SAFE: Final[dict[PutStatus, int]] = {
    PutStatus.FLUSH_DISK_TIMEOUT: ResponseCode.FLUSH_DISK_TIMEOUT,
    PutStatus.FLUSH_SLAVE_TIMEOUT: ResponseCode.FLUSH_SLAVE_TIMEOUT,
    PutStatus.SLAVE_NOT_AVAILABLE: ResponseCode.SLAVE_NOT_AVAILABLE,
}
"""What is answered when a message is stored, but less safely than configured."""

ENGINE_FIELD: Final = "E_T"


class SendRequests:
    """The requests to send. One that says `lo=false` is for a queue as it lies on this broker; any other is
    served by `operation`.
    """

    def __init__(self, operation: Send) -> None:
        self._send = operation

    def send_message(self, broker: Broker, call: Call) -> Served:
        """10, 310 and 320: answered when the message is as safe as configured."""
        header = call.header
        assert isinstance(header, SendMessageRequestHeader)
        if header.max_reconsume_times is not None and call.command.version < V3_4_9:  # it meant nothing yet
            header.max_reconsume_times = None
        operation = self._send if header.lo is not False else send
        outcome = operation(broker, header, call.body, call.peer, call.now)
        if isinstance(outcome, SendOutcome):
            return sent(outcome)
        return outcome.addCallback(sent) if isinstance(outcome, Deferred) else then_in_steps(outcome, sent)


def sent(outcome: SendOutcome) -> Reply:
    """The answer to a send. Its fields are written as text here: a typed header costs two microseconds."""
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


def send_back(broker: Broker, call: Call) -> Reply | Deferred[Reply]:
    """36: a consumer wants a message again."""
    header = call.header
    assert isinstance(header, ConsumerSendMsgBackRequestHeader)
    turns = header.max_reconsume_times if call.command.version >= V3_4_9 else None
    request = SendBack(header.group, header.offset, header.delay_level, turns, header.unit_mode)
    waiting = store_again(broker, request, call.may_use)
    return Reply() if waiting is None else waiting.addCallback(lambda _: Reply())


def recall_message(broker: Broker, call: Call) -> Reply | Deferred[Reply]:
    """370: take a timer back."""
    header = call.header
    assert isinstance(header, RecallMessageRequestHeader)
    outcome = timers.recall(
        broker, header.topic, header.recall_handle, header.producer_group, call.peer, call.now
    )
    return outcome.addCallback(_recalled) if isinstance(outcome, Deferred) else _recalled(outcome)


def _recalled(outcome: timers.RecallOutcome) -> Reply:
    header = RecallMessageResponseHeader(msg_id=outcome.message_id)
    return Reply(header=header, ext={PROPERTY_MSG_REGION: outcome.region_id})


def check_point(broker: Broker, call: Call) -> Reply:
    """60 GET_TIMER_CHECK_POINT."""
    return Reply(body=timers.check_point(broker))


def metrics(broker: Broker, call: Call) -> Reply:
    """61 GET_TIMER_METRICS."""
    return Reply(body=timers.metrics(broker))


def switch_engine(broker: Broker, call: Call) -> Reply:
    """5001 SWITCH_TIMER_ENGINE."""
    fields = call.command.ext_fields
    timers.switch_engine(broker, fields.get(ENGINE_FIELD, "") if fields else None)
    return Reply(remark="switch timer engine success")


def requests(operation: Send = send) -> dict[int, Request]:
    """The functions by code, with this operation behind sends."""
    send_message = Request(SendRequests(operation).send_message, Needs.MASTER)
    return {
        RequestCode.SEND_MESSAGE: send_message,
        RequestCode.SEND_MESSAGE_V2: send_message,
        RequestCode.SEND_BATCH_MESSAGE: send_message,
        RequestCode.CONSUMER_SEND_MSG_BACK: Request(send_back, Needs.MASTER_OR_OTHER),
        RequestCode.RECALL_MESSAGE: Request(recall_message, Needs.NOT_FENCED),
        RequestCode.GET_TIMER_CHECK_POINT: Request(check_point, Needs.NOTHING),
        RequestCode.GET_TIMER_METRICS: Request(metrics, Needs.NOTHING),
        RequestCode.SWITCH_TIMER_ENGINE: Request(switch_engine, Needs.NOTHING),
        **reply_requests.REQUESTS,
    }
