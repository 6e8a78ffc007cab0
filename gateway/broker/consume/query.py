"""Queries: messages by key or id, offsets by time, ends of a queue, ranges of its index.

RocketMQ: `QueryMessageProcessor`, `AdminBrokerProcessor`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred

from mqgateway.engine.store.key_query import INDEX_KEY
from mqgateway.engine.store.results import QueryResult
from mqgateway.gateway.broker.cold import reading
from mqgateway.gateway.broker.connection import MayUse
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.records import record_at
from mqgateway.gateway.codec.bodies.consuming import ConsumeQueueData, QueryConsumeQueueResponseBody

if TYPE_CHECKING:
    from mqgateway.gateway.broker.broker import Broker

HALVING_ROUNDS = 64
"""Maximum loads from the disk for a search by time.

It is a binary search in up to 2**32 messages, and each step may load a unit and a record.
"""
QUEUE_UNITS_MAX = 1024
"""Maximum units of a queue's index in one answer."""


def query_message(
    broker: Broker,
    topic: str,
    key: str,
    begin: int,
    end: int,
    max_num: int | None = None,
    index_type: str = INDEX_KEY,
) -> QueryResult | Deferred[QueryResult]:
    """Return the newest records of a topic with this key that were stored in [begin, end] ms.

    There may be none. Without `max_num` there are `defaultQueryMaxNum` at most.
    """
    most = broker.store_options.default_query_max_num if max_num is None else max_num

    def attempt(rounds: int) -> QueryResult:
        return broker.store.query(topic, key, most, begin, end, index_type, may_wait=not rounds)

    return reading(broker, attempt)


def view_message(broker: Broker, physical_offset: int, may_use: MayUse | None) -> bytes | Deferred[bytes]:
    """Return the record at a log offset, as it is stored. Raises `OperationError` if there is none."""

    def attempt(rounds: int) -> bytes:
        record = record_at(broker, physical_offset, may_use, may_wait=not rounds)
        if record is None:
            why = f"can not find message by the offset, {physical_offset}"
            raise OperationError(Reason.SYSTEM_ERROR, why)
        return record

    return reading(broker, attempt)


def search_offset(
    broker: Broker, topic: str, queue_id: int, timestamp: int, *, is_upper: bool = False
) -> int | Deferred[int]:
    """Return the queue offset for a store time (ms).

    That is the first message stored then or later, or with `is_upper` the last one stored then or before.
    """

    def attempt(rounds: int) -> int:
        return broker.store.offset_by_time(topic, queue_id, timestamp, is_upper, may_wait=not rounds)

    return reading(broker, attempt, HALVING_ROUNDS)


def max_offset(broker: Broker, topic: str, queue_id: int) -> int:
    """Return the end of what consumers may read of a queue: the offset of its next message, or of the first
    one of an open transaction of Kafka; 0 for a queue without messages so far."""
    return broker.store.readable_end(topic, queue_id)


def min_offset(broker: Broker, topic: str, queue_id: int) -> int:
    """Return the offset of the queue's oldest stored message; -1 for an empty queue of batches."""
    if broker.tables.topics.has_batch_queues(topic) and not broker.store.max_offset(topic, queue_id):
        return -1  # RocketMQ: `BatchConsumeQueue`
    return broker.store.min_offset(topic, queue_id)


def earliest_store_time(broker: Broker, topic: str, queue_id: int) -> int | Deferred[int]:
    """Return the store time of a queue's oldest message (ms); -1 if the queue is empty."""
    store = broker.store

    def attempt(rounds: int) -> int:
        first = store.min_offset(topic, queue_id)
        return store.store_time(topic, queue_id, first, may_wait=not rounds)

    return reading(broker, attempt)


def query_consume_queue(
    broker: Broker, topic: str, queue_id: int, index: int, count: int, group: str | None = None
) -> QueryConsumeQueueResponseBody | Deferred[QueryConsumeQueueResponseBody | None] | None:
    """Return a range of a queue's index: log offset, size in bytes and tag hash of each message.

    The result is None if the queue has no message at `index`. With a group it includes the group's
    subscription. Raises `OperationError` if the queue does not exist.
    """

    def attempt(rounds: int) -> QueryConsumeQueueResponseBody | None:
        return _stretch(broker, topic, queue_id, index, count, group, may_wait=not rounds)

    return reading(broker, attempt)


def _stretch(
    broker: Broker, topic: str, queue_id: int, index: int, count: int, group: str | None, *, may_wait: bool
) -> QueryConsumeQueueResponseBody | None:
    store = broker.store
    if queue_id not in store.queues().get(topic, ()):
        raise OperationError(Reason.SYSTEM_ERROR, f"{queue_id}@{topic} is not exist!")
    first, last = store.min_offset(topic, queue_id), store.max_offset(topic, queue_id)
    if not first <= index < last:
        return None
    units = store.consume_queue_units(topic, queue_id, index, min(count, QUEUE_UNITS_MAX), may_wait=may_wait)
    body = QueryConsumeQueueResponseBody(
        min_queue_index=first,
        max_queue_index=last,
        queue_data=[
            ConsumeQueueData(physic_offset=position, physic_size=size, tags_code=tags_code)
            for position, size, tags_code in units
        ],
    )
    if group is not None:
        body.subscription_data = broker.clients.subscription(group, topic)
        if body.subscription_data is None:
            body.filter_data = f"{group}@{topic} is not online!"
    return body
