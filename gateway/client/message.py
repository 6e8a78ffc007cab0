"""Data types of the client: messages to send, received messages, and results of sends and pulls.

Times are in ms since the epoch, bodies are bytes. Properties are text by name; those with a meaning in
RocketMQ have an attribute here. RocketMQ: `Message`, `MessageExt`, `MessageClientExt`, `SendResult`,
`MessageUtil.createReplyMessage`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Any

from mqgateway.engine.message import (
    KEY_SEPARATOR,
    NAME_VALUE_SEPARATOR,
    PROPERTY_CLUSTER,
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_KEYS,
    PROPERTY_MESSAGE_TYPE,
    PROPERTY_REPLY_TO_CLIENT,
    PROPERTY_SEPARATOR,
    PROPERTY_SHARDING_KEY,
    PROPERTY_TAGS,
    PROPERTY_TIMER_DELAY_MS,
    PROPERTY_TIMER_DELIVER_MS,
    PROPERTY_UNIQ_KEY,
    PROPERTY_WAIT_STORE_MSG_OK,
    StoredMessage,
    format_host,
    offset_message_id,
    parse_properties,
)
from mqgateway.gateway.client import arguments
from mqgateway.gateway.client.errors import BadArgument
from mqgateway.gateway.codec.bodies import MessageQueue

PROPERTY_CORRELATION_ID = "CORRELATION_ID"
PROPERTY_TTL = "TTL"
DELAY_LEVEL_MAX = 18
"""Last of RocketMQ's default delay levels; other levels of a broker can be set with the property DELAY."""
REPLY_TYPE = "reply"
REPLY_TOPIC_SUFFIX = "_REPLY_TOPIC"

queue_of = lru_cache(4096)(MessageQueue)
"""Cached constructor, so that all messages of a queue share one object."""


class Message:
    """Message to send.

    `body` may be text, which is sent as UTF-8. `tags` is one tag, which consumers filter by. `keys` is one
    key or several, without blanks; administrators query by them.

    A message is delayed by `delay_level` (1 to 18: 1s 5s 10s 30s 1m 2m ... 2h), by `delay_millis` (a number
    or a timedelta), or until `deliver_at` (ms since the epoch or an aware datetime). Only one of the three is
    allowed. `sharding_key` names the messages that are to stay in order. `flag` is an application-defined
    number. With `wait_store`, the broker answers only when the message is as safe as the broker is
    configured.

    With a `serializer`, such as `json.dumps`, `body` is any value that it converts to bytes or text.

    Raises `BadArgument` for invalid values, `TypeError` for a body or keys of another type.
    """

    __slots__ = ("body", "flag", "properties", "topic")

    def __init__(
        self,
        topic: str,
        body: Any = b"",
        *,
        tags: str | None = None,
        keys: str | Iterable[str] | None = None,
        properties: Mapping[str, str] | None = None,
        flag: int = 0,
        delay_level: int = 0,
        delay_millis: int | timedelta = 0,
        deliver_at: int | datetime = 0,
        sharding_key: str | None = None,
        wait_store: bool = True,
        serializer: Callable[[Any], bytes | str] | None = None,
    ) -> None:
        self.topic = topic if type(topic) is str else arguments.text("topic", topic)
        if serializer is not None:
            body = _serialized(serializer, body)
        self.body: bytes = body if type(body) is bytes else _octets(body)
        self.flag = flag if flag == 0 else arguments.whole("flag", flag, -(2**31), arguments.INT_MAX)
        own: dict[str, str] = {}
        self.properties = own
        if properties:
            arguments.mapping("properties", properties, "a mapping of text to text")
            for name, value in properties.items():
                self.put(name, value)
        if tags:
            self.put(PROPERTY_TAGS, tags)
        if keys:
            self._put_if(PROPERTY_KEYS, keys if isinstance(keys, str) else _joined(keys))
        if sharding_key:
            self.put(PROPERTY_SHARDING_KEY, sharding_key)
        if not delay_level == delay_millis == deliver_at == 0:
            self._put_delay(delay_level, delay_millis, deliver_at)
        if PROPERTY_WAIT_STORE_MSG_OK not in own:
            if not isinstance(wait_store, bool):
                arguments.refuse("wait_store", wait_store, "pass True or False")
            own[PROPERTY_WAIT_STORE_MSG_OK] = "true" if wait_store else "false"

    def put(self, name: str, value: str) -> None:
        """Set a property.

        Raises `BadArgument` if name or value is empty or contains one of the two separators of properties.
        """
        if not (isinstance(value, str) and isinstance(name, str) and name and value):
            raise BadArgument(f"the property {name!r} needs a name and a text: {value!r}")
        if any(mark in text for mark in (NAME_VALUE_SEPARATOR, PROPERTY_SEPARATOR) for text in (name, value)):
            raise BadArgument(f"the property {name!r} has a character that divides properties")
        self.properties[name] = value

    def _put_delay(self, level: int, millis: int | timedelta, at: int | datetime) -> None:
        """Set the given delay. Raises `BadArgument` for more than one."""
        level = arguments.whole("delay_level", level, 0, DELAY_LEVEL_MAX)
        millis = arguments.duration_millis("delay_millis", millis)
        at = arguments.time_millis("deliver_at", at) if at != 0 or isinstance(at, bool) else 0
        if bool(level) + bool(millis) + bool(at) > 1:
            raise BadArgument("a message has one delay: delay_level, delay_millis or deliver_at")
        for name, value in (
            (PROPERTY_DELAY_TIME_LEVEL, level),
            (PROPERTY_TIMER_DELAY_MS, millis),
            (PROPERTY_TIMER_DELIVER_MS, at),
        ):
            if value:
                self.put(name, str(value))

    def _put_if(self, name: str, value: str | None) -> None:
        if value:
            self.put(name, value)

    @property
    def tags(self) -> str | None:
        """Tag of the message."""
        return self.properties.get(PROPERTY_TAGS)

    @property
    def keys(self) -> list[str]:
        """Keys of the message."""
        return self.properties.get(PROPERTY_KEYS, "").split()

    @property
    def unique_key(self) -> str | None:
        """Id that the client assigns when the message is sent."""
        return self.properties.get(PROPERTY_UNIQ_KEY)

    @property
    def delay_level(self) -> int:
        """Delay level, 0 for none."""
        text = self.properties.get(PROPERTY_DELAY_TIME_LEVEL, "0")
        return int(text) if text.isascii() and text.isdigit() else 0

    @property
    def waits_for_store(self) -> bool:
        """True if the broker must answer only when the message is as safe as configured."""
        return self.properties.get(PROPERTY_WAIT_STORE_MSG_OK, "true") == "true"

    def __repr__(self) -> str:
        tags = f", tags {self.tags}" if self.tags else ""
        return f"{type(self).__name__}({self.topic!r}, {len(self.body)} bytes{tags})"


def _serialized(serializer: Callable[[Any], bytes | str], body: object) -> bytes | str:
    """Return the serialized body. Raises `BadArgument` if the result is neither bytes nor text."""
    if not callable(serializer):
        arguments.refuse("serializer", serializer, "pass a function that makes bytes or text, as json.dumps")
    made = serializer(body)
    if not isinstance(made, bytes | str):
        kind = type(made).__name__
        arguments.refuse("serializer", serializer, f"it must return bytes or text, and returned {kind}")
    return made


def _octets(body: object) -> bytes:
    """Return the body as bytes.

    Raises `TypeError`; `bytes(5)` would be five NUL bytes, which is never meant.
    """
    if isinstance(body, str):
        return body.encode()
    try:
        return bytes(memoryview(body))  # type: ignore[arg-type]
    except TypeError:
        hint = "json.dumps(body)" if isinstance(body, dict | list | tuple) else "str(body)"
        kind = type(body).__name__
        raise TypeError(f"a body is bytes or text, not {kind}: pass {hint}, or bytes of your own") from None


def _joined(keys: Iterable[str]) -> str:
    """Join keys into their property. Raises `TypeError`."""
    try:
        return KEY_SEPARATOR.join(keys)
    except TypeError:
        raise TypeError(f"keys are text, or several texts, not {keys!r}: pass str(...) of each") from None


class ReceivedMessage(Message):
    """Message received by a consumer; its body is decompressed.

    `queue` and `queue_offset` are its position. `reconsume_times` counts its failed deliveries. `message_id`
    is the id that its sender got, `offset_message_id` the one that encodes where it is stored. Properties are
    parsed on first access, because many listeners need none.
    """

    __slots__ = (
        "_added",
        "_born_host",
        "_properties",
        "_store_host",
        "_text",
        "born_timestamp",
        "physical_offset",
        "queue",
        "queue_offset",
        "reconsume_times",
        "store_size",
        "store_timestamp",
        "sys_flag",
    )

    queue: MessageQueue
    queue_offset: int
    physical_offset: int
    store_size: int
    sys_flag: int
    reconsume_times: int
    born_timestamp: int
    store_timestamp: int
    _born_host: bytes
    _store_host: bytes
    _text: bytes  # stored and added properties, until they are parsed
    _added: tuple[Mapping[str, str], ...]
    _properties: dict[str, str] | None

    @classmethod
    def of(cls, stored: StoredMessage, body: bytes, broker_name: str) -> ReceivedMessage:
        """Return the message of a stored record, given its decompressed body and the broker it came from."""
        message = cls.__new__(cls)
        message.topic = stored.topic
        message.body = body
        message.flag = stored.flag
        message.properties = stored.properties
        message._text = b""
        message._added = ()
        message.queue = queue_of(stored.topic, broker_name, stored.queue_id)
        message.queue_offset = stored.queue_offset
        message.physical_offset = stored.physical_offset
        message.store_size = stored.size
        message.sys_flag = stored.sys_flag
        message.reconsume_times = stored.reconsume_times
        message.born_timestamp = stored.born_timestamp
        message._born_host = stored.born_host
        message.store_timestamp = stored.store_timestamp
        message._store_host = stored.store_host
        return message

    @classmethod
    def of_parts(
        cls,
        head: tuple[Any, ...],
        topic: str,
        body: bytes,
        text: bytes,
        queue: MessageQueue,
        added: tuple[Mapping[str, str], ...],
    ) -> ReceivedMessage:
        """Return the message of a record parsed into fixed fields, topic, body and properties.

        The fixed fields are those of `record.PLAIN_HEAD`. `added` are further properties.
        """
        message = cls.__new__(cls)
        (
            message.store_size,
            _,
            _,
            _,
            message.flag,
            message.queue_offset,
            message.physical_offset,
            message.sys_flag,
            message.born_timestamp,
            message._born_host,
            message.store_timestamp,
            message._store_host,
            message.reconsume_times,
            _,
            _,
        ) = head
        message.topic = topic
        message.body = body
        message.queue = queue
        message._text = text
        message._added = added
        message._properties = None
        return message

    @property
    def properties(self) -> dict[str, str]:
        """Properties by name."""
        properties = self._properties
        if properties is None:
            properties = parse_properties(self._text.decode("utf-8", "replace"))
            for added in self._added:
                properties.update(added)
            self._properties = properties
        return properties

    @properties.setter
    def properties(self, properties: dict[str, str]) -> None:
        self._properties = properties

    def add(self, added: Mapping[str, str]) -> None:
        """Set several properties without parsing the stored ones."""
        if self._properties is None:
            self._added = (*self._added, added)
        else:
            self._properties.update(added)

    def text(self) -> str:
        """Return the body as text. Raises `UnicodeDecodeError` if it is not UTF-8."""
        return self.body.decode()

    def json(self) -> Any:
        """Return the body parsed as JSON. Raises `ValueError` if it is not JSON."""
        return json.loads(self.body)

    @property
    def born_host(self) -> str:
        """`ip:port` of the sender."""
        return format_host(self._born_host)

    @property
    def store_host(self) -> str:
        """`ip:port` of the broker that stored the message."""
        return format_host(self._store_host)

    @property
    def offset_message_id(self) -> str:
        """Id that encodes where the message is stored."""
        return offset_message_id(self._store_host, self.physical_offset)

    @property
    def message_id(self) -> str:
        """Id that the sender got."""
        return self.properties.get(PROPERTY_UNIQ_KEY) or self.offset_message_id

    def reply(self, body: bytes | str) -> Message:
        """Return a reply to this message, to be sent with any producer.

        Raises `BadArgument` if the message is not a request. RocketMQ: `MessageUtil.createReplyMessage`.
        """
        cluster = self.properties.get(PROPERTY_CLUSTER)
        asked = {
            name: self.properties.get(name) for name in (PROPERTY_CORRELATION_ID, PROPERTY_REPLY_TO_CLIENT)
        }
        if not cluster or not all(asked.values()):
            raise BadArgument("this message asks for no reply")
        reply = Message(cluster + REPLY_TOPIC_SUFFIX, body)
        for name, value in {**asked, PROPERTY_TTL: self.properties.get(PROPERTY_TTL)}.items():
            reply._put_if(name, value)
        reply.put(PROPERTY_MESSAGE_TYPE, REPLY_TYPE)
        return reply

    def __repr__(self) -> str:
        place = f"{self.queue.broker_name}/{self.queue.queue_id}@{self.queue_offset}"
        return f"ReceivedMessage({self.topic!r} {place}, {len(self.body)} bytes)"


class SendStatus(StrEnum):
    """Durability of a stored message; with each status the message is stored. RocketMQ: same name."""

    SEND_OK = "SEND_OK"
    FLUSH_DISK_TIMEOUT = "FLUSH_DISK_TIMEOUT"
    FLUSH_SLAVE_TIMEOUT = "FLUSH_SLAVE_TIMEOUT"
    SLAVE_NOT_AVAILABLE = "SLAVE_NOT_AVAILABLE"


@dataclass(frozen=True, slots=True)
class SendResult:
    """Position and ids of a stored message.

    For a batch, both ids are those of its messages joined by commas, and the offset is that of the first. A
    delayed message can be recalled with its `recall_handle`.
    """

    status: SendStatus
    message_id: str
    offset_message_id: str
    queue: MessageQueue
    queue_offset: int
    transaction_id: str | None = None
    recall_handle: str | None = None


class PullStatus(StrEnum):
    """Outcome of a pull. RocketMQ: same name."""

    FOUND = "FOUND"
    NO_NEW_MSG = "NO_NEW_MSG"
    NO_MATCHED_MSG = "NO_MATCHED_MSG"
    OFFSET_ILLEGAL = "OFFSET_ILLEGAL"


@dataclass(frozen=True, slots=True)
class PullResult:
    """Result of a pull: messages, next offset, and the minimum and maximum offset of the queue."""

    status: PullStatus
    next_offset: int
    min_offset: int
    max_offset: int
    messages: list[ReceivedMessage]


class TransactionState(StrEnum):
    """Outcome of a local transaction; after UNKNOWN the broker checks again.

    RocketMQ: `LocalTransactionState`.
    """

    COMMIT = "COMMIT_MESSAGE"
    ROLLBACK = "ROLLBACK_MESSAGE"
    UNKNOWN = "UNKNOW"


@dataclass(frozen=True, slots=True)
class TransactionResult:
    """Sent half message and the outcome of its transaction."""

    sent: SendResult
    state: TransactionState
