"""Acknowledgements of messages of lite topics, and changes of the time for which they are invisible.

The requests are those of POP, with the name of a lite topic; `pop_acks` hands them over. Standard:
`AckMessageProcessor.ackLite`, `ChangeInvisibleTimeProcessor.processChangeInvisibleTimeForLite`.
"""

from mqgateway.engine.lite.names import light_queue
from mqgateway.engine.pop import ORDER_REVIVE_QUEUE, OrderKey, Receipt
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.lite.state import QUEUE_ID
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.codec.headers import (
    AckMessageRequestHeader,
    ChangeInvisibleTimeRequestHeader,
    ChangeInvisibleTimeResponseHeader,
)
from mqgateway.gateway.remoting.call import Reply, RequestError


def ack_lite(broker: Broker, header: AckMessageRequestHeader) -> Reply:
    """One message was consumed: move the group on, and let the lite topic be popped where nothing is out."""
    lites, group, offset = broker.lites, header.consumer_group, header.offset
    if lites.rules.bound_topic(group) != header.topic:
        raise _invalid("group type or bind topic not match.")
    queue = light_queue(header.topic, header.lite_topic or "")
    if offset > lites.max_offset(queue):
        raise RequestError(ResponseCode.NO_MESSAGE, "ack offset illegal.")
    receipt = _receipt(header.extra_info)
    if header.queue_id != QUEUE_ID or receipt.revive_queue_id != ORDER_REVIVE_QUEUE:
        raise _invalid("ack queue illegal.")
    if offset < broker.offsets.query(group, queue, QUEUE_ID):
        return Reply()
    key, now = OrderKey(queue, group, QUEUE_ID), broker.store.steady.now()
    try:
        next_offset = lites.orders.consume(key, offset, receipt.pop_time, now)
    except ValueError:
        raise RequestError(ResponseCode.MESSAGE_ILLEGAL, "ack offset illegal.") from None
    if next_offset is not None:
        if not broker.offsets.has_reset(group, queue, QUEUE_ID):
            broker.offsets.commit(group, queue, QUEUE_ID, next_offset)
        if not lites.orders.is_blocked(key, None, now):
            lites.offer(group, queue)
    return Reply()


def change_lite(broker: Broker, header: ChangeInvisibleTimeRequestHeader) -> Reply:
    """One message is to be visible again at another time; with `suspend` the lite topic as a whole."""
    lites, group, offset = broker.lites, header.consumer_group, header.offset
    queue = light_queue(header.topic, header.lite_topic or "")
    if offset > lites.max_offset(queue):
        return Reply(ResponseCode.NO_MESSAGE)
    receipt = _receipt(header.extra_info)
    if offset < broker.offsets.query(group, queue, QUEUE_ID):
        return Reply(header=ChangeInvisibleTimeResponseHeader(pop_time=0, invisible_time=0, revive_qid=0))
    key, now = OrderKey(queue, group, QUEUE_ID), broker.store.steady.now()
    until = now + header.invisible_time
    if header.suspend:
        lites.orders.suspend(key, receipt.pop_time, until, now)
    else:
        lites.orders.hide(key, offset, receipt.pop_time, until, now)
    response = ChangeInvisibleTimeResponseHeader(
        pop_time=receipt.pop_time,
        invisible_time=until - receipt.pop_time,
        revive_qid=receipt.revive_queue_id,
    )
    return Reply(header=response)


def _receipt(text: str) -> Receipt:
    try:
        return Receipt.parse(text)
    except ValueError as error:
        raise RequestError(ResponseCode.SYSTEM_ERROR, f"the receipt cannot be read: {error}") from None


def _invalid(remark: str) -> RequestError:
    return RequestError(ResponseCode.INVALID_PARAMETER, remark)
