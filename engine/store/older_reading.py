"""Answers to readers of messages that the local log has deleted, from `OlderMessages`.

An answer ends where the local log begins, and the next one continues there. While the messages cannot be read
the answer is that there is nothing yet at this offset, as before an open transaction: the reader keeps its
offset, and asks again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from mqgateway.engine.message import PROPERTY_TAGS, tags_code
from mqgateway.engine.names import is_lmq, is_system_topic
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.store.batch_answer import BatchAnswer
from mqgateway.engine.store.batch_consume_queue import BATCH_UNIT_SIZE, BatchConsumeQueue
from mqgateway.engine.store.cold import ColdRead
from mqgateway.engine.store.compacted_reading import BORN
from mqgateway.engine.store.consume_queue import ADDRESS_MAX, UNIT_SIZE, AnyQueue
from mqgateway.engine.store.dispatch_request import inner_batch
from mqgateway.engine.store.expansion import Expansion
from mqgateway.engine.store.log import ENDLESS, Log
from mqgateway.engine.store.older_messages import KeySearch, NothingYet, OlderBlock, OlderMessages
from mqgateway.engine.store.properties_text import PropertiesText
from mqgateway.engine.store.record import decode, properties_of, properties_text_of
from mqgateway.engine.store.results import (
    NO_LIMITS,
    Accept,
    GetResult,
    GetStatus,
    Record,
    TransferLimits,
    outside,
)

MAX_BYTES: Final = 128 << 20
"""Maximum of bytes of an answer to a reader without a limit."""


class MessageSelection(NamedTuple):
    """Messages that an answer may have: their number, their bytes, and which; see `MessageStore.get`."""

    max_count: int
    max_bytes: int | None = None
    accept: Accept | frozenset[int] | None = None
    limits: TransferLimits = NO_LIMITS

    @property
    def most_bytes(self) -> int:
        """The maximum of bytes."""
        return MAX_BYTES if self.max_bytes is None else self.max_bytes


class OlderReading:
    """Reads `source` for the queues of one store."""

    def __init__(
        self, options: StoreOptions, commit_log: Log, expansion: Expansion, source: OlderMessages
    ) -> None:
        self._options = options
        self._log = commit_log
        self._expansion = expansion
        self._source = source

    def covers(self, queue: AnyQueue, offset: int) -> bool:
        """Return True if an offset is to be read here, as the local log has it no longer."""
        return (
            queue.start < queue.min_offset > offset
            and not (isinstance(queue, BatchConsumeQueue) and offset < queue.compacted_end)
            and not is_system_topic(queue.topic)
            and not is_lmq(queue.topic)
            and (self._source.has(queue) or not self._is_known)
        )

    @property
    def _is_known(self) -> bool:
        """True if it is known which messages there are that the local log has no longer."""
        return self._source.is_known(self._log.min_offset)

    def min_offset(self, queue: AnyQueue) -> int:
        """Return the first offset of a queue, here or in the local log."""
        return self._source.min_offset(queue)

    def get(self, queue: AnyQueue, offset: int, selection: MessageSelection, may_wait: bool) -> GetResult:
        """Return messages of a queue; see `MessageStore.get`."""
        try:
            return self.read(queue, offset, selection, may_wait)
        except NothingYet:
            low = self._source.min_offset(queue)
            return GetResult(GetStatus.OFFSET_OVERFLOW_ONE, offset, low, queue.max_offset)

    def read(self, queue: AnyQueue, offset: int, selection: MessageSelection, may_wait: bool) -> GetResult:
        """Return messages of a queue as `get` does. Raises `NothingYet` if they cannot be read now."""
        low = self._source.min_offset(queue)
        if offset < low and self._source.has(queue):
            return outside(offset, low, queue.max_offset)
        blocks = self._blocks(queue, offset, may_wait)
        if isinstance(queue, BatchConsumeQueue):
            result = self._messages_of_batches(queue, offset, selection, blocks, may_wait)
        else:
            answer = _Answer(offset, selection)
            window = max(self._options.max_filter_message_size // UNIT_SIZE, selection.max_count)
            answer.take(blocks, queue.min_offset, window)
            result = answer.result(low, queue.max_offset, self._log.end_offset)
        self._source.load_ahead(queue, offset, result.next_offset)
        return result

    def _blocks(
        self, queue: AnyQueue, offset: int, may_wait: bool
    ) -> Iterator[tuple[int, OlderBlock | None]]:
        """Yield the blocks of a queue from an offset to the begin of the local log; see `OlderMessages`."""
        end = queue.min_offset
        after = offset
        for begin, block in self._source.blocks(queue, offset, end, may_wait):
            yield begin, block
            after = begin if block is None else block.end_offset
        if after < end:
            if not self._is_known:
                raise NothingYet(f"it is not known yet if the messages from {after} to {end} are kept")
            yield end, None

    def get_whole(
        self, queue: AnyQueue, offset: int, selection: MessageSelection, may_wait: bool
    ) -> GetResult:
        """Return records of a queue as they are stored, at least one: batches are not expanded."""
        if not isinstance(queue, BatchConsumeQueue):
            return self.get(queue, offset, selection, may_wait)
        low, high = self._source.min_offset(queue), queue.max_offset
        if offset < low and self._source.has(queue):
            return outside(offset, low, high)
        records, offsets = list[Record](), list[int]()
        count = total = last = 0
        next_offset = offset
        try:
            for begin, block in self._blocks(queue, offset, may_wait):
                if block is None:
                    next_offset = begin
                    continue
                number = block.unit_at(begin)
                for unit in block.batch_units(number):
                    if unit.base_offset >= queue.min_offset or unit.end_offset <= begin:
                        next_offset = max(next_offset, min(unit.end_offset, queue.min_offset))
                        number += 1
                        continue
                    count += unit.messages
                    total += unit.size
                    if records and (count > selection.max_count or total > selection.most_bytes):
                        return self._found(queue, offset, next_offset, records, offsets, count, last)
                    records.append(block.record(number))
                    offsets.append(unit.base_offset)
                    last, next_offset = unit.physical_offset, unit.end_offset
                    number += 1
        except (NothingYet, ColdRead) as missing:
            if not records and isinstance(missing, ColdRead):
                raise
            if not records:
                return GetResult(GetStatus.OFFSET_OVERFLOW_ONE, offset, low, high)
        if not records:
            return GetResult(GetStatus.MESSAGE_WAS_REMOVING, max(next_offset, offset + 1), low, high)
        return self._found(queue, offset, next_offset, records, offsets, count, last)

    def offset_by_time(self, queue: AnyQueue, time: int, upper: bool, may_wait: bool) -> int | None:
        """Return the offset of the first message that was stored at or after a time in ms, or with `upper` of
        the last one at or before it; None if the local log has it. Raises `ColdRead` unless `may_wait`, and
        `NothingYet`."""
        if not queue.min_offset or not self.covers(queue, queue.min_offset - 1):
            return None
        after = self._source.first_stored_at(queue, time + 1 if upper else time, may_wait)
        if after is None:
            if not self._is_known:
                raise NothingYet("it is not known yet which messages are kept that the local log has deleted")
            return None
        return max(self._source.min_offset(queue), after - 1) if upper else after

    def store_time(self, queue: AnyQueue, offset: int, may_wait: bool) -> int:
        """Return when a message was stored, in ms; -1 if it is gone, or cannot be read now. Raises `ColdRead`
        unless `may_wait`."""
        try:
            return self._source.store_time(queue, offset, may_wait)
        except NothingYet:
            return -1

    def record_at(self, position: int, may_wait: bool) -> bytes | None:
        """Return the record at a position in the log; None if it is gone. Raises `ColdRead` unless
        `may_wait`, and `NothingYet`."""
        record = self._source.record_at(position, may_wait)
        if record is None and not self._is_known:
            raise NothingYet(f"it is not known yet if the message at {position} is kept")
        return record

    def with_key(self, search: KeySearch, queues: Mapping[int, AnyQueue], may_wait: bool) -> list[bytes]:
        """Return records that the local log has no longer, in the order of the log, of a topic with these
        queues. Raises `ColdRead` unless `may_wait`, and `NothingYet`."""
        before = self._log.min_offset
        if before <= 0 or is_system_topic(search.topic) or is_lmq(search.topic):
            return []
        records = self._source.with_key(search, before, may_wait)
        if not records and not self._is_known:
            raise NothingYet("it is not known yet which messages are kept that the local log has deleted")
        # Others are those of a topic of this name that was deleted.
        return [record for record in records if self._is_in(record, queues)]

    def _is_in(self, record: bytes, queues: Mapping[int, AnyQueue]) -> bool:
        message = decode(record)
        queue = queues.get(message.queue_id)
        base, _ = inner_batch(message.properties) or (message.queue_offset, 1)
        return queue is not None and self.covers(queue, base)

    def born_timestamps(
        self, queue: AnyQueue, offset: int, most: int, may_wait: bool
    ) -> tuple[list[tuple[int, int]], int]:
        """Return offset and born timestamp of some records from an offset on, and the offset to read next.
        Raises `ColdRead` unless `may_wait`, and `NothingYet`."""
        times = list[tuple[int, int]]()
        begin, block = next(self._blocks(queue, offset, may_wait))
        if block is None:
            return [], begin
        first = block.unit_at(begin)
        end = min(first + most, len(block))
        for number in range(first, end):
            if block.offset_of(number) >= queue.min_offset:
                break
            times.append((block.offset_of(number), BORN.unpack_from(block.record(number))[0]))
        return times, min(block.offset_of(end) if end < len(block) else block.end_offset, queue.min_offset)

    def _found(
        self,
        queue: AnyQueue,
        offset: int,
        next_offset: int,
        records: list[Record],
        offsets: list[int],
        count: int,
        last: int,
    ) -> GetResult:
        low, high = self._source.min_offset(queue), queue.max_offset
        self._source.load_ahead(queue, offset, next_offset)
        behind = self._log.end_offset - last
        return GetResult(GetStatus.FOUND, next_offset, low, high, b"", offsets, False, count, behind, records)

    def _messages_of_batches(
        self,
        queue: BatchConsumeQueue,
        offset: int,
        selection: MessageSelection,
        blocks: Iterator[tuple[int, OlderBlock | None]],
        may_wait: bool,
    ) -> GetResult:
        """Return messages, expanded from batches."""
        max_count, _, accept, limits = selection
        answer = BatchAnswer(
            offset, 0, max_count, selection.most_bytes, accept, limits, ENDLESS, self._expansion
        )
        window = max(self._options.max_filter_message_size // BATCH_UNIT_SIZE, max_count)
        try:
            for begin, block in blocks:
                if block is None:
                    answer.next_offset = max(answer.next_offset, begin)
                    continue
                number = block.unit_at(begin)
                for unit in block.batch_units(number):
                    if answer.is_full or answer.passed >= window:
                        break
                    answer.take([unit], {unit.base_offset: block.record(number)}, may_wait)
                    number += 1
                if answer.is_full or answer.passed >= window:
                    break
        except (NothingYet, ColdRead):
            if not answer.has_passed:
                raise
        low, high = self._source.min_offset(queue), queue.max_offset
        return answer.result(low, high, self._log.end_offset, ENDLESS)


class _Answer:
    """Messages of one answer from a queue without batches, chosen record by record."""

    def __init__(self, offset: int, selection: MessageSelection) -> None:
        self._begin = self._next_offset = offset
        self._max_count = min(selection.max_count, selection.limits.old_count)
        self._max_bytes = min(selection.most_bytes, selection.limits.old_bytes)
        self._accept = selection.accept
        self._records: list[bytes] = []
        self._offsets: list[int] = []
        self._bytes = self._last = 0
        self._is_removed = False

    def take(self, blocks: Iterator[tuple[int, OlderBlock | None]], end: int, window: int) -> None:
        """Take records before the offset `end`, of `window` messages. Raises `ColdRead` and `NothingYet`
        unless there is progress."""
        try:
            for begin, block in blocks:
                self._next_offset = begin
                if block is None:
                    self._is_removed = True
                    continue
                number = block.unit_at(begin)
                while number < len(block) and self._next_offset < end:
                    if self._next_offset - self._begin >= window or not self._take(block, number):
                        return
                    number += 1
        except (NothingYet, ColdRead):
            if self._next_offset == self._begin:
                raise

    def _take(self, block: OlderBlock, number: int) -> bool:
        """Take the next record, if it is chosen; return False if there is no room for it."""
        position, size, code = block.unit(number)
        if self._records and (len(self._records) >= self._max_count or self._bytes + size > self._max_bytes):
            return False
        record = block.record(number)
        if self._accepts(code, record):
            self._records.append(record)
            self._offsets.append(self._next_offset)
            self._bytes += size
            self._last = position
        self._next_offset += 1
        return True

    def _accepts(self, code: int, record: bytes) -> bool:
        accept = self._accept
        if accept is None:
            return True
        if isinstance(accept, frozenset):
            return code in accept or (
                code <= ADDRESS_MAX and tags_code(properties_of(record).get(PROPERTY_TAGS)) in accept
            )
        return accept(PropertiesText(properties_text_of(record)))

    def result(self, low: int, high: int, log_end: int) -> GetResult:
        """Return the answer, for a queue with these ends and the end of the log."""
        if not self._records:
            status = GetStatus.MESSAGE_WAS_REMOVING if self._is_removed else GetStatus.NO_MATCHED_MESSAGE
            return GetResult(status, self._next_offset, low, high)
        return GetResult(
            GetStatus.FOUND,
            self._next_offset,
            low,
            high,
            b"".join(self._records),
            self._offsets,
            behind=log_end - self._last,
        )
