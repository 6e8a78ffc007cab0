"""Administration of topics.

RocketMQ: `AdminBrokerProcessor`.
"""

from collections.abc import Sequence
from typing import NamedTuple

from twisted.internet.defer import Deferred, succeed

from mqgateway.engine.names import SYSTEM_TOPICS
from mqgateway.engine.pop import retry_topic
from mqgateway.engine.static_topics.mappings import TopicQueueMappingDetail
from mqgateway.engine.steps import Steps, in_parts, run
from mqgateway.engine.tables.attributes import AttributeRefused
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.cluster.topic_changes import repeat_change
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.codec.bodies import MessageQueue, QueueTimeSpan, TopicOffset, TopicStatsTable
from mqgateway.gateway.codec.bodies.tables import TopicFigures


class TopicDescription(NamedTuple):
    """A topic's configuration, with its mapping if it is static and the mapping was requested."""

    config: TopicConfig
    mapping: TopicQueueMappingDetail | None


def message_count(broker: Broker, name: str) -> int:
    """Return the number of messages in the queues that a topic is configured to have."""
    config, store = broker.tables.topics.get(name), broker.store
    count = 0 if config is None else max(config.write_queue_nums, config.read_queue_nums)
    return sum(store.max_offset(name, queue) - store.min_offset(name, queue) for queue in range(count))


def figures(broker: Broker, names: Sequence[str]) -> Steps[dict[str, TopicFigures]]:
    """Return the figures of each of these topics."""
    found = {}
    for part in in_parts(names):
        for name in part:
            found[name] = TopicFigures(message_count(broker, name), broker.stats.put_tps(name))
        yield
    return found


def update_topic(broker: Broker, config: TopicConfig) -> Deferred[None]:
    """Create or change a topic; keys of its attributes are changes, `+name` or `-name`.

    Return a Deferred that fires once the name servers know it, so that their next queries find the topic.
    Raises `OperationError`.
    """
    run(_update(broker, [config]))
    return broker.cluster.registration.heard()


def repeat_update(broker: Broker, config: TopicConfig) -> Deferred[dict[str, str]]:
    """Repeat `update_topic` at the other brokers of the cluster.

    Return a Deferred of the reasons of those that refused it, by name. Not repeated are topics of Kafka,
    which one broker serves, and static topics, whose mappings are changed by a request of their own.
    """
    known = broker.tables.topics.get(config.topic_name)
    if config.topic_name in broker.tables.mappings or (known is not None and known.keeps_kafka_batches):
        return succeed({})
    directory = broker.cluster.broker_directory
    return Deferred.fromCoroutine(repeat_change(directory, broker.options, config))


def update_topics(broker: Broker, configs: Sequence[TopicConfig]) -> Steps[Deferred[None]]:
    """Create or change topics, all of them or none. Raises `OperationError`.

    Departs from RocketMQ, which ends the whole request at one topic that is unchanged.
    """
    yield from _update(broker, configs)
    return broker.cluster.registration.heard()


def delete_topic(broker: Broker, topic: str) -> None:
    """Delete a topic's settings, offsets, queues and counts; no error if it does not exist.

    Raises `OperationError` for a blank name or a system topic.
    """
    if not topic.strip():
        raise OperationError(Reason.INVALID_PARAMETER, "The specified topic is blank.")
    if broker.options.validate_system_topic_when_update_topic and broker.tables.topics.is_system(topic):
        raise OperationError(Reason.INVALID_PARAMETER, f"The topic[{topic}] is conflict with system topic.")
    broker.lite.delete_parent(topic)
    if broker.options.clear_retry_topic_when_delete_topic:
        for group in broker.tables.offsets.groups_of(topic):
            for is_v2 in (False, True):
                if broker.tables.topics.get(again := retry_topic(topic, group, is_v2)) is not None:
                    _delete(broker, again)
    _delete(broker, topic)


def topic_config(broker: Broker, topic: str, *, with_mapping: bool = False) -> TopicDescription:
    """Return a topic; of a static one also its mapping, if requested.

    Raises `OperationError` if it does not exist.
    """
    config = broker.tables.topics.get(topic)
    if config is None:
        raise OperationError(Reason.TOPIC_NOT_EXIST, f"No topic in this broker. topic: {topic}")
    return TopicDescription(config, broker.tables.mappings.table.get(topic) if with_mapping else None)


def topic_stats(broker: Broker, topic: str) -> TopicStatsTable:
    """Return both ends of each queue, and the time of its last message."""
    store = broker.store
    config = _existing(broker, topic)
    table = TopicStatsTable(topic_put_tps=broker.stats.put_tps(topic))
    for queue_id in range(max(config.write_queue_nums, config.read_queue_nums)):
        most = max(0, store.max_offset(topic, queue_id))
        table.offset_table[_queue(broker, topic, queue_id)] = TopicOffset(
            min_offset=max(0, store.min_offset(topic, queue_id)),
            max_offset=most,
            last_update_timestamp=store.store_time(topic, queue_id, most - 1) if most > 0 else 0,
        )
    return table


def time_spans(broker: Broker, topic: str, group: str, now: int) -> list[QueueTimeSpan]:
    """Return the times (ms) of each queue's first, last and last consumed message; `now` is the wall time."""
    store = broker.store
    config = _existing(broker, topic)
    spans = []
    for queue_id in range(config.write_queue_nums):
        first = store.store_time(topic, queue_id, store.min_offset(topic, queue_id))
        most = store.max_offset(topic, queue_id)
        consumed = broker.tables.offsets.query(group, topic, queue_id)
        span = QueueTimeSpan(
            message_queue=_queue(broker, topic, queue_id),
            min_time_stamp=first,
            max_time_stamp=store.store_time(topic, queue_id, most - 1),
            consume_time_stamp=store.store_time(topic, queue_id, consumed - 1) if consumed > 0 else first,
        )
        if consumed < most:
            span.delay_time = now - store.store_time(topic, queue_id, consumed)
        spans.append(span)
    return spans


def groups_of_topic(broker: Broker, topic: str) -> set[str]:
    """Return the groups that subscribe to a topic now or have offsets in it."""
    return broker.clients.groups_subscribed_to(topic) | set(broker.tables.offsets.groups_of(topic))


def system_topics(broker: Broker) -> set[str]:
    """Return the topics that are RocketMQ's or the broker's own."""
    return {
        *SYSTEM_TOPICS,
        *(name for name in broker.tables.topics.names() if broker.tables.topics.is_system(name)),
    }


def _delete(broker: Broker, topic: str) -> None:
    """Delete one topic."""
    broker.tables.topics.delete(topic)
    broker.tables.mappings.delete(topic)
    broker.tables.offsets.remove_topic(topic)
    broker.tables.request_modes.remove_topic(topic)
    broker.store.admin.delete_topics([topic])
    # Parked requests read again, so the queues are deleted before.
    broker.pop.forget_topic(topic)
    broker.consume.topic_deleted(topic)
    broker.transactions.topic_deleted(topic)
    if broker.options.auto_delete_unused_stats:
        broker.stats.topic_deleted(topic)


def _update(broker: Broker, configs: Sequence[TopicConfig]) -> Steps[None]:
    """Create or change topics, all or none; keys of their attributes are changes."""
    topics, most = broker.tables.topics, broker.options.max_topics
    for part in in_parts(configs):
        for problem in map(topics.why_not, part):
            if problem is not None:
                raise OperationError(Reason.INVALID_PARAMETER, problem)
        yield
    new = {config.topic_name for config in configs if config.topic_name not in topics}
    if new and len(topics) + len(new) > most:
        raise OperationError(
            Reason.SYSTEM_ERROR, f"there are {len(topics)} topics, maxTopics allows no more than {most}"
        )
    try:
        yield from topics.update_in_steps(configs)
    except AttributeRefused as refusal:
        raise OperationError(Reason.SYSTEM_ERROR, str(refusal)) from None


def _existing(broker: Broker, topic: str) -> TopicConfig:
    config = broker.tables.topics.get(topic)
    if config is None:
        raise OperationError(Reason.TOPIC_NOT_EXIST, f"topic[{topic}] not exist")
    return config


def _queue(broker: Broker, topic: str, queue_id: int) -> MessageQueue:
    return MessageQueue(topic, broker.options.broker_name, queue_id)
