"""Born timestamps of the messages of a queue, read from the heads of their records."""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from mqgateway.engine.store.batch_consume_queue import BatchConsumeQueue
from mqgateway.engine.store.compacted_reading import CompactedReading
from mqgateway.engine.store.consume_queue import UNIT, UNIT_SIZE, AnyQueue, ConsumeQueues
from mqgateway.engine.store.log import Log, agreed_limit
from mqgateway.engine.store.older_reading import OlderReading
from mqgateway.engine.store.results import RecordSpan

TOGETHER: Final = 32
"""Heads that are read together: about a millisecond's work where each takes a read of its own."""
_HEAD: Final = struct.Struct(">28xq4xq")
"""The beginning of a record, with its physical offset and born timestamp."""


class RecordTime(NamedTuple):
    """The offset of a record's first message, and the time of its birth in ms."""

    offset: int
    born_timestamp: int


class RecordTimes:
    """Reads the times of the records of one store."""

    def __init__(
        self, log: Log, queues: ConsumeQueues, compacted: CompactedReading, older: OlderReading | None
    ) -> None:
        self._log = log
        self._queues = queues
        self._compacted = compacted
        self._older = older

    def read(
        self, topic: str, queue_id: int, offset: int, end: int, *, may_wait: bool = True
    ) -> tuple[list[RecordTime], int]:
        """Return the times of some records, from the one with the message at `offset` on and before `end`,
        and the offset to read next, `end` after the last. Records that are gone are left out.

        See `MessageStore.get` for `may_wait`. Raises `NothingYet`.
        """
        queue = self._queues.get(topic, queue_id)
        if queue is None or offset >= end:
            return [], end
        if self._older is not None and self._older.covers(queue, offset):
            born, after = self._older.born_timestamps(queue, offset, TOGETHER, may_wait)
            return [RecordTime(*each) for each in born if each[0] < end], min(after, end)
        if isinstance(queue, BatchConsumeQueue) and offset < queue.compacted_end:
            born, after = self._compacted.born_timestamps(queue, offset, TOGETHER, may_wait)
            return [RecordTime(*each) for each in born if each[0] < end], min(after, end)
        spans, next_offset = self._spans(queue, offset, end, may_wait)
        limit, oldest = agreed_limit(self._log), self._log.min_offset
        places = [
            (number, at, _HEAD.size)
            for number, at, size in spans
            if at >= oldest and size > _HEAD.size and (limit is None or at + size <= limit)
        ]
        heads = self._log.read_each(places, may_wait) if places else []
        times: list[RecordTime] = []
        for (number, at, _), head in zip(places, heads, strict=True):
            if head is not None:
                physical_offset, born_timestamp = _HEAD.unpack(head)
                if physical_offset == at:
                    times.append(RecordTime(number, born_timestamp))
        return times, next_offset

    def _spans(self, queue: AnyQueue, offset: int, end: int, may_wait: bool) -> tuple[list[RecordSpan], int]:
        """Return where records are, and the offset after them."""
        if isinstance(queue, BatchConsumeQueue):
            units = list(queue.units(offset, TOGETHER, may_wait))
            spans = [
                (unit.base_offset, unit.physical_offset, unit.size)
                for unit in units
                if unit.base_offset < end
            ]
            return spans, min(units[-1].end_offset, end) if units else end
        count = min(TOGETHER, end - offset)
        data = queue.units(offset, count, may_wait)
        rows = UNIT.iter_unpack(data[: len(data) - len(data) % UNIT_SIZE])
        spans = [(number, at, size) for number, (at, size, _) in enumerate(rows, offset)]
        return spans, offset + (len(spans) or count)  # units that are gone are passed over
