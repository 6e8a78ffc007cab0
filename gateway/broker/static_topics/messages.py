"""Sends to static topics, and pulls from them.

A message is stored in the last mapping item of its queue, on the broker that leads the queue; its producer
gets the number and offset of the queue. A pull reads the item that contains its offset, on any broker. Its
answer has offsets of the queue, and at an item's end the start of the next one. RocketMQ:
`SendMessageProcessor` and `PullMessageProcessor`, `rewriteRequestForStaticTopic` and
`rewriteResponseForStaticTopic` of each.
"""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import TYPE_CHECKING, Final

from twisted.internet.defer import Deferred

from mqgateway.engine.ha.member_group import MASTER_ID
from mqgateway.engine.static_topics.items import MappingItem
from mqgateway.engine.steps import Steps
from mqgateway.gateway.broker.connection import ClientConnection
from mqgateway.gateway.broker.consume import pull as of_this_broker
from mqgateway.gateway.broker.consume.pull_request import (
    PullOutcome,
    PullOutcomeStatus,
    PullRequest,
)
from mqgateway.gateway.broker.new_message import NewMessage
from mqgateway.gateway.broker.produce.put import SendOutcome, Sent
from mqgateway.gateway.broker.produce.send import send as store
from mqgateway.gateway.broker.static_topics import outgoing_requests
from mqgateway.gateway.broker.static_topics.state import LogicalQueue, led_queue
from mqgateway.gateway.runtime.outcomes import then, then_in_steps

if TYPE_CHECKING:
    from mqgateway.gateway.broker.broker import Broker

CANNOT_PULL: Final = "cannot find mapping item in request process of current broker {broker}"
"""Refusal of pulls from a queue that another broker leads."""


def send(
    broker: Broker, message: NewMessage, connection: ClientConnection, now: int, *, is_batch: bool = False
) -> Sent | Steps[Sent]:
    """Store a message in a queue of a static topic or of this broker; see `produce.send.send`."""
    if broker.tables.mappings.table:
        queue = led_queue(broker.tables.mappings, message.topic, message.queue_id, chooses=True)
        if queue is not None:
            message.queue_id = queue.leader.queue_id
            outcome = store(broker, message, connection, now, is_batch=is_batch)
            in_queue = partial(_in_queue, queue)
            if isinstance(outcome, Generator):
                return then_in_steps(outcome, in_queue)
            return then(outcome, in_queue)
    return store(broker, message, connection, now, is_batch=is_batch)


def _in_queue(queue: LogicalQueue, outcome: SendOutcome) -> SendOutcome:
    """Convert the outcome of a send to a queue's last item to the queue.

    The offset is -1 as long as the start of the item is unknown.
    """
    outcome.queue_offset = queue.leader.logical_inside(outcome.queue_offset)
    outcome.queue_id = queue.queue_id
    return outcome


def pull(
    broker: Broker, request: PullRequest, connection: ClientConnection
) -> PullOutcome | Deferred[PullOutcome]:
    """Return records of a queue of a static topic or of this broker; see `consume.pull.pull`."""
    if broker.tables.mappings.table:
        queue = led_queue(broker.tables.mappings, request.topic, request.queue_id, CANNOT_PULL)
        if queue is not None:
            return _pull_item(broker, request, connection, queue)
    return of_this_broker.pull(broker, request, connection)


def _pull_item(
    broker: Broker, request: PullRequest, connection: ClientConnection, queue: LogicalQueue
) -> PullOutcome | Deferred[PullOutcome]:
    """Read the item that contains the offset.

    An offset to commit with the pull is ignored unless it is in the same item; clients also commit by a
    request.
    """
    item = queue.at(request.offset)
    requested, later = item.physical(request.offset), queue.after(item)
    if later is not None and item.has_end and requested >= item.end_offset:
        return _at_the_end(queue, later)
    most, commit_offset = request.max_messages, -1
    if item.has_end:
        most = min(most, item.end_offset - requested)
    if request.commit_offset >= 0 and queue.at(request.commit_offset) is item:
        commit_offset = item.physical(request.commit_offset)
    as_logical = partial(_as_logical, queue, item, requested)
    if not queue.is_here(item):
        inner = request.elsewhere(item.queue_id, requested, most, request.max_wait, commit_offset)
        return outgoing_requests.pull(broker.cluster.broker_directory, item, inner).addCallback(as_logical)
    max_wait = None if later is not None else request.max_wait  # an item that has a successor never grows
    inner = request.elsewhere(item.queue_id, requested, most, max_wait, commit_offset)
    return then(of_this_broker.pull(broker, inner, connection), as_logical)


def _as_logical(queue: LogicalQueue, item: MappingItem, requested: int, outcome: PullOutcome) -> PullOutcome:
    """Convert an outcome of a broker's queue to the queue of the mapping item."""
    if outcome.status is not PullOutcomeStatus.FOUND:
        item = _moved_on(queue, item, requested, outcome)
    return _with_logical_offsets(queue, item, outcome)


def _moved_on(queue: LogicalQueue, item: MappingItem, requested: int, outcome: PullOutcome) -> MappingItem:
    """Return the item to continue in when nothing was found: perhaps the next one."""
    is_first, is_last = item is queue.at(0), item is queue.leader
    if requested >= outcome.max_offset and (is_first or not is_last):
        later = queue.after(item)
        if later is not None:
            _begin(later, outcome)
            return later
        outcome.status = PullOutcomeStatus.NOT_FOUND  # the start of the next one may be unknown yet
    elif requested < outcome.min_offset:
        outcome.status = PullOutcomeStatus.OFFSET_MOVED if is_first else PullOutcomeStatus.RETRY_IMMEDIATELY
        outcome.next_offset = outcome.min_offset
    return item


def _begin(item: MappingItem, outcome: PullOutcome) -> None:
    """Continue at the start of an item."""
    outcome.status = PullOutcomeStatus.RETRY_IMMEDIATELY
    outcome.next_offset = outcome.min_offset = outcome.max_offset = item.start_offset


def _at_the_end(queue: LogicalQueue, later: MappingItem) -> PullOutcome:
    """Return the answer to a pull at the end of an item that has a successor."""
    outcome = PullOutcome(PullOutcomeStatus.RETRY_IMMEDIATELY, None, b"", 0, 0, 0, MASTER_ID, 0, 0)
    _begin(later, outcome)
    return _with_logical_offsets(queue, later, outcome)


def _with_logical_offsets(queue: LogicalQueue, item: MappingItem, outcome: PullOutcome) -> PullOutcome:
    """Replace offsets of the item by offsets of the queue."""
    next_offset = outcome.next_offset
    if item.has_end:
        next_offset = min(next_offset, item.end_offset)
    outcome.next_offset = item.logical(next_offset)
    outcome.min_offset = item.logical(outcome.min_offset)
    outcome.max_offset = max(item.logical(outcome.max_offset), queue.leader.logical_end)
    outcome.offset_delta = item.logic_offset - item.start_offset
    return outcome
