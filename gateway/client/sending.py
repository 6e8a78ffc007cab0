"""Preparation of messages for sending: checks, ids, compression; no I/O, times in ms since the epoch.

A message is prepared once for all attempts. RocketMQ: `DefaultMQProducerImpl.sendKernelImpl`, `Validators`,
`MQClientAPIImpl.processSendResponse`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from mqgateway.engine.message import (
    PROPERTY_INNER_MULTI_DISPATCH,
    PROPERTY_INSTANCE_ID,
    PROPERTY_MAX_RECONSUME_TIMES,
    PROPERTY_MESSAGE_TYPE,
    PROPERTY_RECONSUME_TIME,
    PROPERTY_TRANSACTION_PREPARED,
    PROPERTY_UNIQ_KEY,
    PROPERTY_WAIT_STORE_MSG_OK,
    RETRY_PREFIX,
    SysFlag,
    format_properties,
)
from mqgateway.engine.names import SEND_FORBIDDEN_TOPICS, validate_group, validate_topic
from mqgateway.gateway.client.answers import decode_header
from mqgateway.gateway.client.batches import check_batch
from mqgateway.gateway.client.compression import compress
from mqgateway.gateway.client.errors import BadArgument, BrokerError
from mqgateway.gateway.client.identity import MessageIds
from mqgateway.gateway.client.message import REPLY_TYPE, Message, SendResult, SendStatus
from mqgateway.gateway.client.namespaces import with_namespace, without_namespace
from mqgateway.gateway.client.options import ProducerOptions
from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import SendMessageRequestHeaderV2, SendMessageResponseHeader

STATUS: Final = {
    ResponseCode.SUCCESS: SendStatus.SEND_OK,
    ResponseCode.FLUSH_DISK_TIMEOUT: SendStatus.FLUSH_DISK_TIMEOUT,
    ResponseCode.FLUSH_SLAVE_TIMEOUT: SendStatus.FLUSH_SLAVE_TIMEOUT,
    ResponseCode.SLAVE_NOT_AVAILABLE: SendStatus.SLAVE_NOT_AVAILABLE,
}
"""Response codes of stored messages."""

RETRIABLE: Final = frozenset(
    {
        ResponseCode.TOPIC_NOT_EXIST,
        ResponseCode.SERVICE_NOT_AVAILABLE,
        ResponseCode.SYSTEM_ERROR,
        ResponseCode.SYSTEM_BUSY,
        ResponseCode.NO_PERMISSION,
        ResponseCode.NO_BUYER_ID,
        ResponseCode.NOT_IN_CURRENT_UNIT,
        ResponseCode.GO_AWAY,
    }
)
"""Refusals after which another broker is tried. RocketMQ: `DefaultMQProducer.retryResponseCodes`."""

TOPICS_KEPT: Final = 4096
"""Number of topics whose validation is cached."""

# Resolved once: access to an enum member costs as much as a whole check of a message.
_SEND: Final = int(RequestCode.SEND_MESSAGE_V2)
_SEND_REPLY: Final = int(RequestCode.SEND_REPLY_MESSAGE_V2)
_SEND_BATCH: Final = int(RequestCode.SEND_BATCH_MESSAGE)

_WIRE: Final = {field.name: field.wire_name for field in SendMessageRequestHeaderV2.__fields__}
_QUEUE_ID: Final = _WIRE["queue_id"]
_SYS_FLAG: Final = _WIRE["sys_flag"]
_BORN: Final = _WIRE["born_timestamp"]
_FLAG: Final = _WIRE["flag"]
_PROPERTIES: Final = _WIRE["properties"]
_BROKER: Final = _WIRE["bname"]
_BATCH: Final = _WIRE["batch"]
_TIMES: Final = _WIRE["reconsume_times"]
_TIMES_MAX: Final = _WIRE["max_reconsume_times"]


class PreparedSend:
    """Parts that all attempts share: request code, body, and the header without the queue.

    `origin` is the message; for a batch, a message that represents it in traces.
    """

    __slots__ = (
        "body",
        "code",
        "flag",
        "is_batch",
        "max_reconsume_times",
        "message_id",
        "origin",
        "properties",
        "reconsume_times",
        "sys_flag",
        "topic",
    )

    def __init__(
        self,
        code: int,
        topic: str,
        body: bytes,
        sys_flag: int,
        flag: int,
        properties: str,
        message_id: str,
        origin: Message,
        is_batch: bool,
        reconsume_times: int = 0,
        max_reconsume_times: int | None = None,
    ) -> None:
        self.code = code
        self.topic = topic
        self.body = body
        self.sys_flag = sys_flag
        self.flag = flag
        self.properties = properties
        self.message_id = message_id
        self.origin = origin
        self.is_batch = is_batch
        self.reconsume_times = reconsume_times
        self.max_reconsume_times = max_reconsume_times

    def header(self, common: dict[str, str], queue: MessageQueue, now: int) -> dict[str, str]:
        """Return the header fields of a send to a queue.

        `common` are those of its topic, from `common_header`.
        """
        fields = common.copy()
        fields[_QUEUE_ID] = str(queue.queue_id)
        fields[_BORN] = str(now)
        fields[_PROPERTIES] = self.properties
        fields[_BROKER] = queue.broker_name
        if self.sys_flag:
            fields[_SYS_FLAG] = str(self.sys_flag)
        if self.flag:
            fields[_FLAG] = str(self.flag)
        if self.is_batch:
            fields[_BATCH] = "true"
        if self.reconsume_times:
            fields[_TIMES] = str(self.reconsume_times)
        if self.max_reconsume_times is not None:
            fields[_TIMES_MAX] = str(self.max_reconsume_times)
        return fields

    def result(
        self, answer: RemotingCommand, queue: MessageQueue, address: str, namespace: str
    ) -> SendResult:
        """Convert the answer of a send. Raises `BrokerError` if the message was not stored."""
        status = STATUS.get(answer.code)  # type: ignore[call-overload]
        if status is None:
            raise BrokerError(answer.code, answer.remark, address)
        header = decode_header(SendMessageResponseHeader, answer)
        if namespace or header.queue_id != queue.queue_id:
            topic = without_namespace(namespace, queue.topic)
            queue = MessageQueue(topic, queue.broker_name, header.queue_id)
        return SendResult(
            status,
            header.batch_uniq_id or self.message_id,
            header.msg_id,
            queue,
            header.queue_offset,
            header.transaction_id,
            header.recall_handle,
        )


def common_header(group: str, topic: str, options: ProducerOptions) -> dict[str, str]:
    """Return the header fields shared by all sends of a group to a topic.

    The other fields are included with the values that they have in most sends.
    """
    return SendMessageRequestHeaderV2(
        producer_group=group,
        topic=topic,
        default_topic=options.create_topic_key,
        default_topic_queue_nums=options.default_topic_queue_nums,
        queue_id=0,
        sys_flag=0,
        born_timestamp=0,
        flag=0,
        properties="",
        reconsume_times=0,
        unit_mode=options.unit_mode,
        batch=False,
        bname="",
    ).encode()


def prepare(message: Message, options: ProducerOptions, ids: MessageIds, now: int) -> PreparedSend:
    """Check a message, assign an id if it has none, compress its body. Raises `BadArgument`.

    The id stays with the message, so that a message sent again can be recognized.
    """
    check_message(message, options)
    properties = message.properties
    key = properties.get(PROPERTY_UNIQ_KEY)
    if key is None:
        key = properties[PROPERTY_UNIQ_KEY] = ids.next(now)
    if options.namespace:
        properties[PROPERTY_INSTANCE_ID] = options.namespace
    body, sys_flag = message.body, 0
    if len(body) >= options.compress_msg_body_over_howmuch:
        body = compress(body, options.compress_type, options.compress_level)
        sys_flag = options.compress_type.flag
    half = properties.get(PROPERTY_TRANSACTION_PREPARED)
    if half is not None and half.lower() == "true":
        sys_flag |= SysFlag.TRANSACTION_PREPARED
    code = _SEND_REPLY if properties.get(PROPERTY_MESSAGE_TYPE) == REPLY_TYPE else _SEND
    topic = with_namespace(options.namespace, message.topic) if options.namespace else message.topic
    times = 0
    times_max: int | None = None
    if topic.startswith(RETRY_PREFIX):
        # A message that a consumer could not send back otherwise; the broker reads the counts from the
        # header.
        properties = dict(properties)
        times = int(properties.pop(PROPERTY_RECONSUME_TIME, "0"))
        text_max = properties.pop(PROPERTY_MAX_RECONSUME_TIMES, None)
        times_max = None if text_max is None else int(text_max)
    text = format_properties(properties)
    return PreparedSend(
        code, topic, body, sys_flag, message.flag, text, key, message, False, times, times_max
    )


def give_ids(messages: Iterable[Message], ids: MessageIds, now: int) -> None:
    """Assign ids to messages that have none."""
    keys = ids.keys(now)
    for message in messages:
        properties = message.properties
        if PROPERTY_UNIQ_KEY not in properties:
            properties[PROPERTY_UNIQ_KEY] = keys.next(now)


def prepare_batch(messages: Sequence[Message], body: bytes, options: ProducerOptions) -> PreparedSend:
    """Check a batch of messages that have ids, and prepare it with its encoded body, without compression.

    Raises `BadArgument`.
    """
    check_batch(messages)
    check_sendable(messages[0].topic)
    check_contents(messages, options)
    if len(body) > options.max_message_size:
        raise BadArgument(f"a batch of {len(body)} bytes, more than {options.max_message_size}")
    wait = "true" if messages[0].waits_for_store else "false"
    return PreparedSend(
        _SEND_BATCH,
        with_namespace(options.namespace, messages[0].topic),
        body,
        0,
        0,
        format_properties({PROPERTY_WAIT_STORE_MSG_OK: wait}),
        ",".join([message.properties[PROPERTY_UNIQ_KEY] for message in messages]),
        Message(messages[0].topic, body),
        True,
    )


def check_message(message: Message, options: ProducerOptions) -> None:
    """Check topic and content of a message. Raises `BadArgument`."""
    check_sendable(message.topic)
    check_contents((message,), options)


def check_sendable(topic: str) -> None:
    """Check that messages can be sent to a topic. Raises `BadArgument`."""
    refusal = _topic_refusal(topic)
    if refusal is not None:
        raise BadArgument(refusal)


def check_contents(messages: Sequence[Message], options: ProducerOptions) -> None:
    """Check bodies and properties of messages. Raises `BadArgument`."""
    size_max = options.max_message_size
    for message in messages:
        size = len(message.body)
        if not size:
            raise BadArgument("a message without body")
        if size > size_max:
            raise BadArgument(f"a body of {size} bytes, more than {size_max}")
        properties = message.properties
        if PROPERTY_INNER_MULTI_DISPATCH in properties and "/" in properties[PROPERTY_INNER_MULTI_DISPATCH]:
            raise BadArgument(f"{PROPERTY_INNER_MULTI_DISPATCH} has a slash")


@lru_cache(TOPICS_KEPT)
def _topic_refusal(topic: str) -> str | None:
    """Return the reason why messages cannot be sent to a topic, None if they can."""
    if topic in SEND_FORBIDDEN_TOPICS:
        return f"nothing may be sent to {topic}"
    return validate_topic(topic)


def check_topic(topic: str) -> None:
    """Check the name of a topic. Raises `BadArgument`."""
    refusal = validate_topic(topic)
    if refusal is not None:
        raise BadArgument(f"topic={topic!r}: {refusal}")


def check_group(group: str, reserved: str) -> None:
    """Check the name of a group. Raises `BadArgument`."""
    refusal = validate_group(group)
    if refusal is not None:
        raise BadArgument(f"group={group!r}: {refusal}")
    if group == reserved:
        raise BadArgument(f"group={reserved!r}: is reserved, take another name")
