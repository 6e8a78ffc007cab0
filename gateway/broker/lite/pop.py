"""Pops of lite topics: messages of the lite topics a client subscribes to, each topic in order.

A client is notified of the lite topics it may read (`engine.lite.events`). Delivered messages are in flight
until they are acknowledged or their invisible time is over; until then no client of the group gets more of
that lite topic. RocketMQ: `PopLiteMessageProcessor`, `PopLiteLongPollingService`.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from twisted.internet.defer import Deferred

from mqgateway.engine.pop import MESSAGES_MAX, OrderKey
from mqgateway.engine.store.message_store import ColdRead, GetStatus
from mqgateway.engine.store.results import transfer_limits
from mqgateway.engine.tables.offsets import UNKNOWN
from mqgateway.engine.tables.topics import PERM_READ
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.cold import reading
from mqgateway.gateway.broker.connection import ClientConnection
from mqgateway.gateway.broker.consume.initial_offset import begins_fresh
from mqgateway.gateway.broker.errors import FAQ, OperationError, Reason
from mqgateway.gateway.broker.lite.state import QUEUE_ID
from mqgateway.gateway.broker.parked_pops import ANY_QUEUE
from mqgateway.gateway.broker.polling import (
    PollingStatus,
    check_in_time,
    check_readable,
    clients_now,
    time_left,
    wait,
)

MISPLACED = (
    GetStatus.OFFSET_TOO_SMALL,
    GetStatus.OFFSET_OVERFLOW_BADLY,
    GetStatus.OFFSET_FOUND_NULL,
    GetStatus.NO_MATCHED_MESSAGE,
    GetStatus.MESSAGE_WAS_REMOVING,
    GetStatus.NO_MATCHED_LOGIC_QUEUE,
)


class ReceiveLite(NamedTuple):
    """Request for messages of the lite topics of a parent; times and `attempt_id` as in `pop.Receive`."""

    client_id: str
    group: str
    topic: str
    max_messages: int
    invisible_time: int
    max_wait: int
    attempt_id: str | None
    born_time: int = 0


class LiteFind(NamedTuple):
    """Messages popped from one lite topic; `counts` has the delivery counts of redelivered ones.

    `body` contains the messages' records, back to back.
    """

    queue: str
    queue_offsets: Sequence[int]
    body: bytes
    counts: Mapping[int, int]


class PopLiteOutcome(NamedTuple):
    """Result of a pop. Times in ms."""

    status: PollingStatus
    finds: list[LiteFind]
    pop_time: int
    invisible_time: int

    @property
    def is_found(self) -> bool:
        """True if there are messages."""
        return bool(self.finds)


def pop_lite(
    broker: Broker, request: ReceiveLite, connection: ClientConnection
) -> PopLiteOutcome | Deferred[PopLiteOutcome]:
    """Deliver messages, or wait for them as long as the client does.

    Raises `OperationError`.
    """
    _check(broker, request, connection)
    return reading(broker, partial(_pop_or_wait, broker, request, connection))


def _pop_or_wait(
    broker: Broker, request: ReceiveLite, connection: ClientConnection, rounds: int
) -> PopLiteOutcome | Deferred[PopLiteOutcome]:
    outcome = _pop(broker, request, may_wait=not rounds)
    left = time_left(request, clients_now(broker, connection))
    if outcome.is_found or left <= 0:
        return outcome

    def look() -> PopLiteOutcome | Deferred[PopLiteOutcome]:
        return reading(broker, lambda rounds: _pop(broker, request, may_wait=not rounds))

    place = OrderKey(request.client_id, request.group, ANY_QUEUE)
    waiting = wait(broker, broker.lite.parked, connection, place, None, left, look, _is_found)
    return outcome._replace(status=PollingStatus.POLLING_FULL) if waiting is None else waiting


def _is_found(outcome: PopLiteOutcome) -> bool:
    return outcome.is_found


def _check(broker: Broker, request: ReceiveLite, connection: ClientConnection) -> None:
    ip, topic, group = broker.options.broker_ip1, request.topic, request.group
    check_in_time(broker, connection, request)
    check_readable(broker, "pop")
    if request.max_messages > MESSAGES_MAX:
        raise _invalid(f"the broker[{ip}] pop message's num is greater than 32")
    config = broker.tables.topics.get(topic)
    if config is None:
        raise OperationError(Reason.TOPIC_NOT_EXIST, f"topic [{topic}] not exist, apply first please! {FAQ}")
    if not config.perm & PERM_READ:
        raise OperationError(Reason.NO_PERMISSION, f"the topic [{topic}] peeking message is forbidden")
    if not broker.lite.rules.is_parent(topic):
        raise _invalid(f"the topic [{topic}] message type not match")
    known = broker.tables.groups.find(group)
    if known is None:
        raise OperationError(
            Reason.SUBSCRIPTION_GROUP_NOT_EXIST, f"subscription group [{group}] not exist, {FAQ}"
        )
    if not known.consume_enable:
        raise OperationError(Reason.NO_PERMISSION, f"subscription group no permission, {group}")
    if broker.lite.rules.bound_topic(group) != topic:
        raise _invalid(f"subscription bind topic not match, {group}")


def _invalid(remark: str) -> OperationError:
    return OperationError(Reason.INVALID_PARAMETER, remark)


def _pop(broker: Broker, request: ReceiveLite, *, may_wait: bool) -> PopLiteOutcome:
    """Read the queues the client was notified of, until it has enough or a read would block.

    Raises `ColdRead` if that is so before any message was found.
    """
    now, most = broker.store.steady.now(), request.max_messages
    finds: list[LiteFind] = []
    for queue in broker.lite.events.take(request.client_id, request.topic) if most > 0 else ():
        try:
            find = _pop_queue(broker, request, queue, most, now, may_wait)
        except ColdRead:
            broker.lite.events.give_back(request.client_id, queue)
            if not finds:
                raise
            break
        if find is not None:
            finds.append(find)
            most -= len(find.queue_offsets)
        if most <= 0:
            break
    status = PollingStatus.FOUND if finds else PollingStatus.POLLING_TIMEOUT
    return PopLiteOutcome(status, finds, now, request.invisible_time)


def _pop_queue(
    broker: Broker, request: ReceiveLite, queue: str, most: int, now: int, may_wait: bool
) -> LiteFind | None:
    """Return messages of one lite topic, if none of it is in flight."""
    group, orders = request.group, broker.lite.orders
    key = OrderKey(queue, group, QUEUE_ID)
    if orders.is_blocked(key, request.attempt_id, now) or not orders.has_room(key):
        return None
    limits, start = transfer_limits(broker.store_options), _start(broker, group, queue)
    result = broker.store.get(queue, QUEUE_ID, start, most, may_wait=may_wait, limits=limits)
    if result.status in MISPLACED:
        broker.tables.offsets.commit(group, queue, QUEUE_ID, result.next_offset)
        result = broker.store.get(queue, QUEUE_ID, result.next_offset, most, may_wait=may_wait, limits=limits)
    offsets = tuple(result.queue_offsets)
    if not offsets:
        return None
    order = orders.take(key, request.attempt_id, now, request.invisible_time, offsets, now)
    broker.stats.got(group, request.topic, result.count, result.size)
    if broker.stats.meters is not None:
        broker.stats.meters.popped(request.topic, group, result.count, result.size)
    return LiteFind(queue, offsets, result.body, order.counts)


def _start(broker: Broker, group: str, queue: str) -> int:
    """Return the group's next offset, or its initial one: the first message of a new topic.

    RocketMQ: `getPopOffset`.
    """
    offset = broker.tables.offsets.query(group, queue, QUEUE_ID)
    if offset == UNKNOWN:
        at_first = broker.options.init_pop_offset_by_check_msg_in_mem and begins_fresh(
            broker, queue, QUEUE_ID
        )
        offset = 0 if at_first else max(0, broker.lite.max_offset(queue) - 1)
        broker.tables.offsets.commit(group, queue, QUEUE_ID, offset)
    reset = broker.tables.offsets.take_reset(group, queue, QUEUE_ID)
    if reset is None:
        return offset
    broker.lite.orders.forget(OrderKey(queue, group, QUEUE_ID))
    broker.tables.offsets.commit(group, queue, QUEUE_ID, reset)
    return reset
