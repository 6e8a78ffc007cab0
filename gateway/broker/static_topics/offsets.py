"""Ends, times and consumer offsets of queues of static topics, combined from their mapping items.

Each operation has the name of one in `consume`, which serves the queues of all other topics.

Departs from RocketMQ where it queries one item for a queue of another (the end of a queue, the time of its
oldest message), and in the item that a search by time selects: here the first that has a message of that time
or later. RocketMQ: `rewriteRequestForStaticTopic` of `AdminBrokerProcessor` and `ConsumerManageProcessor`.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred, inlineCallbacks, succeed

from mqgateway.engine.static_topics.items import MappingItem
from mqgateway.gateway.broker.consume import offsets, query
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.static_topics import outgoing_requests
from mqgateway.gateway.broker.static_topics.state import LogicalQueue, led_queue
from mqgateway.gateway.runtime.outcomes import as_deferred

if TYPE_CHECKING:
    from mqgateway.gateway.broker.broker import Broker

END_OF_ALL = 2**63 - 1
NOT_LED = "is not leader in broker {broker}, request code 31"
"""Refusal of a query for the first offset of a queue that another broker leads."""


def max_offset(broker: Broker, topic: str, queue_id: int) -> int | Deferred[int]:
    """Return the offset of the queue's next message."""
    queue = led_queue(broker.tables.mappings, topic, queue_id)
    if queue is None:
        return query.max_offset(broker, topic, queue_id)
    last = queue.at(END_OF_ALL)
    if queue.is_here(last):
        return last.logical(query.max_offset(broker, topic, last.queue_id))
    return outgoing_requests.max_offset(broker.cluster.broker_directory, topic, last).addCallback(
        last.logical
    )


def min_offset(broker: Broker, topic: str, queue_id: int) -> int | Deferred[int]:
    """Return the offset of the oldest message in the queue."""
    queue = led_queue(broker.tables.mappings, topic, queue_id, NOT_LED)
    if queue is None:
        return query.min_offset(broker, topic, queue_id)
    first = queue.at(0)
    if queue.is_here(first):
        return first.logical_inside(query.min_offset(broker, topic, first.queue_id))
    return outgoing_requests.min_offset(broker.cluster.broker_directory, topic, first).addCallback(
        first.logical_inside
    )


def earliest_store_time(broker: Broker, topic: str, queue_id: int) -> int | Deferred[int]:
    """Return the store time (ms) of the oldest message of a queue."""
    queue = led_queue(broker.tables.mappings, topic, queue_id)
    if queue is None:
        return query.earliest_store_time(broker, topic, queue_id)
    first = queue.at(0)
    if queue.is_here(first):
        return query.earliest_store_time(broker, topic, first.queue_id)
    return outgoing_requests.earliest_store_time(broker.cluster.broker_directory, topic, first)


def search_offset(
    broker: Broker, topic: str, queue_id: int, timestamp: int, *, is_upper: bool = False
) -> int | Deferred[int]:
    """Return the offset of a store time (ms), in the first item with so late a message, or the last."""
    queue = led_queue(broker.tables.mappings, topic, queue_id)
    if queue is None:
        return query.search_offset(broker, topic, queue_id, timestamp, is_upper=is_upper)
    found: Deferred[int] = _search(broker, queue, timestamp, is_upper)
    return found


@inlineCallbacks
def _search(
    broker: Broker, queue: LogicalQueue, timestamp: int, is_upper: bool
) -> Generator[Deferred[Any], Any, int]:
    topic = queue.topic
    items = [item for item in queue.items if item.logic_offset >= 0]
    offset = -1
    for item in reversed(items) if is_upper else items:
        if queue.is_here(item):
            outcome = query.search_offset(broker, topic, item.queue_id, timestamp, is_upper=is_upper)
            found = yield as_deferred(outcome)
        else:
            found = yield outgoing_requests.search_offset(
                broker.cluster.broker_directory, topic, item, timestamp, is_upper
            )
        offset = item.logical_inside(max(0, found))
        if is_upper:
            is_outside = found <= item.start_offset
        else:
            is_outside = item is not items[-1] and found >= (yield _end(broker, queue, item))
        if not is_outside:
            break
    return offset


def _end(broker: Broker, queue: LogicalQueue, item: MappingItem) -> Deferred[int]:
    """Return the end of an item in its broker's queue; RocketMQ's tools do not set it."""
    if item.has_end:
        return succeed(item.end_offset)
    if queue.is_here(item):
        return succeed(query.max_offset(broker, queue.topic, item.queue_id))
    return outgoing_requests.max_offset(broker.cluster.broker_directory, queue.topic, item)


def query_offset(
    broker: Broker, group: str, topic: str, queue_id: int, *, set_zero_if_not_found: bool = True
) -> int | Deferred[int]:
    """Return the offset committed in the last item in which there is one."""
    queue = led_queue(broker.tables.mappings, topic, queue_id)
    if queue is not None and not queue.is_plain:
        found: Deferred[int] = _last_committed(broker, group, queue)
        return found
    queue_id = queue_id if queue is None else queue.leader.queue_id
    return offsets.query_offset(broker, group, topic, queue_id, set_zero_if_not_found=set_zero_if_not_found)


@inlineCallbacks
def _last_committed(broker: Broker, group: str, queue: LogicalQueue) -> Generator[Deferred[Any], Any, int]:
    topic = queue.topic
    for item in reversed(queue.items):
        try:
            if queue.is_here(item):
                offset = offsets.query_offset(
                    broker, group, topic, item.queue_id, set_zero_if_not_found=False
                )
            else:
                offset = yield outgoing_requests.query_offset(
                    broker.cluster.broker_directory, group, topic, item
                )
        except OperationError as error:
            if error.reason is not Reason.QUERY_NOT_FOUND:
                raise
        else:
            return item.logical(offset)
    raise OperationError(Reason.QUERY_NOT_FOUND, "Not found, maybe this group consumer boot first")


def update_offset(
    broker: Broker, group: str, topic: str, queue_id: int, offset: int
) -> bool | Deferred[bool]:
    """Commit the offset on the broker of the item that contains it."""
    queue = led_queue(broker.tables.mappings, topic, queue_id)
    if queue is None:
        return offsets.update_offset(broker, group, topic, queue_id, offset)
    item = queue.at(offset)
    if queue.is_here(item):
        return offsets.update_offset(broker, group, topic, item.queue_id, item.physical(offset))
    return outgoing_requests.update_offset(
        broker.cluster.broker_directory, group, topic, item, item.physical(offset)
    )
