"""Messages on their way from the commit log to the views: dispatch requests, and what a record says for them.

A request has one of three forms once the views see it: one message with its parsed properties, consecutive
messages that have nothing but unique keys (`KeyedBatch`), or a run of records that was taken apart before
(`QueuedRun`). RocketMQ: `DispatchRequest`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.message import (
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_INNER_BASE,
    PROPERTY_INNER_NUM,
    PROPERTY_KAFKA_PRODUCER,
    StoredMessage,
    SysFlag,
    parse_properties,
)
from mqgateway.engine.producers.batch import Produced, of_record
from mqgateway.engine.store.batch_consume_queue import BATCH_COUNT_MAX
from mqgateway.engine.store.consume_queue import AnyQueue, ConsumeQueue
from mqgateway.engine.store.index_file import Pending
from mqgateway.engine.store.runs import QueueUnits
from mqgateway.engine.unique_keys import lone_unique_key

_UNIT_MILLIS: Final = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_UNKNOWN_LEVEL_MILLIS: Final = 1000
_PRODUCER: Final = PROPERTY_KAFKA_PRODUCER.encode()


Batch = list[tuple[int, bytes]]
"""Sizes and unparsed properties of consecutive records."""
Part = tuple[tuple[int, bytes], ...]
"""Sizes and unparsed properties of some of the records of a large batch."""


class KeyedBatch:
    """Consecutive records of these sizes. Their properties have a unique key, and nothing else that queues or
    index need. If `is_even`, the keys are of one length, one of `UNIQUE_KEY_LENGTHS`."""

    __slots__ = ("is_even", "keys", "sizes")

    def __init__(self, sizes: list[int], keys: Sequence[bytes], is_even: bool = True) -> None:
        self.sizes = sizes
        self.keys = keys
        self.is_even = is_even


class QueuedRun:
    """A run of records with the units of each queue and the index entries; the queues expect the messages.
    `last` is the position of the last record."""

    __slots__ = ("last", "pending", "queues")

    def __init__(
        self, queues: list[tuple[ConsumeQueue, QueueUnits]], pending: list[Pending], last: int
    ) -> None:
        self.queues = queues
        self.pending = pending
        self.last = last


class DispatchRequest:
    """A message in the log that is not dispatched yet, or the messages of a batch or of a part of one. The
    offsets are those of the first message, the size is that of all. A run has its own topics and queues.

    `queue` is None for a message that enters no consume queue, `size` is in bytes, `store_timestamp` in ms.
    `producer` is the batch of an idempotent producer that the messages are, or end, or the marker that ends
    a producer's transaction; None if there is none.
    RocketMQ: `DispatchRequest`.
    """

    __slots__ = (
        "physical_offset",
        "producer",
        "properties",
        "queue",
        "queue_offset",
        "size",
        "store_timestamp",
        "sys_flag",
        "topic",
    )

    def __init__(
        self,
        topic: str,
        queue: AnyQueue | None,
        properties: dict[str, str] | Batch | Part | KeyedBatch | QueuedRun,
        sys_flag: int,
        queue_offset: int,
        physical_offset: int,
        size: int,
        store_timestamp: int,
        producer: Produced | None = None,
    ) -> None:
        self.topic = topic
        self.queue = queue
        self.properties = properties
        self.sys_flag = sys_flag
        self.queue_offset = queue_offset
        self.physical_offset = physical_offset
        self.size = size
        self.store_timestamp = store_timestamp
        self.producer = producer


def last_of(request: DispatchRequest) -> int:
    """Return the position of the last record of a request."""
    properties = request.properties
    if isinstance(properties, dict):
        return request.physical_offset
    if isinstance(properties, QueuedRun):
        return properties.last
    assert isinstance(properties, KeyedBatch)
    return request.physical_offset + request.size - properties.sizes[-1]


def producer_of(message: StoredMessage) -> Produced | None:
    """Return the batch of an idempotent producer that a record is, or ends, or the marker that it is."""
    return of_record(message.sys_flag, message.properties, message.body, message.queue_offset)


def producer_of_rows(rows: Batch | Part, queue_offset: int) -> Produced | None:
    """Return the batch of an idempotent producer that consecutive records end; the first of them is at
    `queue_offset`."""
    text = rows[-1][1]
    if _PRODUCER not in text:
        return None
    properties = parse_properties(text.decode("utf-8", "replace"))
    return of_record(0, properties, b"", queue_offset + len(rows) - 1)


def request_of(message: StoredMessage, queue: AnyQueue | None) -> DispatchRequest:
    """Make the request of a record that was read from the log."""
    return DispatchRequest(
        message.topic,
        queue,
        message.properties,
        message.sys_flag,
        message.queue_offset,
        message.physical_offset,
        message.size,
        message.store_timestamp,
        producer_of(message),
    )


def parse_delay_levels(text: str) -> list[int]:
    """Parse the delays in ms, level 1 first, of a setting such as `1s 5s 2h`. Raises `ConfigError`."""
    delays = []
    for word in text.split():
        unit = _UNIT_MILLIS.get(word[-1])
        if unit is None or not word[:-1].isdigit():
            raise ConfigError(f"messageDelayLevel: {word!r} is not a delay such as 10s, 5m, 1h or 1d")
        delays.append(int(word[:-1]) * unit)
    return delays


def enters_queue(sys_flag: int) -> bool:
    """Return True if a record gets a queue offset and a unit: unless it is prepared or rolled back."""
    # Rolled back (12) has the bit of prepared (4) too.
    return not sys_flag & SysFlag.TRANSACTION_PREPARED


def inner_batch(properties: dict[str, str]) -> tuple[int, int] | None:
    """Return the first queue offset and the number of messages of a record that is a batch, or None.

    RocketMQ: `CommitLog.setBatchSizeIfNeeded`.
    """
    base, count = properties.get(PROPERTY_INNER_BASE, ""), properties.get(PROPERTY_INNER_NUM, "")
    if not (base.isdecimal() and count.isdecimal()) or not 0 < int(count) <= BATCH_COUNT_MAX:
        return None
    return int(base), int(count)


def delivery_time(properties: dict[str, str], store_timestamp: int, delays: list[int]) -> int | None:
    """Return the delivery time that replaces the tags code of a delayed message; None without a delay level.

    RocketMQ: `CommitLog.checkMessageAndReturnSize`, `DefaultMessageStore.computeDeliverTimestamp`.
    """
    text = properties.get(PROPERTY_DELAY_TIME_LEVEL, "")
    if not text.isdecimal() or int(text) == 0:
        return None
    level = min(int(text), len(delays))
    return store_timestamp + (delays[level - 1] if level else _UNKNOWN_LEVEL_MILLIS)


def expanded(request: DispatchRequest, batch: Batch | Part, *, is_keyed: bool) -> list[DispatchRequest]:
    """Split a batch into requests that views take. If `is_keyed`, the messages up to the first that has more
    than a unique key are one; each further message is alone. Only the latter's properties are parsed."""
    queue, queue_offset, at = request.queue, request.queue_offset, request.physical_offset
    sizes: list[int] = []
    keys: list[bytes] = []
    if is_keyed and isinstance(queue, ConsumeQueue):
        for size, text in batch:
            key = lone_unique_key(text)
            if key is None:
                break
            sizes.append(size)
            keys.append(key)
    found: list[DispatchRequest] = []
    if sizes:
        total = sum(sizes)
        found.append(_part_of(request, KeyedBatch(sizes, keys, False), queue_offset, at, total))
        queue_offset += len(sizes)
        at += total
    for size, text in batch[len(sizes) :]:
        properties = parse_properties(text.decode("utf-8", "replace"))
        found.append(_part_of(request, properties, queue_offset, at, size))
        queue_offset += 1
        at += size
    found[-1].producer = request.producer
    return found


def _part_of(
    request: DispatchRequest,
    properties: dict[str, str] | KeyedBatch,
    queue_offset: int,
    physical_offset: int,
    size: int,
) -> DispatchRequest:
    return DispatchRequest(
        request.topic,
        request.queue,
        properties,
        request.sys_flag,
        queue_offset,
        physical_offset,
        size,
        request.store_timestamp,
    )
