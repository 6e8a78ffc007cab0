"""Reading messages of a queue, as for a pull.

Units of the consume queue refer to records. They are filtered by tags code before any record is read, and
adjacent records are read together. The limits of a response are the caller's, the next offset is RocketMQ's.
Readers that are woken together with the same request share one response. RocketMQ:
`DefaultMessageStore.getMessage`.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Final

from mqgateway.engine.extension import native
from mqgateway.engine.message import PROPERTY_TAGS, SCHEDULE_TOPIC, tags_code
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.store.batch_consume_queue import BatchConsumeQueue
from mqgateway.engine.store.batch_reading import BatchReading
from mqgateway.engine.store.cold import ColdRead
from mqgateway.engine.store.compacted_reading import CompactedReading
from mqgateway.engine.store.consume_queue import ADDRESS_MAX, UNIT, UNIT_SIZE, AnyQueue, ConsumeQueue
from mqgateway.engine.store.dispatch_request import delivery_time, parse_delay_levels
from mqgateway.engine.store.expansion import Expansion
from mqgateway.engine.store.inspection import Inspection
from mqgateway.engine.store.log import Log, agreed_limit, store_time
from mqgateway.engine.store.log_on_files import gather
from mqgateway.engine.store.properties_text import PropertiesText
from mqgateway.engine.store.property_choice import Limits, PropertyChoice
from mqgateway.engine.store.record import properties_of, properties_text_of, store_timestamp
from mqgateway.engine.store.results import (
    NO_LIMITS,
    Accept,
    GetResult,
    GetStatus,
    Record,
    RecordSpan,
    TransferLimits,
    outside,
)
from mqgateway.engine.store.views.view import View

MAX_PULL_BYTES: Final = 128 << 20
_SLACK: Final = 4096
"""Bytes between records that are read along rather than skipped with a second read."""
_COUNTED: Final = 64
"""Units read together to count the bytes of messages."""
_SHARED_MAX: Final = 16
"""Maximum of shared responses: readers with the same request are woken one after the other."""
_TOGETHER: Final = 32
"""Records read together for a filter that needs their properties.

One alone is read if it is among records with cached decisions.
"""
_BRING_RECORDS: Final = 256
_BRING_BYTES: Final = 4 << 20
"""Maximum of bytes loaded at a time, from `_BRING_RECORDS` records, for a filter that needs records."""

_POSITION: Final = itemgetter(1)


class QueueReader:
    """Reads queues. `memory` is the machine's, in bytes; it defines the part of the log that counts as fresh.
    Without `may_wait` it raises `ColdRead` for bytes that are not in memory. While `shared` is a dictionary,
    responses are kept in it for readers with the same request."""

    def __init__(
        self,
        options: StoreOptions,
        commit_log: Log,
        inspection: Inspection,
        expansion: Expansion,
        memory: int,
        may_wait: bool,
        views: Sequence[View],
        compacted: CompactedReading,
    ) -> None:
        self._options = options
        self._delays = parse_delay_levels(options.message_delay_level)
        self._log = commit_log
        self._inspection = inspection
        self._may_wait = may_wait
        self._memory = memory
        self._limiting = [view for view in views if view.limits_reading]
        of_log = options, commit_log, expansion, may_wait
        self._batches = BatchReading(*of_log, self._fresh, self._read, self._borrow, compacted)
        self.shared: dict[object, GetResult] | None = None

    def readable_end(self, queue: AnyQueue) -> int:
        """Return the queue offset up to which messages may be read: the end, or where a view limits it."""
        end = queue.max_offset
        for view in self._limiting:
            limit = view.read_limit(queue)
            if limit is not None and limit < end:
                end = limit
        return end

    def _fresh(self) -> int:
        """Return the number of newest log bytes that count as in memory."""
        return self._memory * self._options.access_message_in_memory_max_ratio // 100

    def readable_bytes(self, queue: AnyQueue, offset: int, enough: int, uncommitted: bool = False) -> int:
        """Return the number of bytes that can be read from a queue offset on; counting ends at `enough`.
        Raises `ColdRead` unless this reader may wait."""
        end = queue.max_offset if uncommitted else self.readable_end(queue)
        limit = agreed_limit(self._log)
        offset, total = max(offset, queue.min_offset), 0
        while offset < end and total < enough:
            if isinstance(queue, BatchConsumeQueue):
                rows = self._batches.sizes(queue, offset, end, _COUNTED)
            else:
                data = queue.units(offset, min(_COUNTED, end - offset), self._may_wait)
                data = data[: len(data) - len(data) % UNIT_SIZE]
                rows = [(at, size, n) for n, (at, size, _) in enumerate(UNIT.iter_unpack(data), offset + 1)]
            if not rows:
                break
            for at, size, next_offset in rows:
                if limit is not None and at + size > limit:
                    return total
                total += size
                offset = next_offset
        return total

    def get(
        self,
        queue: AnyQueue | None,
        offset: int,
        max_count: int,
        max_bytes: int | None,
        accept: Accept | frozenset[int] | None,
        limits: TransferLimits = NO_LIMITS,
    ) -> GetResult:
        """Return messages of a queue from `offset`; see `MessageStore.get`."""
        if self.shared is not None and (accept is None or isinstance(accept, frozenset)):
            return self._get_shared(self.shared, queue, offset, max_count, max_bytes, accept, limits)
        return self._get(queue, offset, max_count, max_bytes, accept, limits)

    def get_whole(
        self, queue: AnyQueue | None, offset: int, max_count: int, max_bytes: int | None, uncommitted: bool
    ) -> GetResult:
        """Return records of a queue from `offset` as they are stored: batches are not expanded."""
        if isinstance(queue, BatchConsumeQueue):
            end = queue.max_offset if uncommitted else self.readable_end(queue)
            if queue.min_offset <= offset < end:
                max_bytes = MAX_PULL_BYTES if max_bytes is None else max_bytes
                return self._batches.records(queue, offset, end, max_count, max_bytes)
        return self._get(queue, offset, max_count, max_bytes, None, NO_LIMITS)

    def _get_shared(
        self,
        shared: dict[object, GetResult],
        queue: AnyQueue | None,
        offset: int,
        max_count: int,
        max_bytes: int | None,
        accept: frozenset[int] | None,
        limits: TransferLimits,
    ) -> GetResult:
        key = (queue, offset, max_count, max_bytes, accept, limits)
        result = shared.get(key)
        if result is None:
            if len(shared) >= _SHARED_MAX:
                shared.clear()
            result = shared[key] = self._get(queue, offset, max_count, max_bytes, accept, limits)
        return result

    def _get(
        self,
        queue: AnyQueue | None,
        offset: int,
        max_count: int,
        max_bytes: int | None,
        accept: Accept | frozenset[int] | None,
        limits: TransferLimits,
    ) -> GetResult:
        if queue is None:
            return GetResult(GetStatus.NO_MATCHED_LOGIC_QUEUE, 0, 0, 0)
        low, high = queue.min_offset, queue.max_offset
        if not low <= offset < high:
            return outside(offset, low, high)
        end = self.readable_end(queue) if self._limiting else high
        if offset >= end:
            return outside(offset, low, offset)
        options = self._options
        max_bytes = MAX_PULL_BYTES if max_bytes is None else max_bytes
        if isinstance(queue, BatchConsumeQueue):
            return self._batches.messages(queue, offset, end, max_count, max_bytes, accept, limits)
        if accept is None:
            window = min(max_count, limits.fresh_count)
        else:
            window = max(options.max_filter_message_size // UNIT_SIZE, max_count)
        data = queue.units(offset, min(max(window, 1), end - offset), self._may_wait)
        if len(data) < UNIT_SIZE:
            per_file = options.mapped_file_size_consume_queue // UNIT_SIZE
            return GetResult(GetStatus.OFFSET_FOUND_NULL, offset + per_file - offset % per_file, low, high)
        limit = agreed_limit(self._log)
        if limit is not None:
            data = _before(data, limit)
            if not data:
                return outside(offset, low, offset)
        if accept is not None and not isinstance(accept, frozenset):
            try:
                return self._get_accepted(queue, offset, data, max_count, max_bytes, accept, limits)
            except ColdRead as cold:
                raise self._more_of(cold, data) from None
        places, next_offset, removed = self._choose(queue, data, offset, max_count, max_bytes, accept, limits)
        body, offsets = self._read(queue, places)
        if not offsets:
            removed = removed or bool(places)
            status = GetStatus.MESSAGE_WAS_REMOVING if removed else GetStatus.NO_MATCHED_MESSAGE
            return GetResult(status, next_offset, low, high)
        behind = self._log.end_offset - places[-1][1]
        return GetResult(
            GetStatus.FOUND, next_offset, low, high, body, offsets, behind > self._fresh(), behind=behind
        )

    def _choose(
        self,
        queue: ConsumeQueue,
        data: bytes | bytearray,
        offset: int,
        max_count: int,
        max_bytes: int,
        codes: frozenset[int] | None,
        limits: TransferLimits,
    ) -> tuple[list[RecordSpan], int, bool]:
        """Return the records of one response, the next offset, and True if some were no longer in the log."""
        oldest, largest = self._log.min_offset, self._log.file_size
        fresh_from = self._log.end_offset - self._fresh()
        fresh_count, fresh_bytes = min(max_count, limits.fresh_count), min(max_bytes, limits.fresh_bytes)
        old_count, old_bytes = min(max_count, limits.old_count), min(max_bytes, limits.old_bytes)
        if native is not None:
            chosen = native.choose(
                units=data,
                offset=offset,
                codes=codes,
                oldest=oldest,
                largest=largest,
                fresh_from=fresh_from,
                fresh_count=fresh_count,
                fresh_bytes=fresh_bytes,
                old_count=old_count,
                old_bytes=old_bytes,
                address_max=ADDRESS_MAX,
            )
            if chosen is not None:
                return chosen
        if codes is None:
            units = list(UNIT.iter_unpack(data))
            sizes = [size for _, size, _ in units]
            if (
                min(units)[0] >= max(fresh_from, oldest)
                and min(sizes) > 0
                and max(sizes) <= largest
                and len(units) <= fresh_count
                and sum(sizes) <= fresh_bytes
            ):  # all of them, as in most responses
                found = [(number, at, size) for number, (at, size, _) in enumerate(units, offset)]
                return found, offset + len(units), False
        places: list[RecordSpan] = []
        count, total, removed = 0, 0, False
        for at, size, code in UNIT.iter_unpack(data):
            if not count:
                pass
            elif at >= fresh_from:
                if count >= fresh_count or total + size > fresh_bytes:
                    break
            elif count >= old_count or total + size > old_bytes:
                break
            if at < oldest or not 0 < size <= largest:
                removed = True
            elif (
                codes is None
                or code in codes
                or (code <= ADDRESS_MAX and self._is_in(codes, queue, (offset, at, size)))
            ):
                places.append((offset, at, size))
                total += size
                count += 1
            offset += 1
        return places, offset, removed

    def _is_in(self, codes: frozenset[int], queue: ConsumeQueue, place: RecordSpan) -> bool:
        """Return True if a message's own tags are among `codes`, or if it is gone, to be dropped later."""
        [record] = self._records(queue, [place])
        return record is None or tags_code(properties_of(record).get(PROPERTY_TAGS)) in codes

    def _read(self, queue: AnyQueue, places: list[RecordSpan]) -> tuple[bytes, list[int]]:
        """Return the concatenated records and their queue offsets, except unreadable ones."""
        if not places:
            return b"", []
        if self._inspection.is_due(queue, places[0][0], places[0][1]):
            records, offsets = self._read_inspected(queue, places)
            return b"".join(records), offsets
        first, total = places[0][1], sum([size for _, _, size in places])
        span = places[-1][1] + places[-1][2] - first
        body: bytes | None = None
        if total <= span <= 2 * total + _SLACK:
            body = self._log.read(first, span, self._may_wait)
            if body is not None and span != total:
                body, count = gather(body, first, first + span, places, 0)
                if count < len(places):
                    body = None  # one of them is elsewhere
        if body is None:
            body = self._log.read_joined(places, self._may_wait)
        if body is not None:
            return body, [offset for offset, _, _ in places]
        records, offsets = self._read_apart(places)
        return b"".join(records), offsets

    def _read_apart(self, places: list[RecordSpan]) -> tuple[list[bytes], list[int]]:
        """Return the single records and their queue offsets, except unreadable ones."""
        each = self._log.read_each(places, self._may_wait)
        records = [record for record in each if record is not None]
        return records, [place[0] for place, record in zip(places, each, strict=True) if record is not None]

    def _borrow(self, queue: AnyQueue, places: list[RecordSpan]) -> tuple[Sequence[Record], list[int]]:
        """Return records as views, and their queue offsets. Records that may come from the disk are copied
        and inspected instead."""
        if places and self._inspection.is_due(queue, places[0][0], places[0][1]):
            return self._read_inspected(queue, places)
        each = self._log.borrow_each(places, self._may_wait)
        records = [record for record in each if record is not None]
        if len(records) == len(places):
            return records, [place[0] for place in places]
        return records, [place[0] for place, record in zip(places, each, strict=True) if record is not None]

    def _read_inspected(self, queue: AnyQueue, places: list[RecordSpan]) -> tuple[list[bytes], list[int]]:
        """Return what `_read_apart` does, for records that may come from the disk, without damaged ones."""
        passes = self._inspection.passes
        first, total = places[0][1], sum([size for _, _, size in places])
        span = places[-1][1] + places[-1][2] - first
        is_close = total <= span <= 2 * total + _SLACK
        data = self._log.read(first, span, self._may_wait) if is_close else None
        each: list[bytes] | list[bytes | None] = (
            self._log.read_each(places, self._may_wait)
            if data is None
            else [data[at - first : at - first + size] for _, at, size in places]
        )
        records: list[bytes] = []
        offsets: list[int] = []
        for place, record in zip(places, each, strict=True):
            if record is not None and passes(place[1], record, queue, place[0]):
                records.append(record)
                offsets.append(place[0])
        return records, offsets

    def _limits_of_answer(
        self, queue: ConsumeQueue, end: int, max_count: int, max_bytes: int, limits: TransferLimits
    ) -> Limits:
        """Return the limits of a response for a log that ends at `end`."""
        fresh_from = end - self._fresh()
        fresh_count, fresh_bytes = min(max_count, limits.fresh_count), min(max_bytes, limits.fresh_bytes)
        old_count, old_bytes = min(max_count, limits.old_count), min(max_bytes, limits.old_bytes)
        due_position, due_offset = self._inspection.due_before(queue)
        return Limits(
            due_position=due_position,
            due_offset=due_offset,
            largest=self._log.file_size,
            fresh_from=fresh_from,
            fresh_count=fresh_count,
            fresh_bytes=fresh_bytes,
            old_count=old_count,
            old_bytes=old_bytes,
        )

    def _get_accepted(
        self,
        queue: ConsumeQueue,
        offset: int,
        data: bytes | bytearray,
        max_count: int,
        max_bytes: int,
        accept: Accept,
        transfer: TransferLimits,
    ) -> GetResult:
        """Return the response to a reader whose filter needs the records."""
        end, fresh = self._log.end_offset, self._fresh()
        limits = self._limits_of_answer(queue, end, max_count, max_bytes, transfer)
        choice = accept if isinstance(accept, PropertyChoice) else None
        quick = choice if choice is not None and choice.knows_many else None
        records: list[bytes] = []
        offsets: list[int] = []
        total, removed, last, is_full = 0, False, end, False
        at, count = 0, len(data) // UNIT_SIZE
        while at < count and not is_full:
            known = 0
            found = None
            if quick is not None:
                window = self._log.window(UNIT.unpack_from(data, at * UNIT_SIZE)[0])
                if window is not None:
                    found = quick.take_known(window, data, at, offset, records, offsets, total, limits)
            if found is not None:
                known, total, place, is_full = found
                last = last if place < 0 else place
                at += known
                offset += known
                if is_full or at == count:
                    break
            together = 1 if known >= _TOGETHER else _TOGETHER
            units = UNIT.iter_unpack(data[at * UNIT_SIZE : (at + together) * UNIT_SIZE])
            at += together
            places = [(number, place, size) for number, (place, size, _) in enumerate(units, offset)]
            for (number, place, size), record in zip(places, self._records(queue, places), strict=True):
                if not records:
                    pass
                elif place >= limits.fresh_from:
                    is_full = len(records) >= limits.fresh_count or total + size > limits.fresh_bytes
                else:
                    is_full = len(records) >= limits.old_count or total + size > limits.old_bytes
                if is_full:
                    break
                offset = number + 1
                if record is None:
                    removed = True
                elif (
                    choice.takes(record)
                    if choice is not None
                    else accept(PropertiesText(properties_text_of(record)))
                ):
                    records.append(record)
                    offsets.append(number)
                    total += size
                    last = place
        low, high = queue.min_offset, queue.max_offset
        if not records:
            status = GetStatus.MESSAGE_WAS_REMOVING if removed else GetStatus.NO_MATCHED_MESSAGE
            return GetResult(status, offset, low, high)
        behind, body = end - last, b"".join(records)
        return GetResult(GetStatus.FOUND, offset, low, high, body, offsets, behind > fresh, behind=behind)

    def _records(self, queue: AnyQueue, places: list[RecordSpan]) -> list[bytes | None]:
        """Return the record of each place; None for those that are gone or damaged."""
        passes, is_due, largest = self._inspection.passes, self._inspection.is_due, self._log.file_size
        # The range of a damaged unit is not read.
        sound = [place if 0 < place[2] <= largest else (place[0], -1, 0) for place in places]
        found = self._log.read_each(sound, self._may_wait)
        if not is_due(queue, min(sound)[0], min(sound, key=_POSITION)[1]):
            return found  # the oldest of them is fresh
        for at, (number, position, _) in enumerate(sound):
            record = found[at]
            if record is not None and is_due(queue, number, position):
                found[at] = record if passes(position, record, queue, number) else None
        return found

    def _more_of(self, cold: ColdRead, data: bytes | bytearray) -> ColdRead:
        """Return `cold` extended by the records that will be read next."""
        places: list[RecordSpan] = []
        total = 0
        for physical_offset, size, _ in UNIT.iter_unpack(data):
            if cold.position <= physical_offset and size <= _BRING_BYTES - total:
                places.append((0, physical_offset, size))
                total += size
                if len(places) == _BRING_RECORDS:
                    break
        return ColdRead(cold.position, self._log.ranges(places) or cold.ranges)

    def units(self, queue: AnyQueue, index: int, count: int) -> list[tuple[int, int, int]]:
        """Return physical offset, size and tags code of up to `count` messages from `index` on."""
        if isinstance(queue, BatchConsumeQueue):
            return [unit[:3] for unit in queue.units(index, count, self._may_wait)]
        if index >= queue.max_offset:
            return []
        data = queue.units(index, min(count, queue.max_offset - index), self._may_wait)
        units = list(UNIT.iter_unpack(data[: len(data) // UNIT_SIZE * UNIT_SIZE]))
        return [
            unit if unit[2] > ADDRESS_MAX else self._own_code(queue, offset, *unit)
            for offset, unit in enumerate(units, index)
        ]

    def _own_code(
        self, queue: ConsumeQueue, offset: int, physical_offset: int, size: int, code: int
    ) -> tuple[int, int, int]:
        [record] = self._records(queue, [(offset, physical_offset, size)])
        if record is None:
            return physical_offset, size, code
        properties = properties_of(record)
        found = tags_code(properties.get(PROPERTY_TAGS))
        if queue.topic == SCHEDULE_TOPIC:
            found = delivery_time(properties, store_timestamp(record), self._delays) or found
        return physical_offset, size, found

    def store_time(self, queue: AnyQueue, offset: int) -> int:
        """Return the store time of a message in ms; -1 if it does not exist."""
        if isinstance(queue, BatchConsumeQueue) and queue.min_offset <= offset < queue.compacted_end:
            return self._batches.compacted.store_time(queue, offset, self._may_wait)
        unit = None if offset < queue.min_offset else queue.unit(offset, self._may_wait)
        return -1 if unit is None else store_time(self._log, unit[0], self._may_wait)

    def offset_by_time(self, queue: AnyQueue, time: int, upper: bool) -> int:
        """Return the first offset stored at or after a time in ms; with `upper` the last at or before it.
        Outside of the queue the nearer end is returned. RocketMQ: `ConsumeQueue.getOffsetInQueueByTime`."""
        if isinstance(queue, BatchConsumeQueue):
            return self._batches.offset_by_time(queue, time, upper)
        low, high = queue.min_offset, queue.max_offset
        first, end = low, high
        while low < high:
            middle = (low + high) // 2
            unit = queue.unit(middle, self._may_wait)
            stored = -1 if unit is None else store_time(self._log, unit[0], self._may_wait)
            if stored < time or (upper and stored == time):
                low = middle + 1
            else:
                high = middle
        return max(first, low - 1) if upper else min(low, end)


def _before(data: bytes | bytearray, limit: int) -> bytes | bytearray:
    """Return the units of records that end before a log position."""
    end = len(data) - len(data) % UNIT_SIZE
    while end:
        place, size, _ = UNIT.unpack_from(data, end - UNIT_SIZE)
        if place + size <= limit:
            break
        end -= UNIT_SIZE
    return data[:end]
