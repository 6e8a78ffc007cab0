"""Bytes of the records of queues.

The start that keeps so many is counted once: each look adds what came since and subtracts what went.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple, TypeVar

from mqgateway.engine.steps import Steps
from mqgateway.engine.store.batch_consume_queue import BatchConsumeQueue
from mqgateway.engine.store.cold_reading import ColdReading
from mqgateway.engine.store.compacted_reading import CompactedReading
from mqgateway.engine.store.consume_queue import AnyQueue, ConsumeQueues
from mqgateway.engine.store.unit_queue import BLANK_PLACE, PLACE

T = TypeVar("T")

_UNITS_A_STEP: Final = 4096
"""Units whose sizes are added up at a time."""


class _Counted(NamedTuple):
    """The units from `first` on and before `end` have records of `total` bytes."""

    queue: AnyQueue
    first: int
    end: int
    total: int


class QueueSizes:
    """Sizes of the queues of one store, of those that are asked for."""

    def __init__(self, queues: ConsumeQueues, compacted: CompactedReading) -> None:
        self._queues = queues
        self._compacted = compacted
        self._counted: dict[tuple[str, int], _Counted] = {}

    def size(self, topic: str, queue_id: int, reading: ColdReading) -> Steps[int]:
        """Return the bytes of the records of a queue, 0 for an unknown one. Units are read by `reading`.
        Raises `OSError`."""
        queue = self._queues.get(topic, queue_id)
        if queue is None:
            return 0
        compacted = 0
        if isinstance(queue, BatchConsumeQueue) and queue.min_offset < queue.compacted_end:
            compacted = self._compacted.of(queue).size_from(queue.min_offset)
        first = yield from _first(queue, reading)
        in_log = yield from _total(queue, first, queue.end, reading)
        return compacted + in_log

    def start_for(self, topic: str, queue_id: int, size: int, reading: ColdReading) -> Steps[int]:
        """Return the offset from which on a queue has at least `size` bytes of records, but not more by a
        whole record; 0 for an unknown queue. Old units are read by `reading`. Raises `OSError`."""
        queue = self._queues.get(topic, queue_id)
        if queue is None:
            return 0
        counted = yield from self._count(queue, reading)
        number, total = counted.first, counted.total
        if isinstance(queue, BatchConsumeQueue) and total < size and queue.min_offset < queue.compacted_end:
            self._counted[topic, queue_id] = counted
            return max(queue.min_offset, self._compacted.of(queue).offset_with(size - total))
        while number < counted.end and total > size:
            sizes = yield from _sizes(queue, number, counted.end, reading)
            for one in sizes:
                if total - one < size:
                    break
                total -= one
                number += 1
            else:
                if sizes:
                    yield
                    continue
            break
        self._counted[topic, queue_id] = _Counted(queue, number, counted.end, total)
        return queue.offset_of(number) if number < queue.end else queue.max_offset

    def keep(self, topics: set[str]) -> None:
        """Forget the sizes of all other topics."""
        self._counted = {key: value for key, value in self._counted.items() if key[0] in topics}

    def _count(self, queue: AnyQueue, reading: ColdReading) -> Steps[_Counted]:
        """Return the size of all that a queue has now, behind its compacted part."""
        first = yield from _first(queue, reading)
        end = queue.end
        counted = self._counted.pop((queue.topic, queue.queue_id), None)
        is_usable = (
            counted is not None
            and counted.queue is queue
            and queue.first <= counted.first <= first <= counted.end <= end
        )
        if counted is None or not is_usable:
            counted = _Counted(queue, first, first, 0)
        gone = yield from _total(queue, counted.first, first, reading)
        more = yield from _total(queue, counted.end, end, reading)
        return _Counted(queue, first, end, counted.total - gone + more)


def _first(queue: AnyQueue, reading: ColdReading) -> Steps[int]:
    """Return the number of the first unit that readers can read, behind the compacted part of the queue."""
    offset = queue.min_offset
    if isinstance(queue, BatchConsumeQueue):
        offset = max(offset, queue.compacted_end)
    return (yield from reading(lambda may_wait: queue.number_of(offset, may_wait)))


def _total(queue: AnyQueue, number: int, end: int, reading: ColdReading) -> Steps[int]:
    total = 0
    while number < end:
        sizes = yield from _sizes(queue, number, end, reading)
        if not sizes:
            break
        total += sum(sizes)
        number += len(sizes)
        yield
    return total


def _sizes(queue: AnyQueue, number: int, end: int, reading: ColdReading) -> Steps[list[int]]:
    """Return the sizes of the records of the next units before `end`; those of lost records are 0."""
    size, count = queue.unit_size, min(_UNITS_A_STEP, end - number)
    data = yield from reading(lambda may_wait: queue.read(number, count, may_wait))
    rows = struct.iter_unpack(f"{PLACE.format}{size - PLACE.size}x", data[: len(data) - len(data) % size])
    return [0 if length == BLANK_PLACE[1] else length for _, length in rows]
