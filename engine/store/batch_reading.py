"""Reading a queue of batches, for readers of messages and for those who take batches whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from mqgateway.engine.options import StoreOptions
from mqgateway.engine.store.batch_answer import BatchAnswer
from mqgateway.engine.store.batch_consume_queue import (
    BATCH_UNIT,
    BATCH_UNIT_SIZE,
    BatchConsumeQueue,
    BatchUnit,
)
from mqgateway.engine.store.cold import ColdRead
from mqgateway.engine.store.compacted_reading import CompactedReading
from mqgateway.engine.store.expansion import Expansion
from mqgateway.engine.store.log import ENDLESS, Log, agreed_limit
from mqgateway.engine.store.record import START
from mqgateway.engine.store.results import (
    Accept,
    GetResult,
    GetStatus,
    Record,
    RecordSpan,
    TransferLimits,
    outside,
)

TOGETHER: Final = 32
"""Records that are read together for an answer."""
_UNITS: Final = 64
"""Units that are read together, as one batch may be enough for an answer."""
Read = Callable[[BatchConsumeQueue, list[RecordSpan]], tuple[bytes, list[int]]]
"""Reads records back to back; gives them and their queue offsets, without those that cannot be read."""
Borrow = Callable[[BatchConsumeQueue, list[RecordSpan]], tuple[Sequence[Record], list[int]]]
"""Borrows records one by one; gives what `Read` does."""


class BatchReading:
    """Reads queues of batches; `fresh` gives the length of the newest part of the log that is in memory."""

    def __init__(
        self,
        options: StoreOptions,
        commit_log: Log,
        expansion: Expansion,
        may_wait: bool,
        fresh: Callable[[], int],
        read: Read,
        borrow: Borrow,
        compacted: CompactedReading,
    ) -> None:
        self._options = options
        self._log = commit_log
        self._expansion = expansion
        self._may_wait = may_wait
        self._fresh = fresh
        self._read = read
        self._borrow = borrow
        self.compacted = compacted

    def messages(
        self,
        queue: BatchConsumeQueue,
        offset: int,
        end: int,
        max_count: int,
        max_bytes: int,
        accept: Accept | frozenset[int] | None,
        limits: TransferLimits,
    ) -> GetResult:
        """Read messages before the queue offset `end`. A record batch of Kafka is expanded; a batch of
        RocketMQ is returned whole or not at all."""
        is_compacted, fresh = offset < queue.compacted_end, self._fresh()
        number = 0 if is_compacted else queue.number_of(offset, self._may_wait)
        fresh_from = self._log.end_offset - fresh
        answer = BatchAnswer(
            offset, number, max_count, max_bytes, accept, limits, fresh_from, self._expansion
        )
        most, most_bytes = answer.bounds()
        window = max(TOGETHER, max_count)
        if accept is not None:
            window = max(self._options.max_filter_message_size // BATCH_UNIT_SIZE, max_count)
        if is_compacted:
            self.compacted.fill(queue, offset, end, window, answer, self._may_wait)
            return answer.result(queue.min_offset, queue.max_offset, self._log.end_offset, fresh)
        while answer.passed < window and not answer.is_full:
            together = min(window - answer.passed, TOGETHER)
            units = self._before(queue, answer.number, together, end, most, most_bytes)
            if not units:
                break
            try:
                records = self._records(queue, [unit for unit in units if answer.must_read(unit)])
                answer.take(units, records, self._may_wait)
            except ColdRead:
                if not answer.has_passed:
                    raise
                break
        if not answer.has_passed:
            return outside(offset, queue.min_offset, offset)
        queue.remember(answer.next_offset, answer.number)
        return answer.result(queue.min_offset, queue.max_offset, self._log.end_offset, fresh)

    def records(
        self, queue: BatchConsumeQueue, offset: int, end: int, max_count: int, max_bytes: int
    ) -> GetResult:
        """Borrow records before the queue offset `end` as they are stored."""
        if offset < queue.compacted_end:
            return self.compacted.records(queue, offset, end, max_count, max_bytes, self._may_wait)
        number = queue.number_of(offset, self._may_wait)
        low, high = queue.min_offset, queue.max_offset
        chosen = self._choose(queue, number, end, max_count, max_bytes)
        if not chosen.passed:
            return outside(offset, low, offset)
        queue.remember(chosen.next_offset, number + chosen.passed)
        records, offsets = self._borrow(queue, chosen.spans)
        if not offsets:
            return GetResult(GetStatus.MESSAGE_WAS_REMOVING, chosen.next_offset, low, high)
        behind = self._log.end_offset - chosen.spans[-1][1]
        is_far = behind > self._fresh()
        count = chosen.count_of(offsets)
        return GetResult(
            GetStatus.FOUND, chosen.next_offset, low, high, b"", offsets, is_far, count, behind, records
        )

    def sizes(self, queue: BatchConsumeQueue, offset: int, end: int, most: int) -> list[tuple[int, int, int]]:
        """Return position in the log and size of some records from the queue offset `offset` on and before
        `end`, and the offset after each. All of a compacted part are one, at no position of the log."""
        if offset < queue.compacted_end:
            size = self.compacted.of(queue).size_from(offset)
            return [(-size, size, queue.compacted_end)]
        units = [unit for unit in queue.units(offset, most, self._may_wait) if unit.base_offset < end]
        return [(unit.physical_offset, unit.size, unit.end_offset) for unit in units]

    def offset_by_time(self, queue: BatchConsumeQueue, time: int, upper: bool) -> int:
        """Return the first offset stored at or after a time in ms; with `upper` the last at or before it."""
        found = None
        if queue.min_offset < queue.compacted_end:
            found = self.compacted.offset_by_time(queue, time, upper, self._may_wait)
        return queue.offset_by_time(time, upper, self._may_wait) if found is None else found

    def _before(
        self, queue: BatchConsumeQueue, number: int, window: int, end: int, max_count: int, max_bytes: int
    ) -> list[BatchUnit]:
        """Up to `window` units from a number on, of batches before a queue offset, on which replicas agree;
        no more than have so many messages or bytes."""
        limit = agreed_limit(self._log)
        units, count, total = list[BatchUnit](), 0, 0
        while len(units) < window:
            some = min(window - len(units), _UNITS)
            try:
                page = list(queue.units_from(number + len(units), some, self._may_wait))
            except ColdRead:
                if units:
                    return units
                raise
            for unit in page:
                if unit.base_offset >= end or count >= max_count or total >= max_bytes:
                    return units
                if limit is not None and unit.physical_offset + unit.size > limit:
                    return units
                units.append(unit)
                count += unit.messages
                total += unit.size
            if not page:
                return units
        return units

    def _is_there(self, unit: BatchUnit) -> bool:
        return unit.physical_offset >= self._log.min_offset and 0 < unit.size <= self._log.file_size

    def _choose(
        self, queue: BatchConsumeQueue, number: int, end: int, max_count: int, max_bytes: int
    ) -> _Chosen:
        """Choose the records of one answer, at least one, from a unit on: of batches before a queue offset,
        on which replicas agree."""
        chosen = _Chosen()
        limit = agreed_limit(self._log)
        agreed = ENDLESS if limit is None else limit
        oldest, largest = self._log.min_offset, self._log.file_size
        count = total = 0
        while True:
            try:
                units = queue.read(number + chosen.passed, _UNITS, self._may_wait)
            except ColdRead:
                if chosen.passed:
                    return chosen
                raise
            units = units[: len(units) // BATCH_UNIT_SIZE * BATCH_UNIT_SIZE]
            for position, size, _, _, base_offset, messages, _, _ in BATCH_UNIT.iter_unpack(units):
                if base_offset >= end or position + size > agreed:
                    return chosen
                count += messages
                total += size
                if chosen.passed and (count > max_count or total > max_bytes):
                    return chosen
                chosen.passed += 1
                chosen.next_offset = base_offset + messages
                if position >= oldest and 0 < size <= largest:
                    chosen.spans.append((base_offset, position, size))
                    chosen.messages.append(messages)
            if not units:
                return chosen

    def _records(self, queue: BatchConsumeQueue, units: list[BatchUnit]) -> dict[int, bytes]:
        """Return the records of units by queue offset, without those that are gone or damaged."""
        body, offsets = self._read(queue, [_span(unit) for unit in units if self._is_there(unit)])
        records: dict[int, bytes] = {}
        at = 0
        for offset in offsets:
            end = at + int(START.unpack_from(body, at)[0])
            records[offset] = body[at:end]
            at = end
        return records


class _Chosen:
    """Records of one answer with the messages in each; `passed` is how many units come before
    `next_offset`."""

    __slots__ = ("messages", "next_offset", "passed", "spans")

    def __init__(self) -> None:
        self.spans: list[RecordSpan] = []
        self.messages: list[int] = []
        self.passed = 0
        self.next_offset = 0

    def count_of(self, offsets: list[int]) -> int:
        """Return the number of messages in the records at these queue offsets."""
        if len(offsets) == len(self.spans):
            return sum(self.messages)
        given = set(offsets)
        pairs = zip(self.spans, self.messages, strict=True)
        return sum([messages for span, messages in pairs if span[0] in given])


def _span(unit: BatchUnit) -> RecordSpan:
    return unit.base_offset, unit.physical_offset, unit.size
