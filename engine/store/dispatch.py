"""From the commit log to what is derived from it: consume queue units and index entries.

`put` leaves each stored message here; `apply` takes those that may be seen (all, or with SYNC_FLUSH those
that are durable), fills queue and index and tells who arrived. Recovery feeds records it reads through
`repeat`. Standard: `DefaultMessageStore.ReputMessageService`, `CommitLogDispatcherBuildConsumeQueue`,
`CommitLogDispatcherBuildIndex`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import accumulate, repeat
from typing import Final

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.message import (
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_INNER_BASE,
    PROPERTY_INNER_MULTI_DISPATCH,
    PROPERTY_INNER_NUM,
    PROPERTY_TAGS,
    SCHEDULE_TOPIC,
    StoredMessage,
    SysFlag,
    lone_unique_key,
    parse_properties,
    tags_code,
)
from mqgateway.engine.store.batch_consume_queue import BATCH_COUNT_MAX
from mqgateway.engine.store.consume_queue import (
    TAIL_LIMIT,
    UNIT_SIZE,
    AnyQueue,
    ConsumeQueue,
    ConsumeQueues,
    units_of,
)
from mqgateway.engine.store.index_file import Index, Pending
from mqgateway.engine.store.lmq import LMQ_QUEUE_ID, lmq_offsets
from mqgateway.engine.store.results import Arrival
from mqgateway.engine.store.runs import QueueUnits

INDEX_GROUP: Final = 1024
"""Entries that are written into the index together."""
_CODES_MAX: Final = 10_000
_UNIT_MILLIS: Final = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_UNKNOWN_LEVEL_MILLIS: Final = 1000


Batch = list[tuple[int, bytes]]
"""Sizes and properties, which nobody parsed yet, of records that lie one behind the other."""
Part = tuple[tuple[int, bytes], ...]
"""The same of some of the records of a large batch."""


class KeyedBatch:
    """Records of these sizes, one behind the other, whose properties say a unique key (see
    `lone_unique_keys`) and nothing that is dispatched besides."""

    __slots__ = ("keys", "sizes")

    def __init__(self, sizes: list[int], keys: Sequence[bytes]) -> None:
        self.sizes = sizes
        self.keys = keys


class QueuedRun:
    """A run of records and the queues of its messages, which expect them; `last` is where the last record
    begins."""

    __slots__ = ("last", "pending", "queues")

    def __init__(
        self, queues: list[tuple[ConsumeQueue, QueueUnits]], pending: list[Pending], last: int
    ) -> None:
        self.queues = queues
        self.pending = pending
        self.last = last


class DispatchRequest:
    """A message in the log that is not dispatched yet; or the messages of a batch, or of a part of one, whose
    offsets are those of the first, with the size of all; or a run, which knows its topics and queues itself.

    `queue` is None for a message that enters no consume queue, `size` is in bytes, `store_timestamp` in ms.
    Standard: `DispatchRequest`.
    """

    __slots__ = (
        "physical_offset",
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
    ) -> None:
        self.topic = topic
        self.queue = queue
        self.properties = properties
        self.sys_flag = sys_flag
        self.queue_offset = queue_offset
        self.physical_offset = physical_offset
        self.size = size
        self.store_timestamp = store_timestamp


def request_of(message: StoredMessage, queue: AnyQueue | None) -> DispatchRequest:
    """What is to be dispatched of a record read from the log."""
    return DispatchRequest(
        message.topic,
        queue,
        message.properties,
        message.sys_flag,
        message.queue_offset,
        message.physical_offset,
        message.size,
        message.store_timestamp,
    )


def parse_delay_levels(text: str) -> list[int]:
    """Delays in ms, level 1 first, of a setting such as `1s 5s 2h`. Raises `ConfigError`."""
    delays = []
    for word in text.split():
        unit = _UNIT_MILLIS.get(word[-1])
        if unit is None or not word[:-1].isdigit():
            raise ConfigError(f"messageDelayLevel: {word!r} is no delay such as 10s, 5m, 1h or 1d")
        delays.append(int(word[:-1]) * unit)
    return delays


def enters_queue(sys_flag: int) -> bool:
    """Whether a record gets a queue offset and a consume queue unit: not if prepared or rolled back."""
    # Rolled back (12) has the bit of prepared (4) too.
    return not sys_flag & SysFlag.TRANSACTION_PREPARED


def inner_batch(properties: dict[str, str]) -> tuple[int, int] | None:
    """First queue offset and number of the messages in a record that is a batch; None for any other.

    Standard: `CommitLog.setBatchSizeIfNeeded`.
    """
    base, count = properties.get(PROPERTY_INNER_BASE, ""), properties.get(PROPERTY_INNER_NUM, "")
    if not (base.isdecimal() and count.isdecimal()) or not 0 < int(count) <= BATCH_COUNT_MAX:
        return None
    return int(base), int(count)


def delivery_time(properties: dict[str, str], store_timestamp: int, delays: list[int]) -> int | None:
    """What stands in place of the tags code of a delayed message; None where it has no delay level.

    Standard: `CommitLog.checkMessageAndReturnSize`, `DefaultMessageStore.computeDeliverTimestamp`.
    """
    text = properties.get(PROPERTY_DELAY_TIME_LEVEL, "")
    if not text.isdecimal() or int(text) == 0:
        return None
    level = min(int(text), len(delays))
    return store_timestamp + (delays[level - 1] if level else _UNKNOWN_LEVEL_MILLIS)


class Dispatch:
    """Fills queues and index in the order of the log.

    `offset` is up to where the log is dispatched, `last_start` and `last_timestamp` (ms) tell the newest
    message that was put into a queue. `light` says whether messages enter light queues. `waiting` are the
    requests that `add` took and `apply` has still to dispatch.
    """

    def __init__(
        self, queues: ConsumeQueues, index: Index | None, delay_levels: list[int], light: bool = False
    ) -> None:
        self._queues = queues
        self._index = index
        self._delays = delay_levels
        self._light = light
        self._codes: dict[str, int] = {}
        self._long: set[AnyQueue] = set()
        self.waiting: deque[DispatchRequest] = deque()
        self.offset = 0
        self.last_start = 0
        self.last_timestamp = 0

    def _tags_code(self, properties: dict[str, str]) -> int:
        tags = properties.get(PROPERTY_TAGS)
        if not tags:
            return 0
        code = self._codes.get(tags)
        if code is None:
            if len(self._codes) >= _CODES_MAX:
                self._codes.clear()
            code = self._codes[tags] = tags_code(tags)
        return code

    def add(self, request: DispatchRequest) -> None:
        """Take what was stored last; `apply` dispatches it."""
        self.waiting.append(request)

    def apply(self, confirmed: int, arrivals: list[Arrival] | None, in_parts: bool = False) -> bool:
        """Dispatch what lies before `confirmed`, adding to `arrivals`. Touches no file; see `settle`.

        With `in_parts` it ends after the first part of a large batch; whether that was the end of all.
        """
        waiting = self.waiting
        while waiting:
            request = waiting[0]
            end = request.physical_offset + request.size
            if end > confirmed:
                return True
            waiting.popleft()
            self._take(request, arrivals, self._light)
            self.offset = end
            if in_parts and isinstance(request.properties, tuple) and waiting:
                return False
        if self.offset < confirmed:
            self.offset = confirmed
        return True

    def has_waiting(self, confirmed: int) -> bool:
        """Whether anything before `confirmed` is not dispatched yet."""
        if not self.waiting:
            return False
        first = self.waiting[0]
        return first.physical_offset + first.size <= confirmed

    def _take(self, request: DispatchRequest, arrivals: list[Arrival] | None, light: bool) -> None:
        properties, queue = request.properties, request.queue
        if isinstance(properties, KeyedBatch):
            self._take_keyed(request, properties, arrivals)
            return
        if isinstance(properties, QueuedRun):
            self._take_run(properties, arrivals)
            return
        if not isinstance(properties, dict):
            self._take_batch(request, properties, arrivals)
            return
        topic, store_timestamp = request.topic, request.store_timestamp
        physical_offset = request.physical_offset
        if queue is not None:
            code = self._tags_code(properties)
            if topic == SCHEDULE_TOPIC:
                code = delivery_time(properties, store_timestamp, self._delays) or code
            queue_offset = request.queue_offset
            next_offset = queue_offset + 1
            if isinstance(queue, ConsumeQueue):
                queue.append(queue_offset, physical_offset, request.size, code)
            else:
                base, count = inner_batch(properties) or (queue_offset, 1)
                queue.append(base, physical_offset, request.size, code, store_timestamp, count)
                next_offset = base + count
            self._entered(queue, physical_offset, store_timestamp)
            if arrivals is not None:
                arrivals.append(
                    Arrival(topic, queue.queue_id, next_offset, code, store_timestamp, properties)
                )
            if light and PROPERTY_INNER_MULTI_DISPATCH in properties:
                self._take_lmq(request, properties, code, arrivals)
        transaction = request.sys_flag & SysFlag.TRANSACTION_MASK
        if self._index is not None and transaction != SysFlag.TRANSACTION_ROLLBACK:
            self._index.note(topic, properties, physical_offset, store_timestamp)

    def _take_lmq(
        self,
        request: DispatchRequest,
        properties: dict[str, str],
        code: int,
        arrivals: list[Arrival] | None,
    ) -> None:
        """Dispatch a message into the light queues that it names and that are there."""
        physical_offset, store_timestamp = request.physical_offset, request.store_timestamp
        for name, offset in lmq_offsets(request.topic, properties):
            queue = self._queues.get(name, LMQ_QUEUE_ID)
            if not isinstance(queue, ConsumeQueue):
                continue
            queue.append(offset, physical_offset, request.size, code)
            self._entered(queue, physical_offset, store_timestamp)
            if arrivals is not None:
                arrivals.append(Arrival(name, LMQ_QUEUE_ID, offset + 1, code, store_timestamp, properties))

    def _take_batch(
        self, request: DispatchRequest, batch: Batch | Part, arrivals: list[Arrival] | None
    ) -> None:
        """Dispatch the messages of a batch. Properties are parsed only where they say more than a unique key;
        of messages that have no tags, those who wait are told at once."""
        topic, queue, sys_flag = request.topic, request.queue, request.sys_flag
        queue_offset, physical_offset = request.queue_offset, request.physical_offset
        store_timestamp = request.store_timestamp
        sizes: list[int] = []
        begin = physical_offset
        plain: list[Pending] = []
        of_bytes = None if self._index is None else self._index.hashes.of_bytes
        for size, text in batch:
            unique = lone_unique_key(text)
            if unique is None or not isinstance(queue, ConsumeQueue):
                break
            sizes.append(size)
            if of_bytes is not None:
                plain.append((of_bytes(topic, unique), physical_offset, store_timestamp))
            physical_offset += size
        if isinstance(queue, ConsumeQueue) and sizes:
            queue.extend(queue_offset, units_of(begin, sizes))
            queue_offset += len(sizes)
            self._entered(queue, physical_offset - sizes[-1], store_timestamp)
            if arrivals is not None:
                arrivals.append(Arrival(topic, queue.queue_id, queue_offset, 0, store_timestamp, None))
            if self._index is not None:
                self._index.pending += plain
        for size, text in batch[len(sizes) :]:
            properties = parse_properties(text.decode("utf-8", "replace"))
            single = DispatchRequest(
                topic, queue, properties, sys_flag, queue_offset, physical_offset, size, store_timestamp
            )
            self._take(single, arrivals, False)
            queue_offset += 1
            physical_offset += size

    def _take_keyed(
        self, request: DispatchRequest, batch: KeyedBatch, arrivals: list[Arrival] | None
    ) -> None:
        """Dispatch as `_take_batch` does, all messages at once."""
        topic, queue, store_timestamp = request.topic, request.queue, request.store_timestamp
        begin, sizes = request.physical_offset, batch.sizes
        if isinstance(queue, ConsumeQueue):
            queue.extend(request.queue_offset, units_of(begin, sizes))
            self._entered(queue, begin + request.size - sizes[-1], store_timestamp)
            if arrivals is not None:
                next_offset = request.queue_offset + len(sizes)
                arrivals.append(Arrival(topic, queue.queue_id, next_offset, 0, store_timestamp, None))
        if self._index is not None:
            hashes = self._index.hashes.of_unique_keys(topic, batch.keys)
            places = accumulate(sizes, initial=begin)
            self._index.pending += zip(hashes, places, repeat(store_timestamp), strict=False)

    def _take_run(self, run: QueuedRun, arrivals: list[Arrival] | None) -> None:
        """Dispatch the messages of a run, queue by queue."""
        for queue, (_, _, offset, _, last, stored, units) in run.queues:
            queue.extend(offset, units)
            self._entered(queue, last, stored)
            if arrivals is not None:
                next_offset = offset + len(units) // UNIT_SIZE
                arrivals.append(Arrival(queue.topic, queue.queue_id, next_offset, 0, stored, None))
        self.last_start, self.last_timestamp = run.last, run.pending[-1][2]
        if self._index is not None:
            self._index.pending += run.pending

    def _entered(self, queue: AnyQueue, physical_offset: int, store_timestamp: int) -> None:
        """Note that a queue got units, the last of them for the record at an offset."""
        if not queue.dirty:
            self._queues.mark(queue)
        if len(queue.tail) >= TAIL_LIMIT:
            self._long.add(queue)
        self.last_start = physical_offset
        self.last_timestamp = store_timestamp

    def for_queues(self) -> Dispatch:
        """Another one for the same queues, that fills no index."""
        return Dispatch(self._queues, None, self._delays, self._light)

    def forget(self, topic: str) -> None:
        """Let what waits of a topic enter no queue: its queues are deleted."""
        for request in self.waiting:
            run = request.properties
            if isinstance(run, QueuedRun):
                run.queues = [(queue, units) for queue, units in run.queues if queue.topic != topic]
            elif request.topic == topic:
                request.queue = None
        self._long = {queue for queue in self._long if queue.topic != topic}

    def settle(self) -> None:
        """Write out long tails and enter a full group into the index. Raises `OSError`; what was not written
        then stays in memory."""
        while self._long:
            queue = self._long.pop()
            self._queues.write_out(queue)
        if self._index is not None and len(self._index.pending) >= INDEX_GROUP:
            self._index.apply(self.last_timestamp)

    def repeat(self, message: StoredMessage) -> bool:
        """Dispatch a record read from the log; false when the queue lacks units before it. Raises `OSError`
        as `settle` does.

        Where the queue has another record in its place, this one, being later in the log, counts.
        """
        queue = self._queues.open(message.topic, message.queue_id) if enters_queue(message.sys_flag) else None
        follows = True
        if queue is not None:
            if isinstance(queue, ConsumeQueue):
                is_known = queue.max_offset > 0 or queue.was_cut
                follows = message.queue_offset <= queue.max_offset or not is_known
            queue.give_way(message.queue_offset, message.physical_offset)
            if self._light and PROPERTY_INNER_MULTI_DISPATCH in message.properties:
                follows &= self._repeat_lmq(message)
        self._take(request_of(message, queue), None, self._light)
        self.offset = message.physical_offset + message.size
        self.settle()
        return follows

    def _repeat_lmq(self, message: StoredMessage) -> bool:
        """Make the light queues of a record ready for it; false when one lacks units before it."""
        follows = True
        for name, offset in lmq_offsets(message.topic, message.properties):
            queue = self._queues.open(name, LMQ_QUEUE_ID)
            is_known = queue.max_offset > 0 or queue.was_cut
            follows &= offset <= queue.max_offset or not is_known
            queue.give_way(offset, message.physical_offset)
        return follows
