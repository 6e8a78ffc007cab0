"""Messages of a store read by queue, offset, key, time, or position in the log."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

from mypy_extensions import mypyc_attr

from mqgateway.engine.clock import Clock
from mqgateway.engine.message import PROPERTY_UNIQ_KEY, StoredMessage
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.store.batch_consume_queue import BatchConsumeQueue, BatchUnit
from mqgateway.engine.store.cold import ColdRead, ColdRecords
from mqgateway.engine.store.compacted_reading import CompactedReading
from mqgateway.engine.store.compaction_log import Compacted
from mqgateway.engine.store.consume_queue import AnyQueue, ConsumeQueue, ConsumeQueues
from mqgateway.engine.store.dispatch_request import inner_batch
from mqgateway.engine.store.expansion import Expansion, holds_record_batch, place_of
from mqgateway.engine.store.index import Index
from mqgateway.engine.store.inspection import Inspection
from mqgateway.engine.store.key_query import INDEX_TAG, KeyQuery
from mqgateway.engine.store.log import Log, oldest_store_time, record_at
from mqgateway.engine.store.older_messages import NothingYet, OlderMessages
from mqgateway.engine.store.older_reading import MessageSelection, OlderReading
from mqgateway.engine.store.queue_sizes import QueueSizes
from mqgateway.engine.store.reader import QueueReader
from mqgateway.engine.store.record import decode, decode_all, properties_of
from mqgateway.engine.store.record_times import RecordTimes
from mqgateway.engine.store.results import (
    NO_LIMITS,
    UNLIMITED,
    Accept,
    GetResult,
    GetStatus,
    QueryResult,
    TransferLimits,
)
from mqgateway.engine.store.statistics import Statistics
from mqgateway.engine.store.views.transactions import TransactionsView
from mqgateway.engine.store.views.view import View
from mqgateway.engine.worker import Worker

log = logging.getLogger(__name__)


@mypyc_attr(native_class=False)  # as its subclass
class StoreReading:
    """The part of a store that reads. Readers that may not wait for the disk have one of their own."""

    compaction: Compacted | None = None
    """Serves topics of which only the newest message of each key stays; see `MessageStore.compact_with`."""

    def __init__(
        self,
        options: StoreOptions,
        clock: Clock,
        commit_log: Log,
        queues: ConsumeQueues,
        index: Index | None,
        views: Sequence[View],
        inspection: Inspection,
        statistics: Statistics,
        memory: int,
        aside: Worker,
        transactions: TransactionsView,
        compacted: CompactedReading,
        older: OlderMessages | None,
    ) -> None:
        self._options = options
        self._clock = clock
        self._log = commit_log
        self._queues = queues
        self._inspection = inspection
        self.statistics = statistics
        self._aside = aside
        self._expansion = Expansion(inspection.report, transactions.is_aborted)
        of_log = options, commit_log, inspection, self._expansion, memory
        self._reader = QueueReader(*of_log, True, views, compacted)
        self._prompt_reader = QueueReader(*of_log, False, views, compacted)
        self._older = None if older is None else OlderReading(options, commit_log, self._expansion, older)
        self.record_times = RecordTimes(commit_log, queues, compacted, self._older)
        self.sizes = QueueSizes(queues, compacted)
        self._key_query = KeyQuery(options, clock, index, commit_log, self._record_at, self._older)

    def get(
        self,
        topic: str,
        queue_id: int,
        offset: int,
        max_count: int,
        *,
        max_bytes: int | None = None,
        accept: Accept | frozenset[int] | None = None,
        may_wait: bool = True,
        limits: TransferLimits = NO_LIMITS,
        whole: bool = False,
        uncommitted: bool = False,
    ) -> GetResult:
        """Messages of a queue from `offset` on, at most `max_count`, at least one if one fits the choice.

        `accept` is None for all, a set of tags codes, or a function of the message's properties. A record
        that cannot be read counts as gone. Who may not wait for the disk gets `ColdRead` where that is
        needed; see `bring`. If `whole`, record batches of Kafka are not expanded, there is no choice, and
        aborted batches are there; with `uncommitted` too, those of open transactions are.
        Standard: `DefaultMessageStore.getMessage`.
        """
        began = self._clock.monotonic()
        queue = self._queues.get(topic, queue_id)
        try:
            if self.compaction is not None and self.compaction.covers(topic):
                return self.compaction.get(topic, queue_id, offset, max_count, max_bytes, accept, limits)
            older = self._older
            if older is not None and queue is not None and older.covers(queue, offset):
                if whole:
                    result = older.get_whole(queue, offset, MessageSelection(max_count, max_bytes), may_wait)
                else:
                    selection = MessageSelection(max_count, max_bytes, accept, limits)
                    result = older.get(queue, offset, selection, may_wait)
            else:
                # A unit that is still in memory has a record that was just written.
                is_fresh = isinstance(queue, ConsumeQueue) and offset >= queue.tail_start
                reader = self._reader_that(may_wait or is_fresh)
                if whole:
                    result = reader.get_whole(queue, offset, max_count, max_bytes, uncommitted)
                else:
                    result = reader.get(queue, offset, max_count, max_bytes, accept, limits)
            if older is not None and queue is not None:
                result.min_offset = older.min_offset(queue)
        except OSError as error:
            log.error("%s queue %d cannot be read at %d: %s", topic, queue_id, offset, error)
            assert queue is not None
            result = GetResult(GetStatus.OFFSET_FOUND_NULL, offset, queue.min_offset, queue.max_offset)
        self.statistics.get(len(result.queue_offsets), self._clock.monotonic() - began)
        return result

    def messages(
        self, topic: str, queue_id: int, begin: int, end: int, *, may_wait: bool = True
    ) -> list[StoredMessage]:
        """Return the messages of a queue with offsets from `begin` to `end`; see `get`. Raises
        `NothingYet`."""
        queue = self._queues.get(topic, queue_id)
        found: list[StoredMessage] = []
        while queue is not None and begin < end:
            result = self._get_all(queue, begin, end - begin, may_wait)
            found += decode_all(result.body)
            if result.next_offset <= begin:
                break
            begin = result.next_offset
        return [message for message in found if message.queue_offset < end]

    def _get_all(self, queue: AnyQueue, offset: int, most: int, may_wait: bool) -> GetResult:
        """Return messages of a queue, whatever their tags. Raises `NothingYet`."""
        if self._older is not None and self._older.covers(queue, offset):
            return self._older.read(queue, offset, MessageSelection(most), may_wait)
        return self._reader_that(may_wait).get(queue, offset, most, None, None)

    def message(
        self, topic: str, queue_id: int, offset: int, *, may_wait: bool = True
    ) -> StoredMessage | None:
        """Return the message of a queue at an offset, or None; see `get`. Raises `NothingYet`."""
        found = self.messages(topic, queue_id, offset, offset + 1, may_wait=may_wait)
        return found[0] if found else None

    def _reader_that(self, may_wait: bool) -> QueueReader:
        return self._reader if may_wait else self._prompt_reader

    def bring(self, cold: ColdRead, done: Callable[[], None]) -> None:
        """Have a worker read what was not in memory; `done` is called when it is worth trying again."""
        cold.bring_by(self._aside, done, ahead=self._options.data_read_ahead_enable)

    def record_at(self, physical_offset: int, *, may_wait: bool = True) -> bytes | None:
        """Return the stored bytes of the message at a log offset, or None. See `get` for `may_wait`. Raises
        `NothingYet`."""
        try:
            return self._record_at(physical_offset, may_wait)
        except OSError as error:
            log.error("the log cannot be read at %d: %s", physical_offset, error)
            return None

    def _record_at(self, physical_offset: int, may_wait: bool) -> bytes | None:
        if self._older is not None and physical_offset < self._log.min_offset:
            return self._older.record_at(physical_offset, may_wait)
        try:
            record = record_at(self._log, physical_offset, may_wait)
        except ColdRead:
            raise ColdRecords(physical_offset, self._log.ranges([(0, physical_offset, 4)])) from None
        if record is not None and self._inspection.is_due(None, 0, physical_offset):
            return record if self._inspection.passes(physical_offset, record) else None
        return record

    def look_up(self, physical_offset: int) -> StoredMessage | None:
        """Return the message at a log offset, or None, also for an older one that cannot be read now.
        Standard: `lookMessageByOffset`."""
        try:
            record = self.record_at(physical_offset)
        except NothingYet:
            return None
        return None if record is None else decode(record)

    def message_record_at(
        self, physical_offset: int, key: str | None = None, *, may_wait: bool = True
    ) -> bytes | None:
        """Return the record of the message at a log offset, or None.

        Of those in a batch of Kafka, which have one log offset, it is the one with the unique key, or the
        first if no key is given. See `get` for `may_wait`. Raises `NothingYet`.
        """
        record = self.record_at(physical_offset, may_wait=may_wait)
        if record is None or not holds_record_batch(record):
            return record
        batch = self._expansion.find(record, physical_offset, may_wait)
        if batch is None or batch.base_offset >= self.readable_end(batch.topic, batch.queue_id):
            return None
        place = None if key is None else place_of(key, batch.topic)
        if key is not None and (place is None or place.queue_id != batch.queue_id):
            return None
        begin = 0 if place is None else place.queue_offset
        for message in batch.messages(begin, 1, self._expansion.report):
            return message[3] if place is None or place.queue_offset == message[0] else None
        return None

    def query(
        self, topic: str, key: str, most: int, begin: int, end: int, kind: str = "K", may_wait: bool = True
    ) -> QueryResult:
        """Messages with a key (or with tags, for `kind` T) stored in [begin, end] ms, by offset; see `get`.

        The unique key of a message in a batch of Kafka says where it is, whenever it was stored.
        Raises `NothingYet` if none is found, and older ones cannot be read now.
        Standard: `DefaultMessageStore.queryMessage`.
        """
        place = place_of(key, topic) if kind != INDEX_TAG else None
        queue = None if place is None else self._queues.get(topic, place.queue_id)
        if place is not None and isinstance(queue, BatchConsumeQueue):
            found = self._get_all(queue, place.queue_offset, 1, may_wait)
            if found.queue_offsets and properties_of(found.body).get(PROPERTY_UNIQ_KEY) == key:
                message = decode(found.body)
                return QueryResult([found.body], message.store_timestamp, message.physical_offset)
        queues = self._queues.table.get(topic, {})
        result = self._key_query.find(topic, key, most, begin, end, kind, queues, may_wait)
        if not any(queue.start for queue in queues.values()):
            return result
        return result._replace(
            records=[record for record in result.records if not _is_removed(record, queues)]
        )

    def max_offset(self, topic: str, queue_id: int) -> int:
        """Return the offset after the last readable message of a queue; 0 for an unknown one."""
        queue = self._queues.get(topic, queue_id)
        return 0 if queue is None else queue.max_offset

    def readable_end(self, topic: str, queue_id: int) -> int:
        """Return the offset up to which messages of a queue may be read; 0 for an unknown queue."""
        queue = self._queues.get(topic, queue_id)
        return 0 if queue is None else self._reader.readable_end(queue)

    def is_held_back(self, topic: str, queue_id: int, offset: int) -> bool:
        """Return True if a queue has messages from an offset on, but none of them may be read yet."""
        queue = self._queues.get(topic, queue_id)
        return queue is not None and self._reader.readable_end(queue) <= offset < queue.max_offset

    def readable_bytes(
        self, topic: str, queue_id: int, offset: int, enough: int, uncommitted: bool = False
    ) -> int:
        """Return how many bytes can be read of a queue from an offset on; counting ends at `enough`. Those of
        open transactions count if `uncommitted`.

        It never waits for the disk: messages whose units are not in memory count as enough.
        """
        queue = self._queues.get(topic, queue_id)
        if queue is None:
            return 0
        try:
            return self._prompt_reader.readable_bytes(queue, offset, enough, uncommitted)
        except ColdRead:
            return enough

    def max_offsets(self, topic: str) -> dict[int, int]:
        """Return the offsets after the last readable messages of a topic, by queue."""
        return {queue_id: queue.max_offset for queue_id, queue in self._queues.table.get(topic, {}).items()}

    def min_offset(self, topic: str, queue_id: int) -> int:
        """Return the offset of the oldest message of a queue that can be read; 0 for an unknown one."""
        queue = self._queues.get(topic, queue_id)
        if queue is None:
            return 0
        return queue.min_offset if self._older is None else self._older.min_offset(queue)

    def local_min_offset(self, topic: str, queue_id: int) -> int:
        """Return the offset of the oldest message of a queue in the local log; 0 for an unknown one."""
        queue = self._queues.get(topic, queue_id)
        return 0 if queue is None else queue.min_offset

    def local_offset_by_time(self, topic: str, queue_id: int, ms: int) -> int:
        """Return the first offset in the local log stored at or after a time in ms, as `offset_by_time` does
        for a store without older messages; 0 for an unknown queue."""
        queue = self._queues.get(topic, queue_id)
        return 0 if queue is None else self._reader_that(True).offset_by_time(queue, ms, False)

    def offset_at_position(self, topic: str, queue_id: int, position: int) -> int:
        """Return the offset of the first message of a queue whose record begins at a log position or later.

        It is the end of the queue if there is none, and 0 for an unknown queue.
        """
        queue = self._queues.get(topic, queue_id)
        if queue is None:
            return 0
        if isinstance(queue, BatchConsumeQueue):
            return max(queue.first_offset_in_log(position), queue.min_offset)
        return max(queue.first_in_log(position, 0), queue.min_offset)

    def offset_by_time(
        self, topic: str, queue_id: int, ms: int, upper: bool = False, may_wait: bool = True
    ) -> int:
        """First offset stored at or after a time in ms, or with `upper` the last at or before it; 0 for an
        unknown queue. Standard: `getOffsetInQueueByTime` with BoundaryType LOWER or UPPER. Raises `ColdRead`
        unless `may_wait`, and `NothingYet`."""
        queue, reader = self._queues.get(topic, queue_id), self._reader_that(may_wait)
        if queue is None:
            return 0
        older = None if self._older is None else self._older.offset_by_time(queue, ms, upper, may_wait)
        if older is not None:
            return older
        found, first = reader.offset_by_time(queue, ms, upper), self.min_offset(topic, queue_id)
        if upper and found == queue.min_offset > first and reader.store_time(queue, found) > ms:
            return found - 1  # the last one that the local log has no longer
        return found

    def store_time(self, topic: str, queue_id: int, offset: int, may_wait: bool = True) -> int:
        """When a message was stored, in ms; -1 when it is not there."""
        queue = self._queues.get(topic, queue_id)
        if queue is not None and self._older is not None and self._older.covers(queue, offset):
            return self._older.store_time(queue, offset, may_wait)
        return -1 if queue is None else self._reader_that(may_wait).store_time(queue, offset)

    def earliest_store_time(self) -> int:
        """When the oldest message in the log was stored, in ms; -1 for an empty log."""
        return oldest_store_time(self._log)

    def consume_queue_units(
        self, topic: str, queue_id: int, index: int, count: int, *, may_wait: bool = True
    ) -> list[tuple[int, int, int]]:
        """Physical offset, size and tags code of up to `count` messages of a queue from offset `index` on."""
        queue = self._queues.get(topic, queue_id)
        if queue is None or index < queue.min_offset or count <= 0:
            return []
        return self._reader_that(may_wait).units(queue, index, count)

    def batch_units(
        self, topic: str, queue_id: int, offset: int, count: int, *, may_wait: bool = True
    ) -> list[BatchUnit]:
        """Return up to `count` units of a queue of batches from the message at `offset` on, of records in the
        log; none of another queue. See `get` for `may_wait`. Raises `OSError`."""
        queue = self._queues.get(topic, queue_id)
        return list(queue.units(offset, count, may_wait)) if isinstance(queue, BatchConsumeQueue) else []

    def stored_records(
        self, topic: str, queue_id: int, offset: int, max_bytes: int, *, may_wait: bool = True
    ) -> tuple[list[bytes], int]:
        """Return records of a queue of batches as they are stored, of about `max_bytes`, and the offset to
        read next. Those that are gone or damaged are left out. See `get` for `may_wait`. Raises `OSError`."""
        queue = self._queues.get(topic, queue_id)
        found = self._reader_that(may_wait).get_whole(queue, offset, UNLIMITED, max_bytes, True)
        return [bytes(record) for record in found.records], found.next_offset

    def records(self, topic: str, queue_id: int, offset: int, count: int) -> list[tuple[bytes, int]]:
        """Return the stored bytes and tags codes of messages of a queue from an offset on, of those there
        are."""
        units = self.consume_queue_units(topic, queue_id, offset, count)
        found = [(self.record_at(place), code) for place, _size, code in units]
        return [(record, code) for record, code in found if record is not None]


def _is_removed(record: bytes, queues: Mapping[int, AnyQueue]) -> bool:
    """Return True if all messages of a record are before the start of their queue."""
    message = decode(record)
    queue = queues.get(message.queue_id)
    base, count = inner_batch(message.properties) or (message.queue_offset, 1)
    return queue is not None and base + count <= queue.start
