"""Message traces: records of sends and consumption in the trace topic.

Official tools find them by message id. A record is a list of fields joined by 0x01 and ended by 0x02. Records
are buffered until there are ten, or for 5 s. Then they are sent as messages whose keys are the ids (and keys)
of the traced messages. Records that cannot be sent are lost and logged; when the buffer is full, new ones are
dropped. Off unless `enable_trace` is set.

RocketMQ: `AsyncTraceDispatcher`, `TraceDataEncoder`, `SendMessageTraceHookImpl`,
`ConsumeMessageTraceHookImpl`, `EndTransactionTraceHookImpl`, `DefaultRecallMessageTraceHook` (which is off
unless a system property is set; here recalls are recorded with the rest).
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from twisted.internet.defer import Deferred

from mqgateway.engine.message import (
    KEY_SEPARATOR,
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_MSG_REGION,
    PROPERTY_TRACE_SWITCH,
    PROPERTY_TRANSACTION_PREPARED,
)
from mqgateway.gateway.client.client import Client, together
from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.client.listening import Consumed
from mqgateway.gateway.client.message import (
    Message,
    ReceivedMessage,
    SendResult,
    SendStatus,
    TransactionState,
)
from mqgateway.gateway.client.options import ClientOptions

log = logging.getLogger(__name__)

GROUP_PREFIX = "_INNER_TRACE_PRODUCER"
DEFAULT_REGION = "DefaultRegion"
FLUSH_SECONDS = 5.0
MESSAGE_BYTES_MAX = 128_000

# Ordinals of RocketMQ's `MessageType` and `ConsumeReturnType`.
NORMAL, HALF, COMMITTED, DELAYED = range(4)
SUCCESS, TIME_OUT, EXCEPTION, _, FAILED = range(5)


class KeyedTraceRecord(NamedTuple):
    """Trace record and the keys by which it can be queried."""

    topic: str
    text: str
    keys: frozenset[str]


class TraceContext(NamedTuple):
    """Messages of a listener call, as traced before it."""

    number: str
    began: int
    messages: Sequence[ReceivedMessage]


def sent_record(
    group: str, message: Message, result: SendResult, region: str, address: str, began: int, took: int
) -> KeyedTraceRecord:
    """Return the record of a stored message; times in ms."""
    properties = message.properties
    kind = DELAYED if PROPERTY_DELAY_TIME_LEVEL in properties else NORMAL
    if properties.get(PROPERTY_TRANSACTION_PREPARED) == "true":
        kind = HALF
    fields = (
        *("Pub", began, region, group, message.topic, result.message_id, message.tags, _keys(message)),
        *(address, len(message.body), took, kind, result.offset_message_id),
        _bool(result.status is SendStatus.SEND_OK),
    )
    return _record(message.topic, fields, result.message_id, message.keys)


def before_records(group: str, context: TraceContext) -> list[KeyedTraceRecord]:
    """Return the records of a listener call that is about to start."""
    return [
        _record(
            one.topic,
            (
                *("SubBefore", context.began, _region(one.properties), group, context.number, one.message_id),
                *(one.reconsume_times, _keys(one)),
            ),
            one.message_id,
            one.keys,
        )
        for one in context.messages
    ]


def after_records(
    group: str, context: TraceContext, is_good: bool, code: int, now: int
) -> list[KeyedTraceRecord]:
    """Return the records of a finished listener call; `code` is an ordinal of `ConsumeReturnType`."""
    took = (now - context.began) // max(1, len(context.messages))
    return [
        _record(
            one.topic,
            (
                *("SubAfter", context.number, one.message_id, took, _bool(is_good), _keys(one), code, now),
                group,
            ),
            one.message_id,
            one.keys,
        )
        for one in context.messages
    ]


def ended_record(
    group: str,
    message: Message,
    message_id: str,
    address: str,
    state: TransactionState,
    now: int,
    *,
    is_check: bool,
) -> KeyedTraceRecord:
    """Return the record of a transaction outcome sent to the broker at `address`; `now` in ms.

    `is_check`: the broker asked for it.
    """
    fields = (
        *("EndTransaction", now, _region(message.properties), group, message.topic, message_id),
        *(message.tags, _keys(message), address, COMMITTED, message_id, state.value, _bool(is_check)),
    )
    return _record(message.topic, fields, message_id, message.keys)


def recalled_record(
    group: str, topic: str, message_id: str, region: str, now: int, *, is_good: bool
) -> KeyedTraceRecord:
    """Return the record of a recall of a delayed message, successful or not; `now` in ms."""
    return _record(topic, ("Recall", now, region, group, topic, message_id, _bool(is_good)), message_id, ())


class TraceProducer(Protocol):
    """Producer of trace messages."""

    def start(self) -> Deferred[None]:
        """Start the producer."""
        ...

    def send(self, message: Message, *, timeout: float | None = None) -> Deferred[SendResult]:
        """Send one message; `timeout` in seconds."""
        ...

    def close(self) -> Deferred[None]:
        """Stop the producer."""
        ...


def group_of_traces(group: str) -> str:
    """Return the producer group of the traces of a group."""
    return f"{GROUP_PREFIX}-{group.replace('%', '-')}"[:120]


class Tracer:
    """Buffer of the trace records of a producer or consumer, sent by `producer`."""

    def __init__(self, client: Client, options: ClientOptions, group: str, producer: TraceProducer) -> None:
        self._client = client
        self._group = group
        self._topic = options.trace_topic
        self._batch = options.trace_msg_batch_num
        self._most = options.trace_queue_max
        self._waiting: list[KeyedTraceRecord] = []
        self._dropped = 0
        self._producer = producer

    async def start(self) -> None:
        """Start the producer and the periodic flush."""
        await self._producer.start()
        self._client.schedule.every(FLUSH_SECONDS, FLUSH_SECONDS, self._flush_soon)

    async def close(self) -> None:
        """Flush the buffer and stop."""
        await self.flush()
        await self._producer.close()

    def sent(
        self,
        message: Message,
        result: SendResult,
        ext: Mapping[str, str],
        address: str,
        began: int,
        took: int,
    ) -> None:
        """Record a stored message.

        `ext` are the fields of the answer, which may disable its trace. `began` is wall time in ms, `took` is
        in ms.
        """
        if message.topic != self._topic and ext.get(PROPERTY_TRACE_SWITCH) != "false":
            self._add([sent_record(self._group, message, result, _region(ext), address, began, took)])

    def ended(
        self, message: Message, message_id: str, address: str, state: TransactionState, *, is_check: bool
    ) -> None:
        """Record the transaction outcome sent to the broker at `address`; `is_check` if it asked."""
        if message.properties.get(PROPERTY_TRACE_SWITCH) != "false":
            now = self._client.clock.millis()
            self._add(
                [ended_record(self._group, message, message_id, address, state, now, is_check=is_check)]
            )

    def recalled(self, topic: str, message_id: str, ext: Mapping[str, str], *, is_good: bool) -> None:
        """Record a recall, successful or not; `ext` are the fields of the answer."""
        now = self._client.clock.millis()
        self._add([recalled_record(self._group, topic, message_id, _region(ext), now, is_good=is_good)])

    def before(self, messages: Sequence[ReceivedMessage]) -> TraceContext:
        """Record a listener call that is about to start."""
        traced = [one for one in messages if one.properties.get(PROPERTY_TRACE_SWITCH) != "false"]
        context = TraceContext(uuid.uuid4().hex.upper(), self._client.clock.millis(), traced)
        self._add(before_records(self._group, context))
        return context

    def after(self, context: TraceContext, outcome: Consumed | None, is_late: bool) -> None:
        """Record a finished listener call; `outcome` is None after an exception."""
        is_good = outcome in (Consumed.SUCCESS, Consumed.COMMIT)
        code = EXCEPTION if outcome is None else TIME_OUT if is_late else SUCCESS if is_good else FAILED
        self._add(after_records(self._group, context, is_good, code, self._client.clock.millis()))

    async def flush(self) -> None:
        """Send all buffered records."""
        waiting, self._waiting = self._waiting, []
        if self._dropped:
            log.warning("%d trace records were dropped", self._dropped)
            self._dropped = 0
        by_topic: dict[str, list[KeyedTraceRecord]] = {}
        for record in waiting:
            by_topic.setdefault(record.topic, []).append(record)
        await together(self._send(part) for records in by_topic.values() for part in _parts(records))

    def _add(self, records: Sequence[KeyedTraceRecord]) -> None:
        room = self._most - len(self._waiting)
        self._waiting += records[:room]
        self._dropped += max(0, len(records) - room)
        if len(self._waiting) >= self._batch:
            self._flush_soon()

    def _flush_soon(self) -> None:
        if self._waiting:
            self._client.spawn(self.flush())

    async def _send(self, records: Sequence[KeyedTraceRecord]) -> None:
        keys = sorted({key for record in records for key in record.keys})
        message = Message(self._topic, "".join(record.text for record in records), keys=keys)
        try:
            await self._producer.send(message, timeout=5.0)
        except ClientError as error:
            log.warning("%d trace records are lost: %s", len(records), error)


def _parts(records: Sequence[KeyedTraceRecord]) -> list[list[KeyedTraceRecord]]:
    """Split records into parts that fit in a message."""
    parts: list[list[KeyedTraceRecord]] = []
    size = MESSAGE_BYTES_MAX
    for record in records:
        if size + len(record.text) > MESSAGE_BYTES_MAX:
            parts.append([])
            size = 0
        parts[-1].append(record)
        size += len(record.text)
    return parts


def _record(topic: str, fields: Sequence[object], message_id: str, keys: Sequence[str]) -> KeyedTraceRecord:
    # Java writes `null` for a missing value; its reader counts fields.
    text = "\x01".join("null" if field is None else str(field) for field in fields) + "\x02"
    return KeyedTraceRecord(topic, text, frozenset((*message_id.split(","), *keys)))


def _keys(message: Message) -> str | None:
    return KEY_SEPARATOR.join(message.keys) or None


def _region(properties: Mapping[str, str]) -> str:
    return properties.get(PROPERTY_MSG_REGION) or DEFAULT_REGION


def _bool(value: bool) -> str:
    return "true" if value else "false"
