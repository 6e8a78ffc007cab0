"""200051 ACK_MESSAGE, 200151 BATCH_ACK_MESSAGE, 200053 CHANGE_MESSAGE_INVISIBLETIME.

What was acknowledged is in the log before the answer; with SYNC_FLUSH the answer waits until it is on disk.
What was popped in order has no check point: its acknowledgement moves the group's offset. An acknowledgement
that comes too late changes nothing, and is answered as any other. Standard: `AckMessageProcessor`,
`ChangeInvisibleTimeProcessor`.
"""

from twisted.internet.defer import Deferred, FirstError, gatherResults
from twisted.python.failure import Failure

from mqgateway.engine.message import validate_group
from mqgateway.engine.pop import Ack, CheckPoint, OrderKey, PointKey, Receipt, real_topic
from mqgateway.engine.pop.names import MESSAGES_MAX
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.message_store import PutResult, PutStatus
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.lite.acks import ack_lite, change_lite
from mqgateway.gateway.broker.pop.checks import known_topic, no_queue
from mqgateway.gateway.codec.bodies.pop import BatchAck, BatchAckMessageRequestBody
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.codec.headers import (
    AckMessageRequestHeader,
    ChangeInvisibleTimeRequestHeader,
    ChangeInvisibleTimeResponseHeader,
)
from mqgateway.gateway.remoting.call import Call, Reply, RequestError

BITS_MAX = 16384
"""Characters of the bits that stand for the messages of one pop."""


def ack_message(broker: Broker, call: Call) -> Reply | Deferred[Reply]:
    """One message was consumed."""
    header = call.header
    assert isinstance(header, AckMessageRequestHeader)
    topic, queue_id, offset = header.topic, header.queue_id, header.offset
    _check_queue(broker, call, topic, queue_id)
    if header.lite_topic:
        return ack_lite(broker, header)
    low, high = broker.store.min_offset(topic, queue_id), broker.store.max_offset(topic, queue_id)
    if not low <= offset <= high:
        raise RequestError(
            ResponseCode.NO_MESSAGE,
            f"offset is illegal, key:{topic}@{queue_id}, commit:{offset}, store:{low}~{high}",
        )
    receipt = _receipt(broker, header.extra_info)
    key = OrderKey(topic, header.consumer_group, queue_id)
    if receipt.is_ordered:
        _consume_in_order(broker, call, key, offset, receipt.pop_time)
        return Reply()
    if validate_group(header.consumer_group) is not None:
        return Reply()
    return _acknowledge(broker, key, receipt, (offset,), is_batch=False)


def batch_ack_message(broker: Broker, call: Call) -> Steps[Reply | Deferred[Reply]]:
    """Many messages were consumed, of several pops; those of each are a step."""
    acks = [] if not call.body else BatchAckMessageRequestBody.decode(call.body).acks
    if not acks:
        return Reply(ResponseCode.NO_MESSAGE)
    waiting = []
    for ack in acks:
        done = _acknowledge_many(broker, call, ack)
        if isinstance(done, Deferred):
            waiting.append(done)
        yield
    if not waiting:
        return Reply()
    return gatherResults(waiting, consumeErrors=True).addCallbacks(lambda replies: replies[-1], _first)


def _first(failure: Failure) -> Failure:
    """What failed, of several."""
    return failure.value.subFailure if isinstance(failure.value, FirstError) else failure


def _acknowledge_many(broker: Broker, call: Call, ack: BatchAck) -> Reply | Deferred[Reply] | None:
    """Messages of one pop; None where nothing is to be stored."""
    try:
        topic = real_topic(ack.topic, ack.consumer_group, ack.retry)
        if len(ack.bit_set) > BITS_MAX:
            raise ValueError(f"{len(ack.bit_set)} characters of bits are too many, {BITS_MAX} are allowed")
        offsets = ack.offsets
    except ValueError as error:
        raise RequestError(ResponseCode.SYSTEM_ERROR, f"an acknowledgement cannot be read: {error}") from None
    config = broker.topics.get(topic)
    if config is None or not 0 <= ack.queue_id < config.read_queue_nums:
        return None
    low, high = broker.store.min_offset(topic, ack.queue_id), broker.store.max_offset(topic, ack.queue_id)
    offsets = [offset for offset in offsets if low <= offset <= high]
    name = broker.options.broker_name
    receipt = Receipt(
        ack.start_offset, ack.pop_time, ack.invisible_time, ack.revive_queue_id, ack.retry, name
    )
    key = OrderKey(topic, ack.consumer_group, ack.queue_id)
    if receipt.is_ordered:
        for offset in offsets:
            _consume_in_order(broker, call, key, offset, receipt.pop_time)
        return None
    if not offsets or validate_group(ack.consumer_group) is not None:
        return None
    _check_revive_queue(broker, receipt)
    return _acknowledge(broker, key, receipt, tuple(offsets), is_batch=True)


def change_invisible_time(broker: Broker, call: Call) -> Reply | Deferred[Reply]:
    """One message is to be visible again at another time."""
    header = call.header
    assert isinstance(header, ChangeInvisibleTimeRequestHeader)
    topic, queue_id, offset = header.topic, header.queue_id, header.offset
    _check_queue(broker, call, topic, queue_id)
    if header.lite_topic:
        return change_lite(broker, header)
    if not broker.store.min_offset(topic, queue_id) <= offset < broker.store.max_offset(topic, queue_id):
        return Reply(ResponseCode.NO_MESSAGE)
    receipt = _receipt(broker, header.extra_info)
    key = OrderKey(topic, header.consumer_group, queue_id)
    now = broker.store.steady.now()
    if receipt.is_ordered:
        return _change_in_order(broker, key, header, receipt, now)
    # Check points are told apart by their times: the new one may not be taken for one that it replaces.
    pop_time = max(now, receipt.pop_time + 1)
    response = ChangeInvisibleTimeResponseHeader(
        pop_time=pop_time, invisible_time=header.invisible_time, revive_qid=receipt.revive_queue_id
    )
    if validate_group(header.consumer_group) is not None:
        return Reply(header=response)  # nothing was popped by such a group, so there is nothing to store
    point = CheckPoint(
        _point_key(key, offset, pop_time, receipt.broker_name), header.invisible_time, (0,), header.suspend
    )
    ack = Ack(_point_key(key, receipt.start_offset, receipt.pop_time, receipt.broker_name), (offset,))
    put = broker.pops.change(point, ack, receipt.revive_queue_id, receipt.revive_time)
    return _stored(broker, put, Reply(header=response))


def _check_queue(broker: Broker, call: Call, topic: str, queue_id: int) -> None:
    config = known_topic(broker, topic)
    if not 0 <= queue_id < config.read_queue_nums:
        raise no_queue(call, config, queue_id, ResponseCode.MESSAGE_ILLEGAL)


def _receipt(broker: Broker, text: str) -> Receipt:
    try:
        receipt = Receipt.parse(text)
    except ValueError as error:
        raise RequestError(ResponseCode.SYSTEM_ERROR, f"the receipt cannot be read: {error}") from None
    if not receipt.is_ordered:
        _check_revive_queue(broker, receipt)
    return receipt


def _check_revive_queue(broker: Broker, receipt: Receipt) -> None:
    """Nothing is put where it is never read."""
    if not broker.pops.log.has_revive_queue(receipt.revive_queue_id):
        raise RequestError(ResponseCode.SYSTEM_ERROR, f"there is no revive queue {receipt.revive_queue_id}")


def _point_key(key: OrderKey, start_offset: int, pop_time: int, broker_name: str) -> PointKey:
    return PointKey(key.topic, key.group, key.queue_id, start_offset, pop_time, broker_name)


def _acknowledge(
    broker: Broker, key: OrderKey, receipt: Receipt, offsets: tuple[int, ...], *, is_batch: bool
) -> Reply | Deferred[Reply]:
    """Store the acknowledgement of messages of one check point."""
    point = _point_key(key, receipt.start_offset, receipt.pop_time, receipt.broker_name)
    acks = [
        Ack(point, offsets[start : start + MESSAGES_MAX], is_batch)
        for start in range(0, len(offsets), MESSAGES_MAX)
    ]
    put = broker.pops.acknowledge(acks, receipt.revive_queue_id, receipt.revive_time)
    return _stored(broker, put, Reply())


def _stored(broker: Broker, put: PutResult | Deferred[PutResult], reply: Reply) -> Reply | Deferred[Reply]:
    """Answer, once what was put is as safe as configured, or stored by another broker."""
    if isinstance(put, Deferred):
        return put.addCallback(lambda result: _stored(broker, result, reply))
    if put.status is not PutStatus.PUT_OK:
        raise RequestError(ResponseCode.SYSTEM_ERROR, put.remark or put.status.name)
    if not broker.durable.is_awaited:
        return reply
    return broker.durable.wait(put).addCallback(lambda _: reply)


def _consume_in_order(broker: Broker, call: Call, key: OrderKey, offset: int, pop_time: int) -> None:
    """Move the group's offset, and let the next one pop where nothing is out any more.

    Standard: `AckMessageProcessor.ackOrderly`.
    """
    topic, group, queue_id = key
    offsets, orders = broker.offsets, broker.pops.orders
    old, now = offsets.query(group, topic, queue_id), broker.store.steady.now()
    if offset < old:
        return
    try:
        next_offset = orders.consume(key, offset, pop_time, now)
    except ValueError:
        raise RequestError(
            ResponseCode.MESSAGE_ILLEGAL,
            f"offset is illegal, key:{topic}@{group}@{queue_id}, old:{old}, commit:{offset}, next:-1, "
            f"{call.peer.address}",
        ) from None
    if next_offset is not None:
        if not offsets.has_reset(group, topic, queue_id):
            offsets.commit(group, topic, queue_id, next_offset)
        if not orders.is_blocked(key, None, now):
            broker.pops.offer(key)
    broker.pops.log.in_flight.remove((topic, group, queue_id), 1, pop_time)


def _change_in_order(
    broker: Broker, key: OrderKey, header: ChangeInvisibleTimeRequestHeader, receipt: Receipt, now: int
) -> Reply:
    """Change when a message that was popped in order is visible again.

    Standard: `processChangeInvisibleTimeForOrder`.
    """
    topic, group, queue_id = key
    if header.offset < broker.offsets.query(group, topic, queue_id):
        return Reply(header=ChangeInvisibleTimeResponseHeader(pop_time=0, invisible_time=0, revive_qid=0))
    until = now + header.invisible_time
    broker.pops.orders.hide(key, header.offset, receipt.pop_time, until, now)
    response = ChangeInvisibleTimeResponseHeader(
        pop_time=receipt.pop_time,
        invisible_time=until - receipt.pop_time,
        revive_qid=receipt.revive_queue_id,
    )
    return Reply(header=response)
