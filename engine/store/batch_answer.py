"""Messages of one answer from a queue of batches, chosen record by record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from mqgateway.engine.store.batch_consume_queue import BatchUnit
from mqgateway.engine.store.expansion import PROMPT_MAX, RECORD_WORK, Expansion, holds_record_batch
from mqgateway.engine.store.log import ENDLESS
from mqgateway.engine.store.properties_text import PropertiesText
from mqgateway.engine.store.record import properties_text_of
from mqgateway.engine.store.results import Accept, GetResult, GetStatus, TransferLimits

EXPANDED_MAX: Final = 800
"""Messages of Kafka's batches that are looked at for one answer. Of a queue without batches
`maxFilterMessageSize` allows as many units."""
_WORK_MAX: Final = EXPANDED_MAX * RECORD_WORK
CHOICE_BYTES: Final = 1 << 20
"""Records that are read together for a reader who chooses."""


class BatchAnswer:
    """Collects the records of an answer.

    `next_offset` is where to read next, in the unit with the number `number`; `passed` is how many units come
    before that. `is_full` says that no more are to be read.
    """

    def __init__(
        self,
        offset: int,
        number: int,
        max_count: int,
        max_bytes: int,
        accept: Accept | frozenset[int] | None,
        limits: TransferLimits,
        fresh_from: int,
        expansion: Expansion,
    ) -> None:
        self.next_offset = self._begin = offset
        self.number = number
        self.passed = 0
        self.is_full = False
        self._accept = accept
        self._max_count = max_count
        self._fresh = min(max_count, limits.fresh_count), min(max_bytes, limits.fresh_bytes)
        self._old = min(max_count, limits.old_count), min(max_bytes, limits.old_bytes)
        self._fresh_from = fresh_from
        self._expansion = expansion
        self._records: list[bytes] = []
        self._offsets: list[int] = []
        self._count = self._bytes = self._work = self._inflated = 0
        self._is_removed = False
        self._last = 0

    def bounds(self) -> tuple[int, int]:
        """Return how many messages and bytes are worth reading together."""
        if self._accept is not None:
            return ENDLESS, CHOICE_BYTES
        return max(self._fresh[0], self._old[0]), max(self._fresh[1], self._old[1])

    @property
    def has_passed(self) -> bool:
        """Return True if a reader who continues at `next_offset` makes progress."""
        return self.next_offset > self._begin

    def must_read(self, unit: BatchUnit) -> bool:
        """Return True if a record may have messages of the answer. Units of Kafka's batches have no tags."""
        accept = self._accept
        return not isinstance(accept, frozenset) or not unit.tags_code or unit.tags_code in accept

    def take(self, units: Sequence[BatchUnit], records: Mapping[int, bytes], may_wait: bool) -> None:
        """Take units, with the records of those that must be read, until the answer is full. Raises
        `ColdRead`."""
        for unit in units:
            record = records.get(unit.base_offset)
            if record is not None and holds_record_batch(record):
                self._take_batch(unit, record, may_wait)
            elif not self._has_room(unit.physical_offset, unit.size, unit.messages):
                self.is_full = True
            elif record is None:
                self._is_removed |= self.must_read(unit)
            elif self._accepts(unit.tags_code, record):
                self._add(record, unit.base_offset, unit.physical_offset, unit.messages)
            if self.is_full:
                return
            self.next_offset = unit.end_offset
            self.number += 1
            self.passed += 1
        self.is_full = self._count >= max(self._fresh[0], self._old[0])

    def _take_batch(self, unit: BatchUnit, record: bytes, may_wait: bool) -> None:
        position, expansion = unit.physical_offset, self._expansion
        if self._inflated > PROMPT_MAX and self.has_passed:
            self.is_full = True
            return
        batch = expansion.find(record, position, may_wait)
        if batch is None:
            return
        self._inflated += batch.size
        begin, most = max(self._begin, unit.base_offset), self._max_count
        for offset, code, work, made in batch.messages(begin, most, expansion.report):
            if not self._has_room(position, len(made), 1) or self._work >= _WORK_MAX:
                self._stop_at(offset)
                return
            self._work += work
            if self._accepts(code, made):
                self._add(made, offset, position, 1)

    def _stop_at(self, offset: int) -> None:
        self.next_offset = offset
        self.is_full = True

    def _has_room(self, position: int, size: int, messages: int) -> bool:
        if not self._records:
            return True
        most, most_bytes = self._fresh if position >= self._fresh_from else self._old
        count = self._count
        return count < most and count + messages <= self._max_count and self._bytes + size <= most_bytes

    def _accepts(self, code: int, record: bytes) -> bool:
        accept = self._accept
        if accept is None:
            return True
        if isinstance(accept, frozenset):
            return code in accept
        return accept(PropertiesText(properties_text_of(record)))

    def _add(self, record: bytes, offset: int, position: int, messages: int) -> None:
        self._records.append(record)
        self._offsets.append(offset)
        self._count += messages
        self._bytes += len(record)
        self._last = position

    def result(self, low: int, high: int, log_end: int, fresh: int) -> GetResult:
        """Return the answer, for a queue with these ends, and a log with that end and so many bytes of fresh
        records."""
        offsets = self._offsets
        if not offsets:
            status = GetStatus.MESSAGE_WAS_REMOVING if self._is_removed else GetStatus.NO_MATCHED_MESSAGE
            return GetResult(status, self.next_offset, low, high)
        behind, body = log_end - self._last, b"".join(self._records)
        is_far = behind > fresh
        return GetResult(
            GetStatus.FOUND, self.next_offset, low, high, body, offsets, is_far, self._count, behind
        )
