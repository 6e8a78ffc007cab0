"""Reads of a pop: which queues, in which order, from which offset.

Reading changes only the initial offset of a group. So it may end with `ColdRead`, and be repeated once the
messages are in memory. RocketMQ: `PopMessageProcessor.popMsgFromTopic`, `popMsgFromQueue`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mqgateway.engine.message import PROPERTY_POP_CK, RETRY_PREFIX, properties_text
from mqgateway.engine.pop import OrderKey, Receipt, kind_of, retry_topic
from mqgateway.engine.store.message_store import GetResult, GetStatus
from mqgateway.engine.store.record import decode, encode, record_size, sys_flag_for, topic_field
from mqgateway.engine.store.results import transfer_limits
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.offsets import UNKNOWN
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.consume.initial_offset import begins_fresh
from mqgateway.gateway.broker.consume.long_polling import Wanted
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.parked_pops import ANY_QUEUE

PRIORITY = "PRIORITY"
PRIORITY_FACTOR = "priority.factor"
MESSAGE_TYPE = "message.type"
MISPLACED = (GetStatus.OFFSET_TOO_SMALL, GetStatus.OFFSET_OVERFLOW_BADLY, GetStatus.OFFSET_FOUND_NULL)


class Receive(NamedTuple):
    """A request for messages of a topic. Times in ms.

    A new group begins at the end of a queue, unless it begins `from_oldest`. With the `attempt_id` of the
    last request in order, the same messages are delivered again. `born_time` is the time of the request by
    the client's clock, 0 for now.
    """

    group: str
    topic: str
    max_messages: int
    invisible_time: int
    max_wait: int
    expression: str | None
    expression_type: str | None
    is_ordered: bool
    attempt_id: str | None
    queue_id: int = ANY_QUEUE
    from_oldest: bool = False
    born_time: int = 0


class QueueToPop(NamedTuple):
    """A queue to read."""

    topic: str
    queue_id: int

    @property
    def is_retry(self) -> bool:
        """True for a queue of a retry topic."""
        return self.topic.startswith(RETRY_PREFIX)


class PopReadResult(NamedTuple):
    """Result of reading one queue from an offset."""

    queue: QueueToPop
    offset: int
    result: GetResult


def queues_to_read(
    broker: Broker, request: Receive, topic: TopicConfig, group: SubscriptionGroupConfig
) -> Iterator[QueueToPop]:
    """Yield the queues in the order of reading; the first is random."""
    options, chance = broker.options, broker.pop.chance()
    by_priority = (
        topic.attributes.get(MESSAGE_TYPE) == PRIORITY
        and not request.is_ordered
        and chance < _priority_factor(group)
    )
    likely = options.pop_from_retry_probability
    if by_priority:
        likely = options.pop_from_retry_probability_for_priority
    start = 0 if by_priority else chance
    retries: list[QueueToPop] = []
    if not request.is_ordered:
        is_v2 = options.enable_retry_topic_v2
        if is_v2 and options.retrieve_message_from_pop_retry_topic_v1 and chance % 2 == 0:
            is_v2 = False
        config = broker.tables.topics.get(retry_topic(request.topic, request.group, is_v2))
        retries = [] if config is None else list(_queues(broker, config, start))
    if chance < likely:
        yield from retries
    if request.queue_id >= 0:
        yield QueueToPop(request.topic, request.queue_id)
    else:
        yield from _queues(broker, topic, start)
    if chance >= likely:
        yield from retries


def _priority_factor(group: SubscriptionGroupConfig) -> int:
    """Return the percentage of pops in which queues of high priority come first."""
    text = group.attributes.get(PRIORITY_FACTOR, "")
    return int(text) if text.isdecimal() else 100


def _queues(broker: Broker, config: TopicConfig, start: int) -> Iterator[QueueToPop]:
    count = config.read_queue_nums
    for i in range(count):
        index = count - 1 - i if broker.options.priority_order_asc else i
        yield QueueToPop(config.topic_name, (index + start) % count)


def read(
    broker: Broker, request: Receive, queues: list[QueueToPop], wanted: Wanted, *, may_wait: bool
) -> tuple[list[PopReadResult], int]:
    """Read the queues; return the results, and the number of messages beyond them. Raises `ColdRead`."""
    state, store, group = broker.pop, broker.store, request.group
    now, limits = broker.store.steady.now(), transfer_limits(broker.store_options)
    found: list[PopReadResult] = []
    count = rest = 0
    for queue in queues:
        topic, queue_id = queue
        key = OrderKey(topic, group, queue_id)
        if _is_held_back(broker, key):
            rest += store.readable_end(topic, queue_id) - state.first_offset(group, topic, queue_id)
            continue
        offset = _start(broker, request, queue)
        if request.is_ordered and state.orders.is_blocked(key, request.attempt_id, now):
            continue
        if count >= request.max_messages or (
            request.is_ordered and not state.orders.has_room(key, len(found))
        ):
            rest += store.readable_end(topic, queue_id) - offset
            continue
        most = request.max_messages - count
        result = store.get(topic, queue_id, offset, most, accept=wanted, may_wait=may_wait, limits=limits)
        if result.status in MISPLACED:
            broker.tables.offsets.commit(group, topic, queue_id, result.next_offset)
            offset = result.next_offset
            result = store.get(topic, queue_id, offset, most, accept=wanted, may_wait=may_wait, limits=limits)
        found.append(PopReadResult(queue, offset, result))
        count += len(result.queue_offsets)
    return found, rest


def _is_held_back(broker: Broker, key: OrderKey) -> bool:
    """Return True if the group has too many unacknowledged messages in flight."""
    options = broker.options
    return (
        options.enable_pop_message_threshold
        and broker.pop.log.in_flight.count(key) > options.pop_inflight_message_threshold
    )


def _start(broker: Broker, request: Receive, queue: QueueToPop) -> int:
    """Return the group's next offset of a queue, or its initial offset.

    RocketMQ: `getPopOffset`, `getInitOffset`. Raises `OperationError` if no more offsets may be kept.
    """
    group, (topic, queue_id) = request.group, queue
    state, store = broker.pop, broker.store
    offset = broker.tables.offsets.query(group, topic, queue_id)
    if offset == UNKNOWN:
        if request.from_oldest or queue.is_retry:
            offset = store.min_offset(topic, queue_id)
        elif broker.options.init_pop_offset_by_check_msg_in_mem and begins_fresh(broker, topic, queue_id):
            offset = 0
        else:
            offset = max(0, store.readable_end(topic, queue_id) - 1)
        if not broker.tables.offsets.commit(group, topic, queue_id, offset):
            most = broker.options.max_offsets
            raise OperationError(
                Reason.SYSTEM_ERROR, f"{most} offsets are kept, no more are allowed (maxOffsets)"
            )
    reset = state.take_reset(group, topic, queue_id)
    return offset if reset is None else reset


def as_delivered(body: bytes, topic: str, receipt: Receipt) -> bytes:
    """Return records of a retry topic as clients receive them: under the topic itself, with their receipts.

    RocketMQ: the end of `popMsgFromQueue`.
    """
    records = []
    at = 0
    while at < len(body):
        stored = decode(body, at)
        at += stored.size
        own = receipt._replace(kind=kind_of(stored.topic))
        stored.properties.setdefault(PROPERTY_POP_CK, own.of_message(stored.queue_id, stored.queue_offset))
        properties = properties_text(stored.properties)
        name = topic_field(topic, True)
        sys_flag = sys_flag_for(stored)
        size = record_size(sys_flag, len(stored.body), len(name[1]), len(properties))
        records.append(
            encode(
                stored,
                stored.body,
                properties,
                name,
                size,
                sys_flag,
                stored.flag,
                stored.queue_offset,
                stored.physical_offset,
                stored.store_timestamp,
            )
        )
    return b"".join(records)
