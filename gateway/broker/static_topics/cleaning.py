"""Removal of old mapping items of static topics, at the hours when old files are deleted.

Removed are first items that no longer have messages, for which their brokers are queried; and items of queues
that have since moved from the broker that took them over. RocketMQ: `TopicQueueMappingCleanService`.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Mapping
from datetime import datetime
from typing import Any

from twisted.internet.defer import Deferred, inlineCallbacks

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.static_topics.items import MappingItem
from mqgateway.engine.static_topics.mappings import TopicQueueMappingDetail
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.errors import OperationError
from mqgateway.gateway.broker.static_topics import outgoing_requests
from mqgateway.gateway.codec.bodies import MessageQueue, TopicOffset

log = logging.getLogger(__name__)

CLEAN_SECONDS = 300.0
UNCLEAN = (OperationError, ConfigError, ValueError)
"""Errors that skip a topic until the next time: a broker does not answer, or not correctly."""


def is_time(broker: Broker) -> bool:
    """Return True if old data is deleted at this hour. RocketMQ: `UtilAll.isItTimeToDo`."""
    hour = datetime.fromtimestamp(broker.clock.millis() / 1000).hour
    words = broker.store_options.delete_when.replace(" ", "").split(";")
    return any(word.isdecimal() and int(word) == hour for word in words)


@inlineCallbacks
def clean(broker: Broker) -> Generator[Deferred[Any], Any, None]:
    """Clean the mappings of all static topics once; never fails."""
    for topic in list(broker.tables.mappings.table):
        for forget in (_forget_empty, _forget_moved):
            mapping = broker.tables.mappings.table.get(topic)
            if mapping is None:
                break
            try:
                found: Mapping[int, list[MappingItem]] = yield forget(broker, mapping)
            except UNCLEAN as error:
                log.info("the mapping of static topic %s is not cleaned: %s", topic, error)
                continue
            # A mapping that changed while brokers were queried is left for the next time.
            if found and broker.tables.mappings.table.get(topic) is mapping:
                queues = ", ".join(map(str, sorted(found)))
                log.info("old mapping items of static topic %s are removed, queues %s", topic, queues)
                broker.tables.mappings.clean(topic, found)


@inlineCallbacks
def _forget_empty(
    broker: Broker, mapping: TopicQueueMappingDetail
) -> Generator[Deferred[Any], Any, Mapping[int, list[MappingItem]]]:
    """Return the remaining items of queues led here whose first item has no messages."""
    moved = {
        number: items for number, items in mapping.queues.items() if len(items) > 1 and mapping.leads(number)
    }
    ends = {}
    for name in sorted({items[0].broker_name for items in moved.values()} - {mapping.broker_name}):
        ends[name] = yield outgoing_requests.queue_ends(broker.cluster.broker_directory, mapping.topic, name)
    left = {}
    for number, items in moved.items():
        first = items[0]
        if first.broker_name == mapping.broker_name:
            store = broker.store
            least = store.min_offset(mapping.topic, first.queue_id)
            end = TopicOffset(least, store.max_offset(mapping.topic, first.queue_id))
        else:
            queue = MessageQueue(mapping.topic, first.broker_name, first.queue_id)
            end = ends[first.broker_name].get(queue)
        if end is not None and end.max_offset in (0, end.min_offset):
            left[number] = items[1:]
    return left


@inlineCallbacks
def _forget_moved(
    broker: Broker, mapping: TopicQueueMappingDetail
) -> Generator[Deferred[Any], Any, Mapping[int, list[MappingItem]]]:
    """Return no items for queues that moved from here to a broker from which they moved again."""
    given = {
        number: items[-1].broker_name
        for number, items in mapping.queues.items()
        if items and not mapping.leads(number)
    }
    if not given:
        return {}
    leaders = yield outgoing_requests.leaders(broker.cluster.broker_directory, mapping.topic)
    known: dict[str, TopicQueueMappingDetail] = {}
    for name in sorted({leaders[number] for number in given if number in leaders} - {mapping.broker_name}):
        known[name] = yield outgoing_requests.mapping_of(broker.cluster.broker_directory, mapping.topic, name)
    return {
        number: []
        for number, name in given.items()
        if (leader := leaders.get(number)) in known
        and leader != name
        and _agrees(known[leader], mapping, number)
    }


def _agrees(leaders: TopicQueueMappingDetail, mapping: TopicQueueMappingDetail, number: int) -> bool:
    """Return True if the leader's own mapping says that it leads a queue, in the same state of the topic."""
    same = (leaders.total_queues, leaders.epoch) == (mapping.total_queues, mapping.epoch)
    return same and leaders.leads(number)
