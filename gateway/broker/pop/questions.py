"""Peek, notification and polling info: queries about the messages a pop would find, and the parked pops.

They deliver nothing. RocketMQ: `PeekMessageProcessor`, `NotificationProcessor`, `PollingInfoProcessor`.
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from twisted.internet.defer import Deferred

from mqgateway.engine.pop import OrderKey, retry_topic
from mqgateway.engine.store.message_store import GetStatus
from mqgateway.engine.store.results import transfer_limits
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.cold import reading
from mqgateway.gateway.broker.connection import ClientConnection
from mqgateway.gateway.broker.consume.long_polling import Wanted
from mqgateway.gateway.broker.parked_pops import ANY_QUEUE
from mqgateway.gateway.broker.polling import check_readable, clients_now, time_left, wait
from mqgateway.gateway.broker.pop.checks import checked_group, checked_topic, wanted_by

MISPLACED = (GetStatus.OFFSET_TOO_SMALL, GetStatus.OFFSET_OVERFLOW_BADLY)
RETRY_EVERY = 5
"""Every n-th peek, on average, reads retried messages first."""


class Peek(NamedTuple):
    """Request for messages without delivering them."""

    group: str
    topic: str
    queue_id: int
    max_messages: int


class PeekOutcome(NamedTuple):
    """Records of messages by queue; `rest` counts all messages that could be popped."""

    bodies: list[bytes]
    rest: int


class Watch(NamedTuple):
    """Request for a notification when a pop would find something; fields as in `Receive`."""

    group: str
    topic: str
    queue_id: int
    max_wait: int
    expression: str | None = None
    expression_type: str | None = None
    is_ordered: bool = False
    attempt_id: str | None = None
    born_time: int = 0


class NotificationOutcome(NamedTuple):
    """Answer to a notification request; `is_polling_full` if too many requests are parked."""

    has_message: bool
    is_polling_full: bool = False


def peek(broker: Broker, request: Peek, connection: ClientConnection) -> PeekOutcome | Deferred[PeekOutcome]:
    """Return messages that a pop would deliver. Raises `OperationError`."""
    check_readable(broker, "peeking")
    topic = checked_topic(broker, connection, request.topic, request.queue_id)
    checked_group(broker, request.group)
    return reading(broker, lambda rounds: _peek(broker, request, topic, may_wait=not rounds))


def _peek(broker: Broker, request: Peek, topic: TopicConfig, *, may_wait: bool) -> PeekOutcome:
    """Read the queues, those of retried messages first or last. Raises `ColdRead`."""
    group, store = request.group, broker.store
    limits, chance = transfer_limits(broker.store_options), broker.pop.chance()
    places = list(_queues(topic, request.queue_id, chance))
    retries = list(_retries(broker, request.topic, group))[:1]
    again = [place for config in retries for place in _queues(config, ANY_QUEUE, chance)]
    bodies: list[bytes] = []
    count = rest = 0
    for name, queue_id in again + places if chance % RETRY_EVERY == 0 else places + again:
        offset = broker.pop.first_offset(group, name, queue_id)
        rest += store.readable_end(name, queue_id) - offset
        most = request.max_messages - count
        if most <= 0:
            continue
        result = store.get(name, queue_id, offset, most, may_wait=may_wait, limits=limits)
        if result.status in MISPLACED:
            result = store.get(name, queue_id, result.next_offset, most, may_wait=may_wait, limits=limits)
        if result.queue_offsets:
            bodies.append(result.body)
            count += len(result.queue_offsets)
    if bodies:
        size = sum(map(len, bodies))
        broker.stats.got(group, request.topic, count, size)
        if broker.stats.meters is not None:
            broker.stats.meters.popped(request.topic, group, count, size)
    return PeekOutcome(bodies, rest)


def notification(
    broker: Broker, request: Watch, connection: ClientConnection
) -> NotificationOutcome | Deferred[NotificationOutcome]:
    """Answer when a pop would find something, or when the time is up. Raises `OperationError`."""
    check_readable(broker, "peeking")
    topic = checked_topic(broker, connection, request.topic, request.queue_id)
    checked_group(broker, request.group)
    wanted: Wanted = None
    if broker.options.use_message_filter_for_notification and request.expression_type:
        wanted = wanted_by(broker, request.topic, request.expression, request.expression_type)
    left = time_left(request, clients_now(broker, connection))
    has_message = _has_message(broker, request, topic, wanted)
    if has_message or left <= 0:
        return NotificationOutcome(has_message)
    place = OrderKey(request.topic, request.group, request.queue_id)
    look = partial(_look, broker, request, topic, wanted)
    waiting = wait(broker, broker.pop.parked_notifications, connection, place, wanted, left, look, _is_found)
    return NotificationOutcome(False, is_polling_full=True) if waiting is None else waiting


def _look(broker: Broker, request: Watch, topic: TopicConfig, wanted: Wanted) -> NotificationOutcome:
    return NotificationOutcome(_has_message(broker, request, topic, wanted))


def _is_found(outcome: NotificationOutcome) -> bool:
    return outcome.has_message


def _has_message(broker: Broker, request: Watch, topic: TopicConfig, wanted: Wanted) -> bool:
    chance = broker.pop.chance()
    if any(_has(broker, request, *place, wanted) for place in _queues(topic, request.queue_id, chance)):
        return True
    return any(
        _has(broker, request, *place, None)
        for config in _retries(broker, request.topic, request.group)
        for place in _queues(config, ANY_QUEUE, chance)
    )


def _has(broker: Broker, request: Watch, topic: str, queue_id: int, wanted: Wanted) -> bool:
    """Return True if a queue has messages; if they are few, only those that match the tags count."""
    group, now = request.group, broker.store.steady.now()
    key = OrderKey(request.topic, group, queue_id)
    if request.is_ordered and broker.pop.orders.is_blocked(key, request.attempt_id, now):
        return False
    offset = broker.pop.first_offset(group, topic, queue_id)
    rest = broker.store.readable_end(topic, queue_id) - offset
    if rest >= broker.options.max_message_filter_num_for_notification or not isinstance(wanted, frozenset):
        return rest > 0
    units = broker.store.consume_queue_units(topic, queue_id, offset, max(rest, 0))
    if len(units) < rest:  # the tags of the others, which the local log has no longer, are unknown
        return True
    has_batches = broker.tables.topics.has_batch_queues(topic)
    # The unit of a Kafka batch does not contain the tags of its messages.
    return any(code in wanted or (has_batches and not code) for _, _, code in units)


def polling_info(broker: Broker, topic: str, group: str, queue_id: int, connection: ClientConnection) -> int:
    """Return the number of pops parked for a queue, any if negative. Raises `OperationError`."""
    check_readable(broker, "peeking")
    checked_topic(broker, connection, topic, queue_id)
    checked_group(broker, group)
    return broker.pop.parked.count(OrderKey(topic, group, max(queue_id, ANY_QUEUE)))


def _queues(topic: TopicConfig, queue_id: int, start: int) -> Iterator[tuple[str, int]]:
    """Yield one queue, or all of them starting anywhere."""
    if queue_id >= 0:
        yield topic.topic_name, queue_id
        return
    for i in range(topic.read_queue_nums):
        yield topic.topic_name, (start + i) % topic.read_queue_nums


def _retries(broker: Broker, topic: str, group: str) -> Iterator[TopicConfig]:
    """Yield the retry topics that exist."""
    options = broker.options
    kinds = [options.enable_retry_topic_v2]
    if options.enable_retry_topic_v2 and options.retrieve_message_from_pop_retry_topic_v1:
        kinds.append(False)
    for is_v2 in kinds:
        config = broker.tables.topics.get(retry_topic(topic, group, is_v2))
        if config is not None:
            yield config
