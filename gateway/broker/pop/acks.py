"""Acknowledgements of popped messages, single and in batches, and changes of their invisible time.

An acknowledgement is in the log before it is answered; with SYNC_FLUSH the answer waits until it is on disk.
Messages popped in order have no checkpoint: their acknowledgement moves the group's offset.

A stale receipt changes nothing and is refused (`RECEIPT_STALE`) in every operation. Only a repeated
acknowledgement is answered like the first. RocketMQ answers success to stale receipts, and the message is
delivered again. RocketMQ: `AckMessageProcessor`, `ChangeInvisibleTimeProcessor`.
"""

from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

from twisted.internet.defer import Deferred, FirstError, gatherResults
from twisted.python.failure import Failure

from mqgateway.engine.lite.names import lmq_name
from mqgateway.engine.names import validate_group
from mqgateway.engine.pop import Ack, CheckPoint, OrderKey, PointKey, Receipt
from mqgateway.engine.pop.open_points import ReceiptState
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.message_store import PutResult, PutStatus
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.connection import ClientConnection
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.lite.acks import acknowledge_lite, change_invisible_time_lite
from mqgateway.gateway.broker.pop.checks import known_topic, no_queue
from mqgateway.gateway.broker.receipts import Delivery, is_out, parse_receipt, stale
from mqgateway.gateway.runtime.outcomes import then


class CheckpointAcks(NamedTuple):
    """Consumed messages of one checkpoint; `topic` is the topic that stores them."""

    topic: str
    group: str
    queue_id: int
    receipt: Receipt
    offsets: list[int]


def acknowledge(broker: Broker, delivery: Delivery, connection: ClientConnection) -> Deferred[None] | None:
    """Acknowledge one message; return a Deferred if the answer must wait, else None.

    Raises `OperationError`.
    """
    topic, queue_id, offset = delivery.topic, delivery.queue_id, delivery.offset
    _check_queue(broker, connection, topic, queue_id)
    if delivery.lite_topic:
        acknowledge_lite(broker, delivery)
        return None
    low, high = broker.store.min_offset(topic, queue_id), broker.store.max_offset(topic, queue_id)
    if not low <= offset <= high:
        raise OperationError(
            Reason.NO_MESSAGE,
            f"offset is illegal, key:{topic}@{queue_id}, commit:{offset}, store:{low}~{high}",
        )
    receipt = _receipt(broker, delivery.receipt)
    key = OrderKey(topic, delivery.group, queue_id)
    if receipt.is_ordered:
        if not _consume_in_order(broker, connection, key, offset, receipt.pop_time):
            raise stale()
        return None
    if validate_group(delivery.group) is not None:
        return None
    point = _point_key(key, receipt)
    state = broker.pop.log.state(point, offset, receipt.revive_time)
    if state is ReceiptState.STALE:
        raise stale()
    if state is ReceiptState.ACKNOWLEDGED:
        return None
    put = broker.pop.acknowledge_one(point, offset, receipt.revive_queue_id, receipt.revive_time)
    return _stored(broker, put)


def check_receipt(broker: Broker, delivery: Delivery) -> None:
    """Raise `OperationError` if a receipt is stale, also because its message was acknowledged."""
    receipt = parse_receipt(delivery.receipt)
    key = OrderKey(delivery.topic, delivery.group, delivery.queue_id)
    if delivery.lite_topic:
        key = key._replace(topic=lmq_name(delivery.topic, delivery.lite_topic))
        is_current = is_out(broker, broker.lite.orders, key, delivery.offset, receipt.pop_time)
    elif receipt.is_ordered:
        is_current = is_out(broker, broker.pop.orders, key, delivery.offset, receipt.pop_time)
    else:
        point = _point_key(key, receipt)
        state = broker.pop.log.state(point, delivery.offset, receipt.revive_time)
        is_current = state is ReceiptState.CURRENT
    if not is_current:
        raise stale()


def acknowledge_batch(
    broker: Broker, acks: Iterable[CheckpointAcks], connection: ClientConnection
) -> Steps[Deferred[None] | None]:
    """Acknowledge many messages of several pops, in a cooperative task with a step for each checkpoint.

    If some receipts are stale, the other messages are acknowledged, and the request is refused.
    """
    waiting: list[Deferred[None]] = []
    are_current = True
    for ack in acks:
        done, is_current = _acknowledge_many(broker, connection, ack)
        are_current &= is_current
        if done is not None:
            waiting.append(done)
        yield

    def stored(_: object) -> None:
        if not are_current:
            raise stale()

    if not waiting:
        stored(None)
        return None
    return gatherResults(waiting, consumeErrors=True).addCallbacks(stored, _first)


def _first(failure: Failure) -> Failure:
    """Return the first failure of several."""
    return failure.value.subFailure if isinstance(failure.value, FirstError) else failure


def _acknowledge_many(
    broker: Broker, connection: ClientConnection, ack: CheckpointAcks
) -> tuple[Deferred[None] | None, bool]:
    """Acknowledge messages of one checkpoint; offsets outside the queue are skipped.

    Return what to wait for, if anything, and whether the receipts of all others were current.
    """
    topic, group, queue_id, receipt, offsets = ack
    config = broker.tables.topics.get(topic)
    if config is None or not 0 <= queue_id < config.read_queue_nums:
        return None, True
    low, high = broker.store.min_offset(topic, queue_id), broker.store.max_offset(topic, queue_id)
    offsets = [offset for offset in offsets if low <= offset <= high]
    key = OrderKey(topic, group, queue_id)
    if receipt.is_ordered:
        consumed = [
            _consume_in_order(broker, connection, key, offset, receipt.pop_time) for offset in offsets
        ]
        return None, all(consumed)
    if not offsets or validate_group(group) is not None:
        return None, True
    _check_revive_queue(broker, receipt)
    point = _point_key(key, receipt)
    states = {offset: broker.pop.log.state(point, offset, receipt.revive_time) for offset in offsets}
    current = [offset for offset, state in states.items() if state is ReceiptState.CURRENT]
    is_current = ReceiptState.STALE not in states.values()
    if not current:
        return None, is_current
    acks = Ack.of_all(point, current, is_batch=True)
    put = broker.pop.acknowledge(acks, receipt.revive_queue_id, receipt.revive_time)
    return _stored(broker, put), is_current


def change_invisible_time(
    broker: Broker, delivery: Delivery, millis: int, connection: ClientConnection, *, is_suspended: bool
) -> Receipt | Deferred[Receipt | None] | None:
    """Change when a message is visible again, and return its new receipt.

    If `is_suspended`, the delivery does not count. Return None if the queue does not contain the message.
    Raises `OperationError`.
    """
    topic, queue_id, offset = delivery.topic, delivery.queue_id, delivery.offset
    _check_queue(broker, connection, topic, queue_id)
    if delivery.lite_topic:
        return change_invisible_time_lite(broker, delivery, millis, is_suspended=is_suspended)
    if not broker.store.min_offset(topic, queue_id) <= offset < broker.store.max_offset(topic, queue_id):
        return None
    receipt = _receipt(broker, delivery.receipt)
    key = OrderKey(topic, delivery.group, queue_id)
    now = broker.store.steady.now()
    if receipt.is_ordered:
        return _change_in_order(broker, key, delivery.offset, millis, receipt, now)
    # Times identify checkpoints: the new one must differ from the one that it replaces.
    pop_time = max(now, receipt.pop_time + 1)
    changed = receipt._replace(start_offset=offset, pop_time=pop_time, invisible_time=millis)
    if validate_group(delivery.group) is not None:
        return changed  # such a group popped nothing, so there is nothing to store
    log_end = broker.store.max_physical_offset
    old = _point_key(key, receipt)
    if broker.pop.log.state(old, offset, receipt.revive_time) is not ReceiptState.CURRENT:
        raise stale()
    point = CheckPoint(
        _point_key(key, changed), changed.invisible_time, (0,), is_suspended, log_offset=log_end
    )
    ack = Ack(old, (offset,))
    put = broker.pop.change(point, ack, receipt.revive_queue_id, receipt.revive_time)
    return then(_stored(broker, put), lambda _: changed)


def _check_queue(broker: Broker, connection: ClientConnection, topic: str, queue_id: int) -> None:
    config = known_topic(broker, topic)
    if not 0 <= queue_id < config.read_queue_nums:
        raise no_queue(connection, config, queue_id, Reason.MESSAGE_ILLEGAL)


def _receipt(broker: Broker, text: str) -> Receipt:
    receipt = parse_receipt(text)
    if not receipt.is_ordered:
        _check_revive_queue(broker, receipt)
    return receipt


def _check_revive_queue(broker: Broker, receipt: Receipt) -> None:
    """Refuse a revive queue that does not exist: records in it would never be read."""
    if not broker.pop.log.has_revive_queue(receipt.revive_queue_id):
        raise OperationError(Reason.SYSTEM_ERROR, f"there is no revive queue {receipt.revive_queue_id}")


def _point_key(key: OrderKey, receipt: Receipt) -> PointKey:
    """Return the key of a message's checkpoint."""
    return PointKey(*key, receipt.start_offset, receipt.pop_time, receipt.broker_name)


def _stored(broker: Broker, put: PutResult | Deferred[PutResult]) -> Deferred[None] | None:
    """Wait until a record is as durable as configured, or stored by another broker; None if it already is.

    Raises `OperationError` if it was not stored.
    """
    return then(put, partial(_check_stored, broker))


def _check_stored(broker: Broker, put: PutResult) -> Deferred[None] | None:
    if put.status is not PutStatus.PUT_OK:
        raise OperationError(Reason.SYSTEM_ERROR, put.remark or put.status.name)
    if not broker.produce.durability.is_awaited:
        return None
    return broker.produce.durability.wait(put).addCallback(lambda _: None)


def _consume_in_order(
    broker: Broker, connection: ClientConnection, key: OrderKey, offset: int, pop_time: int
) -> bool:
    """Move the group's offset, and wake the next pop if no message of the queue is in flight.

    Return False if the message was popped again meanwhile. RocketMQ: `AckMessageProcessor.ackOrderly`.
    """
    topic, group, queue_id = key
    offsets, orders = broker.tables.offsets, broker.pop.orders
    old, now = offsets.query(group, topic, queue_id), broker.store.steady.now()
    if offset < old:
        return True
    try:
        next_offset = orders.consume(key, offset, pop_time, now)
    except ValueError:
        raise OperationError(
            Reason.MESSAGE_ILLEGAL,
            f"offset is illegal, key:{topic}@{group}@{queue_id}, old:{old}, commit:{offset}, next:-1, "
            f"{connection.address}",
        ) from None
    if next_offset is None:
        return False
    if not offsets.has_reset(group, topic, queue_id):
        offsets.commit(group, topic, queue_id, next_offset)
    if not orders.is_blocked(key, None, now):
        broker.pop.offer(key)
    broker.pop.log.in_flight.remove((topic, group, queue_id), 1, pop_time)
    return True


def _change_in_order(
    broker: Broker, key: OrderKey, offset: int, millis: int, receipt: Receipt, now: int
) -> Receipt:
    """Change when a message that was popped in order is visible again.

    RocketMQ: `processChangeInvisibleTimeForOrder`.
    """
    if not is_out(broker, broker.pop.orders, key, offset, receipt.pop_time):
        raise stale()
    until = now + millis
    broker.pop.orders.hide(key, offset, receipt.pop_time, until, now)
    return receipt._replace(start_offset=offset, invisible_time=until - receipt.pop_time)
