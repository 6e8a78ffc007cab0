"""A client's message as it is stored, and a stored message as clients get it.

RocketMQ: `SendMessageActivity.buildMessageProperty`, `GrpcConverter`, `MessageConst.STRING_HASH_SET`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from mqgateway.engine.message import (
    KEY_SEPARATOR,
    PROPERTY_CHECK_IMMUNITY_TIME_IN_SECONDS,
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_DLQ_ORIGIN_MESSAGE_ID,
    PROPERTY_DLQ_ORIGIN_TOPIC,
    PROPERTY_INNER_MULTI_DISPATCH,
    PROPERTY_KAFKA,
    PROPERTY_KAFKA_PRODUCER,
    PROPERTY_KEYS,
    PROPERTY_LITE_TOPIC,
    PROPERTY_PRIORITY,
    PROPERTY_PRODUCER_GROUP,
    PROPERTY_RECONSUME_TIME,
    PROPERTY_SHARDING_KEY,
    PROPERTY_TAGS,
    PROPERTY_TIMER_DELAY_MS,
    PROPERTY_TIMER_DELAY_SEC,
    PROPERTY_TIMER_DELIVER_MS,
    PROPERTY_TRANSACTION_PREPARED,
    PROPERTY_UNIQ_KEY,
    StoredMessage,
    format_host,
    unpack_host,
)
from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.grpc import v2
from mqgateway.gateway.grpc.service import bodies
from mqgateway.gateway.grpc.service.names import (
    check_tag,
    checked_lite_topic,
    has_control,
    is_time,
    millis_of,
    timestamp,
)
from mqgateway.gateway.grpc.service.status import CallRefused, Code

PROPERTY_BORN_HOST: Final = "__BORNHOST"
PROPERTY_BORN_TIMESTAMP: Final = "BORN_TIMESTAMP"
PROPERTY_TRACE_CONTEXT: Final = "TRACE_CONTEXT"

_OF_THE_STANDARD: Final = """
    TRACE_ON MSG_REGION KEYS TAGS WAIT DELAY RETRY_TOPIC REAL_TOPIC REAL_QID TRAN_MSG PGROUP MIN_OFFSET
    MAX_OFFSET BUYER_ID ORIGIN_MESSAGE_ID TRANSFER_FLAG CORRECTION_FLAG MQ2_FLAG RECONSUME_TIME UNIQ_KEY
    MAX_RECONSUME_TIMES
    CONSUME_START_TIME POP_CK POP_CK_OFFSET 1ST_POP_TIME TRAN_PREPARED_QUEUE_OFFSET DUP_INFO EXTEND_UNIQ_INFO
    INSTANCE_ID CORRELATION_ID REPLY_TO_CLIENT TTL ARRIVE_TIME PUSH_REPLY_TIME CLUSTER MSG_TYPE
    INNER_MULTI_QUEUE_OFFSET TIMER_DELAY_MS TIMER_DELAY_SEC TIMER_DELIVER_MS TIMER_ENQUEUE_MS TIMER_DEQUEUE_MS
    TIMER_ROLL_TIMES TIMER_OUT_MS TIMER_DEL_UNIQKEY TIMER_DELAY_LEVEL __BORNHOST BORN_TIMESTAMP
    DLQ_ORIGIN_TOPIC DLQ_ORIGIN_MESSAGE_ID __CRC32#
"""
OF_THE_STANDARD: Final = frozenset(_OF_THE_STANDARD.split())
"""Properties that users must not set, by RocketMQ's set."""
OF_THE_BROKER: Final = OF_THE_STANDARD | {
    PROPERTY_SHARDING_KEY,
    PROPERTY_LITE_TOPIC,
    PROPERTY_PRIORITY,
    PROPERTY_TRACE_CONTEXT,
    PROPERTY_CHECK_IMMUNITY_TIME_IN_SECONDS,
    "__transactionId__",
    "TRANSACTION_CHECK_TIMES",
    "INNER_NUM",
    "INNER_BASE",
    "ORIGIN_GROUP",
    PROPERTY_KAFKA,
    PROPERTY_KAFKA_PRODUCER,
}
"""All properties that users must not set: RocketMQ's set, those that it lacks, and ours."""
NOT_SHOWN: Final = OF_THE_BROKER | {PROPERTY_INNER_MULTI_DISPATCH}
"""Properties that are not returned as a user's. The last may be set: it sends a message to LMQ queues."""

_DELAYED: Final = frozenset(
    {
        PROPERTY_DELAY_TIME_LEVEL,
        PROPERTY_TIMER_DELIVER_MS,
        PROPERTY_TIMER_DELAY_SEC,
        PROPERTY_TIMER_DELAY_MS,
    }
)
_NUMBER_DIGITS_MAX: Final = 18


class SendContext(NamedTuple):
    """Context in which a message is stored: the time (wall clock, ms), the peer as `ip:port`, and the
    delay levels in ms.
    """

    now: int
    address: str
    levels: tuple[int, ...]


def stored_properties(message: v2.Message, options: BrokerOptions, sending: SendContext) -> dict[str, str]:
    """Return the properties of a client's message as they are stored. Raises `CallRefused`."""
    system = message.system_properties
    properties = _user_properties(message, options)
    if system.tag:
        properties[PROPERTY_TAGS] = system.tag
    if system.keys:
        properties[PROPERTY_KEYS] = KEY_SEPARATOR.join(system.keys)
    if not system.message_id.strip():
        raise CallRefused(Code.ILLEGAL_MESSAGE_ID, "message id cannot be empty")
    if has_control(system.message_id):
        raise CallRefused(Code.ILLEGAL_MESSAGE_ID, "message id cannot contain control character")
    properties[PROPERTY_UNIQ_KEY] = system.message_id
    if system.message_type == v2.MessageType.TRANSACTION:
        properties[PROPERTY_TRANSACTION_PREPARED] = "true"
        if system.HasField("orphaned_transaction_recovery_duration"):
            seconds = _recovery_seconds(system.orphaned_transaction_recovery_duration.seconds, options)
            properties[PROPERTY_CHECK_IMMUNITY_TIME_IN_SECONDS] = seconds
    if system.HasField("delivery_timestamp"):
        _set_delay(properties, system.delivery_timestamp, options, sending)
    properties[PROPERTY_RECONSUME_TIME] = str(system.delivery_attempt)
    properties[PROPERTY_PRODUCER_GROUP] = message.topic.name
    if system.message_group:
        _check_message_group(system.message_group, options)
        properties[PROPERTY_SHARDING_KEY] = system.message_group
    if system.lite_topic:
        properties[PROPERTY_LITE_TOPIC] = checked_lite_topic(system.lite_topic, options)
    if system.HasField("priority"):
        if system.priority < 0:
            raise CallRefused(Code.INTERNAL_SERVER_ERROR, "The priority must be greater than or equal to 0")
        properties[PROPERTY_PRIORITY] = str(system.priority)
    _set_origin(properties, system, sending)
    return properties


def _user_properties(message: v2.Message, options: BrokerOptions) -> dict[str, str]:
    """Return the user's properties, checked together with tag and keys, as they share one limit."""
    given, most = message.user_properties, options.user_property_max_num
    if len(given) > most:
        raise _too_large(f"too many user properties, max is {most}")
    size = 0
    for name, value in given.items():
        if name in OF_THE_BROKER:
            raise _illegal_property(f"property is used by system: {name}")
        if has_control(name):
            raise _illegal_property("the key of property cannot contain control character")
        if has_control(value):
            raise _illegal_property("the value of property cannot contain control character")
        size += len(name.encode()) + len(value.encode())
    system = message.system_properties
    check_tag(system.tag)
    size += len(system.tag.encode())
    for key in system.keys:
        if key and not key.strip():
            raise CallRefused(Code.ILLEGAL_MESSAGE_KEY, "key cannot be the char sequence of whitespace")
        if has_control(key):
            raise CallRefused(Code.ILLEGAL_MESSAGE_KEY, "key cannot contain control character")
        size += len(key.encode())
    if size > options.max_user_property_size > 0:
        raise _too_large(
            f"the total size of user property is too large, max is {options.max_user_property_size}"
        )
    return dict(given)


def _too_large(message: str) -> CallRefused:
    return CallRefused(Code.MESSAGE_PROPERTIES_TOO_LARGE, message)


def _illegal_property(message: str) -> CallRefused:
    return CallRefused(Code.ILLEGAL_MESSAGE_PROPERTY_KEY, message)


def _recovery_seconds(seconds: int, options: BrokerOptions) -> str:
    most = options.max_transaction_recovery_second
    if seconds > most > 0:
        raise CallRefused(
            Code.BAD_REQUEST, f"the max transaction recovery time of message is too large, max is {most}"
        )
    return str(seconds)


def _check_message_group(group: str, options: BrokerOptions) -> None:
    if not group.strip():
        raise _illegal_group("message group cannot be the char sequence of whitespace")
    most = options.max_message_group_size
    if len(group.encode()) >= most > 0:
        raise _illegal_group(f"message group exceed the max size {most}")
    if has_control(group):
        raise _illegal_group("message group cannot contain control character")


def _illegal_group(message: str) -> CallRefused:
    return CallRefused(Code.ILLEGAL_MESSAGE_GROUP, message)


def _set_delay(
    properties: dict[str, str], time: v2.Timestamp, options: BrokerOptions, sending: SendContext
) -> None:
    due = millis_of(time)
    most, ahead = options.max_delay_time_mills, due - sending.now
    if ahead > most > 0 or not is_time(time):
        raise CallRefused(
            Code.ILLEGAL_DELIVERY_TIME, f"the max delay time of message is too large, max is {most}"
        )
    if options.use_delay_level:
        properties[PROPERTY_DELAY_TIME_LEVEL] = str(_first_longer(sending.levels, ahead))
    properties[PROPERTY_TIMER_DELIVER_MS] = str(due)


def _first_longer(levels: tuple[int, ...], ahead: int) -> int:
    """Return the first delay level of more than `ahead` ms, counted from 1; the last one if there is none."""
    for level, millis in enumerate(levels, 1):
        if millis > ahead:
            return level
    return len(levels)


def _set_origin(properties: dict[str, str], system: v2.SystemProperties, sending: SendContext) -> None:
    """Set the origin and the birth time of a message, and its trace."""
    for name, value in (
        (PROPERTY_TRACE_CONTEXT, system.trace_context),
        (PROPERTY_BORN_HOST, system.born_host if system.born_host.strip() else sending.address),
    ):
        if has_control(value):
            raise CallRefused(Code.BAD_REQUEST, f"{name} cannot contain control character")
        if value:
            properties[name] = value
    is_said = system.HasField("born_timestamp") and is_time(system.born_timestamp)
    born = millis_of(system.born_timestamp) if is_said else sending.now
    properties[PROPERTY_BORN_TIMESTAMP] = str(born)


def message_type_of(properties: dict[str, str]) -> v2.MessageType:
    """Return the type of a stored message. RocketMQ: `TopicMessageType.parseFromMessageProperty`."""
    if properties.get(PROPERTY_TRANSACTION_PREPARED) == "true":
        return v2.MessageType.TRANSACTION
    if not _DELAYED.isdisjoint(properties):
        return v2.MessageType.DELAY
    if PROPERTY_SHARDING_KEY in properties:
        return v2.MessageType.FIFO
    if PROPERTY_PRIORITY in properties:
        return v2.MessageType.PRIORITY
    if PROPERTY_LITE_TOPIC in properties:
        return v2.MessageType.LITE
    return v2.MessageType.NORMAL


def received_message(
    stored: StoredMessage,
    now: int,
    inflated_max: int,
    *,
    handle: str | None = None,
    topic: str | None = None,
    times_consumed: int | None = None,
) -> v2.Message:
    """Return a stored message as a client gets it. `now` is the wall time in ms.

    `topic` is the name under which the message is delivered, by default its own. `times_consumed` is the
    number of earlier deliveries, if the record does not have it.
    """
    properties = stored.properties
    body, encoding = bodies.as_received(stored.body, stored.sys_flag, inflated_max)
    consumed = stored.reconsume_times if times_consumed is None else times_consumed
    system = v2.SystemProperties(
        message_id=properties.get(PROPERTY_UNIQ_KEY) or stored.message_id,
        body_digest=bodies.digest_of(body),
        body_encoding=encoding,
        message_type=message_type_of(properties),
        born_timestamp=timestamp(stored.born_timestamp),
        born_host=properties.get(PROPERTY_BORN_HOST) or unpack_host(stored.born_host)[0],
        store_timestamp=timestamp(stored.store_timestamp),
        store_host=_host_text(stored.store_host),
        queue_id=stored.queue_id,
        queue_offset=stored.queue_offset,
        delivery_attempt=consumed + 1,
        tag=properties.get(PROPERTY_TAGS),
        receipt_handle=handle,
        message_group=properties.get(PROPERTY_SHARDING_KEY),
        trace_context=properties.get(PROPERTY_TRACE_CONTEXT),
        lite_topic=properties.get(PROPERTY_LITE_TOPIC),
        priority=_number(properties.get(PROPERTY_PRIORITY)),
    )
    keys = properties.get(PROPERTY_KEYS)
    if keys is not None:
        system.keys.extend(keys.rstrip(KEY_SEPARATOR).split(KEY_SEPARATOR))
    due = _due(properties, now)
    if due is not None:
        system.delivery_timestamp.CopyFrom(timestamp(due))
    origin, origin_id = (
        properties.get(PROPERTY_DLQ_ORIGIN_TOPIC),
        properties.get(PROPERTY_DLQ_ORIGIN_MESSAGE_ID),
    )
    if origin is not None and origin_id is not None:
        system.dead_letter_queue.CopyFrom(v2.DeadLetterQueue(topic=origin, message_id=origin_id))
    return v2.Message(
        topic=resource(stored.topic if topic is None else topic),
        user_properties={name: properties[name] for name in properties.keys() - NOT_SHOWN},
        system_properties=system,
        body=body,
    )


_host_text: Final = lru_cache(maxsize=256)(format_host)


def _due(properties: dict[str, str], now: int) -> int | None:
    """Return the delivery time of a message, in ms; None if it is immediate or unreadable."""
    seconds = _number(properties.get(PROPERTY_TIMER_DELAY_SEC))
    if seconds is not None:
        return now + seconds * 1000
    return _number(properties.get(PROPERTY_TIMER_DELIVER_MS))


def _number(text: str | None) -> int | None:
    if text is None or not (text.isascii() and text.isdigit()) or len(text) > _NUMBER_DIGITS_MAX:
        return None
    return int(text)


@lru_cache(maxsize=256)
def resource(name: str) -> v2.Resource:
    """Split the namespace from a stored name, `ns%topic`. The result is put into messages, which copy it.

    RocketMQ: `NamespaceUtil`.
    """
    for prefix in ("%RETRY%", "%DLQ%"):
        if name.startswith(prefix):
            inner = resource(name.removeprefix(prefix))
            return v2.Resource(resource_namespace=inner.resource_namespace, name=prefix + inner.name)
    namespace, mark, rest = name.partition("%")
    if not (namespace and mark and rest):
        return v2.Resource(name=name)
    return v2.Resource(resource_namespace=namespace, name=rest)
