"""Messages sent back: a message that a consumer could not process is retried later, or moved to the DLQ.

The message is read from the log at the consumer's offset, and stored once more: in the group's retry topic,
with a longer delay after each attempt; or in its DLQ topic after the last attempt, or if the consumer
requests it with a negative delay level.

RocketMQ: `AbstractSendMessageProcessor.consumerSendMsgBack`.
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
"""Delay level of the first retry, 10 seconds in RocketMQ's table; each retry uses the next."""


@dataclass(frozen=True, slots=True)
class SendBack:
    """Request of a consumer to have a message again.

    `offset` is the message's in the log; its unique `key` tells messages of one batch apart. A `delay_level`
    of 0 follows the number of attempts, a negative one moves the message to the DLQ. If `max_reconsume_times`
    is None, the group's setting limits the attempts. With `unit_mode` a retry topic that is created belongs
    to a unit.
    """

    group: str
    offset: int
    delay_level: int = 0
    max_reconsume_times: int | None = None
    unit_mode: bool = False
    key: str = ""


def send_back(broker: Broker, request: SendBack, may_use: MayUse | None) -> Deferred[None] | None:
    """Store the message again for its group; no-op without retry queues, or if its topic was deleted.

    If a topic was created for it, return a Deferred that fires once the name servers know the topic, or
    cannot be reached. Raises `OperationError`.
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
    """Return the group's retry topic and the number of its queues to use.

    The topic is created if missing, and must be writable. The number is the group's, limited to the queues of
    the topic that can be both written and read. Departs from RocketMQ, whose retries go to queues that no
    consumer reads.
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
    """Return the group's DLQ topic, which is created if missing."""
    name = DLQ_PREFIX + group
    if broker.tables.topics.create_for_send_back(name, DLQ_QUEUES, PERM_READ | PERM_WRITE, 0) is None:
        raise OperationError(Reason.SYSTEM_ERROR, f"topic[{name}] not exist")
    return name


def _again(broker: Broker, original: StoredMessage, topic: str, queue_id: int, level: int) -> Message:
    """Return the message to store again; it keeps its first topic and its first id."""
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
    """Store a message; a failure raises `OperationError` with the name of the put status."""
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
