"""200070 POP_LITE_MESSAGE: messages of the lite topics a client reads, each topic in order.

A client that may look into a lite topic was told of it (`engine.lite.events`). What it is given is out until
it is acknowledged or its time is over, and so long nobody of the group gets more of that lite topic.
Standard: `PopLiteMessageProcessor`, `PopLiteLongPollingService`.
"""

from functools import partial
from typing import NamedTuple

from twisted.internet.defer import Deferred

from mqgateway.engine.pop import MESSAGES_MAX, ORDER_REVIVE_QUEUE, Order, OrderKey, message_count_info
from mqgateway.engine.store.message_store import ColdRead, GetResult, GetStatus
from mqgateway.engine.tables.offsets import UNKNOWN
from mqgateway.engine.tables.topics import PERM_READ
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.cold import reading
from mqgateway.gateway.broker.consume.initial_offset import begins_fresh
from mqgateway.gateway.broker.errors import FAQ
from mqgateway.gateway.broker.lite.state import QUEUE_ID
from mqgateway.gateway.broker.pop.checks import check_broker, check_in_time, clients_now, time_left, wait
from mqgateway.gateway.broker.pop.parked import ANY_QUEUE
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.codec.headers import PopLiteMessageRequestHeader, PopLiteMessageResponseHeader
from mqgateway.gateway.remoting.call import Call, Reply, RequestError

NOTHING_POPPED = PopLiteMessageResponseHeader(pop_time=0, invisible_time=0, revive_qid=0)
"""Goes with every refusal."""
MISPLACED = (
    GetStatus.OFFSET_TOO_SMALL,
    GetStatus.OFFSET_OVERFLOW_BADLY,
    GetStatus.OFFSET_FOUND_NULL,
    GetStatus.NO_MATCHED_MESSAGE,
    GetStatus.MESSAGE_WAS_REMOVING,
    GetStatus.NO_MATCHED_LOGIC_QUEUE,
)


class Popped(NamedTuple):
    """What one lite topic gave, and how often each of it was given out before."""

    result: GetResult
    counts: str


def pop_lite_message(broker: Broker, call: Call) -> Reply | Deferred[Reply]:
    """Give out messages, or wait for them as long as the client will."""
    header = call.header
    assert isinstance(header, PopLiteMessageRequestHeader)
    try:
        _check(broker, call, header)
    except RequestError as refusal:
        refusal.header = NOTHING_POPPED
        raise
    return reading(broker, partial(_pop_or_wait, broker, call, header))


def _pop_or_wait(
    broker: Broker, call: Call, header: PopLiteMessageRequestHeader, rounds: int
) -> Reply | Deferred[Reply]:
    reply = _pop(broker, header, may_wait=not rounds)
    left = time_left(header, clients_now(broker, call.peer))
    if reply.code == ResponseCode.SUCCESS or left <= 0:
        return reply

    def look(is_last: bool) -> Reply | Deferred[Reply] | None:
        again = reading(broker, lambda rounds: _pop(broker, header, may_wait=not rounds))
        is_answer = is_last or isinstance(again, Deferred) or again.code == ResponseCode.SUCCESS
        return again if is_answer else None

    place = OrderKey(header.client_id, header.consumer_group, ANY_QUEUE)
    waiting = wait(broker, broker.lites.parked, call, place, None, left, look)
    if waiting is None:
        reply.code = ResponseCode.POLLING_FULL
        return reply
    return waiting


def _check(broker: Broker, call: Call, header: PopLiteMessageRequestHeader) -> None:
    ip, topic, group = broker.options.broker_ip1, header.topic, header.consumer_group
    check_in_time(broker, call.peer, header)
    check_broker(broker, "pop")
    if header.max_msg_num > MESSAGES_MAX:
        raise _invalid(f"the broker[{ip}] pop message's num is greater than 32")
    config = broker.topics.get(topic)
    if config is None:
        raise RequestError(
            ResponseCode.TOPIC_NOT_EXIST, f"topic [{topic}] not exist, apply first please! {FAQ}"
        )
    if not config.perm & PERM_READ:
        raise RequestError(ResponseCode.NO_PERMISSION, f"the topic [{topic}] peeking message is forbidden")
    if not broker.lites.rules.is_parent(topic):
        raise _invalid(f"the topic [{topic}] message type not match")
    known = broker.groups.find(group)
    if known is None:
        raise RequestError(
            ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"subscription group [{group}] not exist, {FAQ}"
        )
    if not known.consume_enable:
        raise RequestError(ResponseCode.NO_PERMISSION, f"subscription group no permission, {group}")
    if broker.lites.rules.bound_topic(group) != topic:
        raise _invalid(f"subscription bind topic not match, {group}")


def _invalid(remark: str) -> RequestError:
    return RequestError(ResponseCode.INVALID_PARAMETER, remark)


def _pop(broker: Broker, header: PopLiteMessageRequestHeader, *, may_wait: bool) -> Reply:
    """Look into the queues that the client was told of, until it has enough, or would have to wait for the
    disk. Raises `ColdRead` where that is before it has anything.
    """
    now, most = broker.store.steady.now(), header.max_msg_num
    found: list[Popped] = []
    for queue in broker.lites.events.take(header.client_id) if most > 0 else ():
        try:
            popped = _pop_queue(broker, header, queue, most, now, may_wait)
        except ColdRead:
            broker.lites.events.give_back(header.client_id, queue)
            if not found:
                raise
            break
        if popped is not None:
            found.append(popped)
            most -= len(popped.result.queue_offsets)
            broker.stats.got(header.consumer_group, header.topic, popped.result.count, popped.result.size)
        if most <= 0:
            break
    response = PopLiteMessageResponseHeader(
        pop_time=now,
        invisible_time=header.invisible_time,
        revive_qid=ORDER_REVIVE_QUEUE,
        order_count_info=";".join(popped.counts for popped in found),
    )
    code = ResponseCode.SUCCESS if found else ResponseCode.POLLING_TIMEOUT
    status = GetStatus.FOUND if found else GetStatus.NO_MESSAGE_IN_QUEUE
    return Reply(code, response, b"".join(popped.result.body for popped in found), status.name)


def _pop_queue(
    broker: Broker, header: PopLiteMessageRequestHeader, queue: str, most: int, now: int, may_wait: bool
) -> Popped | None:
    """What one lite topic has, if nothing of it is out."""
    group, orders = header.consumer_group, broker.lites.orders
    key = OrderKey(queue, group, QUEUE_ID)
    if orders.is_blocked(key, header.attempt_id, now) or not orders.has_room(key):
        return None
    result = broker.store.get(queue, QUEUE_ID, _start(broker, group, queue), most, may_wait=may_wait)
    if result.status in MISPLACED:
        broker.offsets.commit(group, queue, QUEUE_ID, result.next_offset)
        result = broker.store.get(queue, QUEUE_ID, result.next_offset, most, may_wait=may_wait)
    offsets = tuple(result.queue_offsets)
    if not offsets:
        return None
    order = orders.take(key, header.attempt_id, now, header.invisible_time, offsets, now)
    return Popped(result, _counts(key, order))


def _start(broker: Broker, group: str, queue: str) -> int:
    """Where the group goes on, or begins: with the first message if that is new. Standard: `getPopOffset`."""
    offset = broker.offsets.query(group, queue, QUEUE_ID)
    if offset == UNKNOWN:
        at_first = broker.options.init_pop_offset_by_check_msg_in_mem and begins_fresh(
            broker, queue, QUEUE_ID
        )
        offset = 0 if at_first else max(0, broker.lites.max_offset(queue) - 1)
        broker.offsets.commit(group, queue, QUEUE_ID, offset)
    reset = broker.offsets.take_reset(group, queue, QUEUE_ID)
    if reset is None:
        return offset
    broker.lites.orders.forget(OrderKey(queue, group, QUEUE_ID))
    broker.offsets.commit(group, queue, QUEUE_ID, reset)
    return reset


def _counts(key: OrderKey, order: Order) -> str:
    """How often each message was given out before. Standard: `transformOrderCountInfo`."""
    if not order.counts:
        return ";".join("0" for _ in order.offsets)
    return ";".join(
        message_count_info(key.topic, key.queue_id, offset, count) for offset, count in order.counts.items()
    )
