"""Sending back: what a consumer could not use comes again later, or becomes a dead letter.

The message is read from the log where the consumer says it lies, and stored once more: in the
retry topic of the group, delayed longer with every turn, or in its dead letter topic when the
turns are over or the consumer asks for it with a negative delay level.

Standard: `AbstractSendMessageProcessor.consumerSendMsgBack`.
"""

from dataclasses import dataclass
from random import randrange

from twisted.internet.defer import Deferred

from mqgateway.engine.delay_levels import topics_of
from mqgateway.engine.message import (
    DLQ_PREFIX,
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_ORIGIN_MESSAGE_ID,
    PROPERTY_RETRY_TOPIC,
    PROPERTY_WAIT_STORE_MSG_OK,
    RETRY_PREFIX,
    SCHEDULE_TOPIC,
    Message,
    StoredMessage,
    message_type,
)
from mqgateway.engine.store.message_store import PutStatus
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import PERM_READ, PERM_WRITE, UNIT_SUB_FLAG
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.cold import reading
from mqgateway.gateway.broker.connection import MayUse
from mqgateway.gateway.broker.errors import FAQ, OperationError, Reason
from mqgateway.gateway.broker.produce.new_topics import once_registered
from mqgateway.gateway.broker.records import look_up

DLQ_QUEUES = 1
FIRST_LEVEL = 3
"""The delay level of the first turn, 10 seconds in the standard's table; each turn takes the next."""


@dataclass(frozen=True, slots=True)
class SendBack:
    """What a consumer says of a message that it wants again.

    `offset` is the message's in the log; `key`, its unique key, tells messages of one batch apart. A
    `delay_level` of 0 goes by how often the message was tried, one below that makes it a dead letter.
    `max_reconsume_times` is None where the group's setting says when it becomes one. With `unit_mode` a retry
    topic that is made belongs to a unit.
    """

    group: str
    offset: int
    delay_level: int = 0
    max_reconsume_times: int | None = None
    unit_mode: bool = False
    key: str = ""


def send_back(broker: Broker, request: SendBack, may_use: MayUse | None) -> Deferred[None] | None:
    """Store the message again for its group; nothing is stored for a group without retry queues, or of a
    topic that was deleted since.

    Where a topic was made for it, that is done once the name servers know the topic, or cannot. Raises
    `OperationError`.
    """
    version = broker.tables.topics.data_version.counter

    def attempt(rounds: int) -> Deferred[None] | None:
        _store_again(broker, request, may_use, may_wait=not rounds)
        is_made = broker.tables.topics.data_version.counter != version
        return once_registered(broker, None) if is_made else None

    return reading(broker, attempt)


def _store_again(broker: Broker, request: SendBack, may_use: MayUse | None, *, may_wait: bool) -> None:
    group = broker.tables.groups.find(request.group)
    if group is None:
        raise OperationError(
            Reason.SUBSCRIPTION_GROUP_NOT_EXIST, f"subscription group not exist, {request.group} {FAQ}"
        )
    if not broker.options.broker_permission & PERM_WRITE:
        raise OperationError(
            Reason.NO_PERMISSION,
            f"the broker[{broker.options.broker_ip1}] sending message is forbidden",
        )
    if group.retry_queue_nums <= 0:
        return
    retry_topic, queues = _retry_topic(broker, request, group)
    original = look_up(broker, request.offset, may_use, request.key, may_wait=may_wait)
    if original is None:
        raise OperationError(Reason.SYSTEM_ERROR, f"look message by offset failed, {request.offset}")
    if any(broker.tables.topics.leaves_out(topic, request.offset) for topic in topics_of(original)):
        return
    turns = request.max_reconsume_times
    if turns is None:
        turns = group.retry_max_times
    level = request.delay_level
    if original.reconsume_times >= turns or level < 0:
        message = _again(broker, original, _dead_letter_topic(broker, request.group), 0, 0)
    else:
        level = level or FIRST_LEVEL + original.reconsume_times
        message = _again(broker, original, retry_topic, randrange(queues), level)
    _put(broker, message, request.group)


def _retry_topic(broker: Broker, request: SendBack, group: SubscriptionGroupConfig) -> tuple[str, int]:
    """The topic of a group's retries, made when it is not there yet, once it may be written to; and how many
    of its queues retries go to: those of the group, as far as the topic has them for writers and readers.

    Departs from the standard, whose retries go to queues that nobody reads.
    """
    name = RETRY_PREFIX + request.group
    unit_flag = UNIT_SUB_FLAG if request.unit_mode else 0
    topic = broker.tables.topics.create_for_send_back(
        name, group.retry_queue_nums, PERM_READ | PERM_WRITE, unit_flag
    )
    if topic is None:
        raise OperationError(Reason.SYSTEM_ERROR, f"topic[{name}] not exist")
    if not topic.perm & PERM_WRITE:
        raise OperationError(Reason.NO_PERMISSION, f"the topic[{name}] sending message is forbidden")
    queues = min(group.retry_queue_nums, topic.write_queue_nums, topic.read_queue_nums)
    return name, max(1, queues)


def _dead_letter_topic(broker: Broker, group: str) -> str:
    """The topic of a group's dead letters, made when it is not there yet."""
    name = DLQ_PREFIX + group
    if broker.tables.topics.create_for_send_back(name, DLQ_QUEUES, PERM_READ | PERM_WRITE, 0) is None:
        raise OperationError(Reason.SYSTEM_ERROR, f"topic[{name}] not exist")
    return name


def _again(broker: Broker, original: StoredMessage, topic: str, queue_id: int, level: int) -> Message:
    """The message as it is stored once more; it remembers its first topic and its first id."""
    properties = dict(original.properties)
    properties.setdefault(PROPERTY_RETRY_TOPIC, original.topic)
    properties[PROPERTY_WAIT_STORE_MSG_OK] = "false"
    properties[PROPERTY_DELAY_TIME_LEVEL] = str(level)
    if not properties.get(PROPERTY_ORIGIN_MESSAGE_ID, "").strip():
        properties[PROPERTY_ORIGIN_MESSAGE_ID] = original.message_id
    return Message(
        topic,
        queue_id,
        original.body,
        properties,
        original.born_timestamp,
        original.born_host,
        broker.store_host,
        original.flag,
        original.sys_flag,
        original.reconsume_times + 1,
    )


def _put(broker: Broker, message: Message, group: str) -> None:
    """Store it; any other end than success is told by the name of the put status."""
    if int(message.properties[PROPERTY_DELAY_TIME_LEVEL]) > 0:
        broker.delays.levels.rewrite(message)
    result = broker.store.put(message)
    if result.status is not PutStatus.PUT_OK:
        raise OperationError(Reason.SYSTEM_ERROR, result.status.name)
    stats, size = broker.stats, result.end_offset - result.physical_offset
    if message.topic == SCHEDULE_TOPIC:
        stats.delayed_again(size)
    origin = message.properties[PROPERTY_RETRY_TOPIC]
    stats.sent_back(group, origin)
    if stats.meters is None:
        return
    if message.topic == DLQ_PREFIX + group:
        stats.meters.dead_letters.add((group, origin))
    else:
        stats.meters.put(RETRY_PREFIX + group, message_type(message.properties), 1, size)
