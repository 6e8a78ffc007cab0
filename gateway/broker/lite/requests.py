"""Remoting requests of lite topics: 200070 and 200071; and 200073, which notifies clients of lost topics.

RocketMQ: `PopLiteMessageProcessor`, `LiteSubscriptionCtlProcessor`.
"""

from twisted.internet.defer import Deferred

from mqgateway.engine.lite.subscriptions import Subscriber, SubscriptionStart
from mqgateway.engine.pop import ORDER_REVIVE_QUEUE, message_count_info
from mqgateway.engine.store.message_store import GetStatus
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.lite.state import QUEUE_ID
from mqgateway.gateway.broker.operations import (
    LiteFind,
    LiteTopicChange,
    Operations,
    Permit,
    PopLiteOutcome,
    ReceiveLite,
    SubscriptionChange,
    Use,
)
from mqgateway.gateway.broker.refusals import CODES
from mqgateway.gateway.broker.translated import Translated
from mqgateway.gateway.codec.bodies.lite import LiteSubscription, LiteSubscriptionCtlRequestBody
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import (
    NotifyUnsubscribeLiteRequestHeader,
    PopLiteMessageRequestHeader,
    PopLiteMessageResponseHeader,
)
from mqgateway.gateway.remoting.call import Call, Peer, Reply
from mqgateway.gateway.runtime.outcomes import then

NOTHING_POPPED = PopLiteMessageResponseHeader(pop_time=0, invisible_time=0, revive_qid=0)
"""Header of every refusal."""


def pop_lite_message(operations: Operations, permit: Permit, call: Call) -> Reply | Deferred[Reply]:
    """200070 POP_LITE_MESSAGE."""
    header = call.header
    assert isinstance(header, PopLiteMessageRequestHeader)
    wanted = ReceiveLite(
        header.client_id,
        header.consumer_group,
        header.topic,
        header.max_msg_num,
        header.invisible_time,
        header.poll_time,
        header.attempt_id,
        header.born_time,
    )
    try:
        outcome = operations.pop.receive_lite(permit, wanted)
    except OperationError as error:
        return Reply(CODES[error.reason], NOTHING_POPPED, remark=error.message)
    return then(outcome, _popped)


def _popped(outcome: PopLiteOutcome) -> Reply:
    response = PopLiteMessageResponseHeader(
        pop_time=outcome.pop_time,
        invisible_time=outcome.invisible_time,
        revive_qid=ORDER_REVIVE_QUEUE,
        order_count_info=";".join(map(_order_counts, outcome.finds)),
    )
    if not outcome.is_found:
        code = ResponseCode[outcome.status.name]
        return Reply(code, response, remark=GetStatus.NO_MESSAGE_IN_QUEUE.name)
    body = b"".join([find.body for find in outcome.finds])
    return Reply(ResponseCode.SUCCESS, response, body, GetStatus.FOUND.name)


def _order_counts(find: LiteFind) -> str:
    """Return the delivery count of each message. RocketMQ: `transformOrderCountInfo`."""
    if not find.counts:
        return ";".join("0" for _ in find.queue_offsets)
    return ";".join(message_count_info(find.queue, QUEUE_ID, *count) for count in find.counts.items())


def control(operations: Operations, permit: Permit, call: Call) -> Deferred[Reply]:
    """200071 LITE_SUBSCRIPTION_CTL."""
    if not call.body:
        raise OperationError(Reason.ILLEGAL_OPERATION, "Request body is null.")
    changes = LiteSubscriptionCtlRequestBody.decode(call.body).subscription_set
    if not changes:
        raise OperationError(Reason.ILLEGAL_OPERATION, "LiteSubscriptionCtlRequestBody is empty.")
    client = RemotingLiteClient(call.peer)
    changed = operations.clients.change_lite_subscriptions(permit, map(_change, changes), client)
    return changed.addCallback(lambda _: Reply())


def _change(body: LiteSubscription) -> SubscriptionChange:
    option = body.offset_option
    return SubscriptionChange(
        LiteTopicChange[body.action],
        Subscriber(body.client_id or "", body.group or ""),
        body.topic or "",
        body.lite_topic_set,
        None if option is None else SubscriptionStart(option.type, option.value),
    )


class RemotingLiteClient:
    """A client of lite topics that is notified of lost topics by remoting commands."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    def unsubscribed(self, subscriber: Subscriber, lite_topic: str) -> None:
        """200073 NOTIFY_UNSUBSCRIBE_LITE."""
        header = NotifyUnsubscribeLiteRequestHeader(
            lite_topic=lite_topic, consumer_group=subscriber.group, client_id=subscriber.client_id
        )
        self._peer.send_oneway(
            RemotingCommand.request(RequestCode.NOTIFY_UNSUBSCRIBE_LITE, header, oneway=True)
        )


REQUESTS: dict[int, Translated] = {
    RequestCode.POP_LITE_MESSAGE: Translated(pop_lite_message, Use.RECEIVE_LITE),
    RequestCode.LITE_SUBSCRIPTION_CTL: Translated(control, Use.CONNECT),
}
"""Requests of lite topics by code."""
