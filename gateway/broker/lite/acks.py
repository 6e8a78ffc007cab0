"""Acknowledgements of messages of lite topics, and changes of their invisible time.

The requests are those of POP with the name of a lite topic; `pop.acks` passes them on. RocketMQ:
`AckMessageProcessor.ackLite`, `ChangeInvisibleTimeProcessor.processChangeInvisibleTimeForLite`.
"""

from mqgateway.engine.lite.names import lmq_name
from mqgateway.engine.pop import ORDER_REVIVE_QUEUE, OrderKey, Receipt
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.lite.state import QUEUE_ID
from mqgateway.gateway.broker.receipts import Delivery, is_out, parse_receipt, stale


def acknowledge_lite(broker: Broker, delivery: Delivery) -> None:
    """Acknowledge one message: advance the group, and offer the lite topic again if nothing is in flight."""
    state, group, offset = broker.lite, delivery.group, delivery.offset
    if state.rules.bound_topic(group) != delivery.topic:
        raise _invalid("group type or bind topic not match.")
    queue = lmq_name(delivery.topic, delivery.lite_topic or "")
    if offset > state.max_offset(queue):
        raise OperationError(Reason.NO_MESSAGE, "ack offset illegal.")
    receipt = parse_receipt(delivery.receipt)
    if delivery.queue_id != QUEUE_ID or receipt.revive_queue_id != ORDER_REVIVE_QUEUE:
        raise _invalid("ack queue illegal.")
    if offset < broker.tables.offsets.query(group, queue, QUEUE_ID):
        return
    key, now = OrderKey(queue, group, QUEUE_ID), broker.store.steady.now()
    try:
        next_offset = state.orders.consume(key, offset, receipt.pop_time, now)
    except ValueError:
        raise OperationError(Reason.MESSAGE_ILLEGAL, "ack offset illegal.") from None
    if next_offset is None:
        raise stale()
    if not broker.tables.offsets.has_reset(group, queue, QUEUE_ID):
        broker.tables.offsets.commit(group, queue, QUEUE_ID, next_offset)
    if not state.orders.is_blocked(key, None, now):
        state.offer(group, queue)


def change_invisible_time_lite(
    broker: Broker, delivery: Delivery, millis: int, *, is_suspended: bool
) -> Receipt | None:
    """Change when a message, or with `is_suspended` the whole lite topic, is visible again.

    Return the new receipt; None if the lite topic does not contain the message.
    """
    state, group, offset = broker.lite, delivery.group, delivery.offset
    queue = lmq_name(delivery.topic, delivery.lite_topic or "")
    if offset > state.max_offset(queue):
        return None
    receipt = parse_receipt(delivery.receipt)
    key, now = OrderKey(queue, group, QUEUE_ID), broker.store.steady.now()
    if not is_out(broker, state.orders, key, offset, receipt.pop_time):
        raise stale()
    until = now + millis
    if is_suspended:
        state.orders.suspend(key, receipt.pop_time, until, now)
    else:
        state.orders.hide(key, offset, receipt.pop_time, until, now)
    return receipt._replace(start_offset=offset, invisible_time=until - receipt.pop_time)


def _invalid(remark: str) -> OperationError:
    return OperationError(Reason.INVALID_PARAMETER, remark)
