"""Sends: from a producer's request to a stored message.

`send` checks name, permission and queue (`checked_topic`, which creates the topic if that is allowed), sets
the properties of a stored message, moves retries to the DLQ after their last attempt, turns a delay into a
wait in the schedule topic, and puts the message into the store (`put`).

This is the hottest path of the broker: with ASYNC_FLUSH it is a plain call without a Deferred. RocketMQ:
`SendMessageProcessor`, `AbstractSendMessageProcessor`, `HookUtils`.
"""

import logging
from random import random
from typing import Final

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.errors import MessageIllegal
from mqgateway.engine.lite.names import lmq_name
from mqgateway.engine.message import (
    DLQ_PREFIX,
    PROPERTY_CLUSTER,
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_INNER_MULTI_DISPATCH,
    PROPERTY_INNER_NUM,
    PROPERTY_KEYS,
    PROPERTY_LITE_TOPIC,
    PROPERTY_MSG_REGION,
    PROPERTY_POP_CK,
    PROPERTY_PRIORITY,
    PROPERTY_RETRY_TOPIC,
    PROPERTY_SHARDING_KEY,
    PROPERTY_TRACE_SWITCH,
    PROPERTY_TRANSACTION_PREPARED,
    PROPERTY_UNIQ_KEY,
    RETRY_PREFIX,
    Message,
    SysFlag,
)
from mqgateway.engine.names import TOPIC_LENGTH_MAX
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.large_batch import LARGE
from mqgateway.engine.store.message_store import PutResult
from mqgateway.engine.tables.topics import PERM_READ, PERM_WRITE, TopicConfig
from mqgateway.engine.timers.messages import TIMED
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.connection import ClientConnection
from mqgateway.gateway.broker.errors import FAQ, OperationError, Reason
from mqgateway.gateway.broker.new_message import NewMessage
from mqgateway.gateway.broker.produce.new_topics import once_registered
from mqgateway.gateway.broker.produce.put import (
    PUT_OK,
    SendOutcome,
    Sent,
    failure,
    illegal,
    put,
    put_durably,
    send_outcome,
)
from mqgateway.gateway.broker.produce.send_checks import checked_topic
from mqgateway.gateway.runtime.outcomes import then

log = logging.getLogger(__name__)

DELAYED: Final = TIMED | {PROPERTY_DELAY_TIME_LEVEL}
SPECIAL: Final = DELAYED | {PROPERTY_LITE_TOPIC, PROPERTY_PRIORITY, PROPERTY_TRANSACTION_PREPARED}
"""Properties that require more than appending the message to a queue."""
DLQ_QUEUES: Final = 1


def send(
    broker: Broker, message: NewMessage, connection: ClientConnection, now: int, *, is_batch: bool = False
) -> Sent | Steps[Sent]:
    """Store a message; with `is_batch`, the messages in its body (`client_elements`).

    A large batch is stored as a cooperative task. `now` is the wall time in ms. Raises `OperationError`,
    perhaps in a later step. The outcome of a send that created its topic waits until the name servers know
    the topic, or cannot be reached.
    """
    topic = message.topic
    known = broker.tables.topics.get(topic)
    topic_config = checked_topic(broker, message, known, connection, now)
    queue_id = message.queue_id
    if queue_id < 0:
        message.queue_id = queue_id = int(random() * topic_config.write_queue_nums)
    if topic_config.topic_filter_type == "MULTI_TAG":
        message.sys_flag |= SysFlag.MULTI_TAGS
    message.born_host = connection.host_bytes
    message.store_host = broker.store_host
    properties = message.properties
    _set_stored(broker, properties)
    is_made = known is None
    is_inner_batch = message.sys_flag & SysFlag.INNER_BATCH
    if is_inner_batch or PROPERTY_INNER_NUM in properties:
        _check_inner_batch(broker, topic_config, message)
    if is_inner_batch or is_batch:
        return _put_together(broker, topic_config, message, is_batch, connection, is_made)
    if topic.startswith(RETRY_PREFIX):
        is_made |= _redirect_retry(broker, message)
    if PROPERTY_UNIQ_KEY not in properties:
        properties[PROPERTY_UNIQ_KEY] = broker.produce.unique_keys.next(now)
    if topic_config.attributes:
        _check_attributes(topic_config, properties)
    if not SPECIAL.isdisjoint(properties):
        outcome = _put_special(broker, topic_config, message, queue_id)
    elif broker.produce.durability.is_awaited:
        outcome = put_durably(broker, message, queue_id, None, None)
    else:
        outcome = send_outcome(broker, message, queue_id, broker.store.put(message), None)
    return once_registered(broker, outcome) if is_made else outcome


def _put_special(broker: Broker, topic_config: TopicConfig, message: Message, queue_id: int) -> Sent:
    """Store a message whose properties require more than appending it to a queue."""
    properties = message.properties
    if PROPERTY_LITE_TOPIC in properties:
        lite_topic = properties[PROPERTY_LITE_TOPIC]
        properties[PROPERTY_INNER_MULTI_DISPATCH] = lmq_name(topic_config.topic_name, lite_topic)
    if PROPERTY_PRIORITY in properties:
        message.queue_id = queue_id = _priority_queue(topic_config, properties, message.queue_id)
    if PROPERTY_TRANSACTION_PREPARED in properties and _is_half(broker, message):
        return _put_half(broker, message, queue_id)
    if not DELAYED.isdisjoint(properties):
        _delay(broker, message)
    return put(broker, message, queue_id)


def _set_stored(broker: Broker, properties: dict[str, str]) -> None:
    """Add the broker's properties to those of a client, and remove the one that only the broker may set."""
    options = broker.options
    properties[PROPERTY_MSG_REGION] = options.region_id
    properties[PROPERTY_TRACE_SWITCH] = "true" if options.trace_on else "false"
    properties[PROPERTY_CLUSTER] = options.broker_cluster_name
    if PROPERTY_POP_CK in properties:
        properties.pop(PROPERTY_POP_CK)


def _check_batch(broker: Broker, message: Message) -> None:
    """Raise `OperationError` for a message that is not allowed in a batch."""
    topic = message.topic
    if topic.startswith(RETRY_PREFIX):
        raise OperationError(Reason.MESSAGE_ILLEGAL, f"batch request does not support retry group {topic}")
    if len(topic) > TOPIC_LENGTH_MAX:
        raise OperationError(Reason.MESSAGE_ILLEGAL, f"message topic length too long {len(topic)}")
    if message.sys_flag & SysFlag.TRANSACTION_MASK or _delay_level(message.properties) > 0:
        raise illegal(broker)


def _check_inner_batch(broker: Broker, topic_config: TopicConfig, message: Message) -> None:
    """Refuse a batch in one record if the topic takes none, or if Kafka's clients could not read it.

    RocketMQ: `HookUtils.checkInnerBatch`.
    """
    if not (message.sys_flag & SysFlag.INNER_BATCH and _takes_batches(topic_config)):
        raise illegal(broker)


def _takes_batches(topic_config: TopicConfig) -> bool:
    """Return True if a batch of a client becomes one record."""
    return topic_config.has_batch_queues and not topic_config.keeps_kafka_batches


def _put_together(
    broker: Broker,
    topic_config: TopicConfig,
    message: Message,
    is_batch: bool,
    connection: ClientConnection,
    is_made: bool,
) -> Sent | Steps[Sent]:
    """Store a batch: its messages one by one, or as one record if the topic has batch queues.

    For one record the client must have named the batch, as it looks for that name in the answer.
    """
    _check_batch(broker, message)
    if is_batch:
        # The messages are counted; only a batch that a client packed into one record must state their number.
        message.properties.pop(PROPERTY_INNER_NUM, None)
    batch_id = message.properties.get(PROPERTY_UNIQ_KEY)
    if not message.sys_flag & SysFlag.INNER_BATCH:
        if batch_id is None or not _takes_batches(topic_config):
            if len(message.body) > LARGE:
                return _put_large_batch(broker, message, connection, is_made)
            outcome = put(broker, message, message.queue_id, message.body)
            return once_registered(broker, outcome) if is_made else outcome
        message.sys_flag |= SysFlag.NEED_UNWRAP | SysFlag.INNER_BATCH
    outcome = put(broker, message, message.queue_id, message.body, batch_id)
    return once_registered(broker, outcome) if is_made else outcome


def _put_large_batch(
    broker: Broker, message: Message, connection: ClientConnection, is_made: bool
) -> Steps[Sent]:
    """Store a large batch as a cooperative task; at most one of them is undispatched."""
    store, topic = broker.store, message.topic
    batch = yield from store.make_ready(message, message.body)
    if isinstance(batch, PutResult):
        text = f"the batch to {topic} is refused: {batch.remark}"
        log.warning("%s: %s", connection.address, text)
        raise OperationError(Reason.MESSAGE_ILLEGAL, text)
    while store.is_behind:
        yield
    if broker.tables.topics.get(topic) is None:
        raise OperationError(Reason.TOPIC_NOT_EXIST, f"topic[{topic}] is deleted")
    outcome = put(broker, message, message.queue_id, batch)
    while store.is_behind:
        yield
    return once_registered(broker, outcome) if is_made else outcome


def _redirect_retry(broker: Broker, message: NewMessage) -> bool:
    """Redirect a message of a retry topic to the DLQ after its last attempt, or if its consumer is ordered.

    An ordered consumer counts attempts itself and sends a message here only to discard it; the locks of its
    group show that. Return True if the DLQ topic was created.
    """
    name = message.topic[len(RETRY_PREFIX) :]
    group = broker.tables.groups.find(name)
    if group is None:
        raise OperationError(
            Reason.SUBSCRIPTION_GROUP_NOT_EXIST, f"subscription group not exist, {name} {FAQ}"
        )
    turns = message.max_reconsume_times
    if turns is None:
        turns = group.retry_max_times
    if message.reconsume_times <= turns and not broker.clients.locks.any_live(
        name, elapsed_millis(broker.clock)
    ):
        return False
    dead_letters = DLQ_PREFIX + name
    is_made = dead_letters not in broker.tables.topics
    if broker.stats.meters is not None:
        origin = message.properties.get(PROPERTY_RETRY_TOPIC, message.topic)
        broker.stats.meters.dead_letters.add((name, origin))
    created = broker.tables.topics.create_for_send_back(dead_letters, DLQ_QUEUES, PERM_READ | PERM_WRITE, 0)
    if created is None:
        raise OperationError(Reason.SYSTEM_ERROR, f"topic[{dead_letters}] not exist")
    message.topic = dead_letters
    message.queue_id = 0
    message.properties[PROPERTY_DELAY_TIME_LEVEL] = "-1"
    return is_made


def _check_attributes(topic_config: TopicConfig, properties: dict[str, str]) -> None:
    """Raise `OperationError` if a message of a compacted topic, which keeps one per key, has no key."""
    if (
        topic_config.attributes.get("cleanup.policy") == "COMPACTION"
        and not properties.get(PROPERTY_KEYS, "").strip()
    ):
        raise OperationError(Reason.MESSAGE_ILLEGAL, "Required message key is missing")


def _priority_queue(topic_config: TopicConfig, properties: dict[str, str], queue_id: int) -> int:
    """Return the queue of a message with a priority: the number of the queue is the priority.

    A message that is also of another type (a transaction, delayed, in order) loses the property.
    """
    other_type = (
        properties.get(PROPERTY_TRANSACTION_PREPARED, "").lower() == "true"
        or not DELAYED.isdisjoint(properties)
        or PROPERTY_SHARDING_KEY in properties
    )
    if other_type:
        del properties[PROPERTY_PRIORITY]
        return queue_id
    text = properties[PROPERTY_PRIORITY]
    if not (text.isascii() and text.isdigit()):
        return queue_id
    return min(int(text), topic_config.write_queue_nums - 1)


def _is_half(broker: Broker, message: Message) -> bool:
    """Return True for a half message; not if a client before 4.6.1 retries with the property left in."""
    properties = message.properties
    if properties[PROPERTY_TRANSACTION_PREPARED].lower() != "true":
        return False
    if message.reconsume_times > 0 and _delay_level(properties) > 0:
        return False
    if broker.options.reject_transaction_message:
        raise OperationError(
            Reason.NO_PERMISSION,
            f"the broker[{broker.options.broker_ip1}] sending transaction message is forbidden",
        )
    return True


def _put_half(broker: Broker, message: Message, queue_id: int) -> Sent:
    """Store a half message; its other requests, such as a delay, take effect when it is committed."""
    topic = message.topic
    broker.transactions.prepare(message)

    def counted(outcome: SendOutcome) -> SendOutcome:
        if outcome.status is PUT_OK:
            broker.transactions.prepared(topic)
        return outcome

    return then(put(broker, message, queue_id), counted)


def _delay(broker: Broker, message: Message) -> None:
    """Rewrite the message to wait for its delay level, or until its own delivery time.

    RocketMQ: `HookUtils.handleScheduleMessage`.
    """
    try:
        waits = broker.delays.levels.rewrite(message)
    except MessageIllegal:
        raise illegal(broker) from None
    refusal = None if waits else broker.timers.acceptance.rewrite(message, broker.clock.millis())
    if refusal is not None:
        raise failure(broker, refusal)


def _delay_level(properties: dict[str, str]) -> int:
    """Return the requested delay level; 0 without one, or if it is not a number."""
    text = properties.get(PROPERTY_DELAY_TIME_LEVEL, "0")
    return int(text) if text.isascii() and text.removeprefix("-").isdigit() else 0
