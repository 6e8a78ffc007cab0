"""Compaction of the topics that Kafka made: which queues are compacted, when, and by whom.

Every `LOOK_MILLIS` a look at all topics begins. It runs in slices, and waits for no disk. It compacts the
queues that are due (`cleaner.cleanable`), one at a time. The loop reads their records, a worker does the rest
(`cleaner.compacting`), in slices too. Every broker compacts what it has, masters and slaves alike: only
records that are confirmed and synced.

A look also says from where on the log's files are still needed. Before the first one has ended all of them
are. So the newest record of a key is compacted before its file can be deleted because of its age.

The coordinators' own topics are left alone, as they write what they need again. Kafka: `LogCleaner`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from errno import EIO
from typing import Final, TypeVar

from mqgateway.engine.cleaner.batches import LastOfProducer
from mqgateway.engine.cleaner.cleanable import DirtyPart
from mqgateway.engine.cleaner.compacting import CleaningPlan, CompactionResult, compacting, slots_within
from mqgateway.engine.cleaner.limits import CompactionLimits, compaction_limits, is_compacted
from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import StoreError
from mqgateway.engine.message import KAFKA_COORDINATOR_TOPICS
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.cold_reading import read_in_steps
from mqgateway.engine.store.compacted_part import CompactedPart
from mqgateway.engine.store.message_store import ColdRead, MessageStore
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.engine.worker import Worker

log = logging.getLogger(__name__)

T = TypeVar("T")

LOOK_MILLIS: Final = 15_000
"""Least time between two looks. Kafka: `log.cleaner.backoff.ms`."""
REST: Final = 20
"""Least time between two looks, as a multiple of the loop's time that the last one took."""
SLICE_SECONDS: Final = 0.005
TOPICS_A_STEP: Final = 100
"""Duration of a slice on the loop, and topics without compaction that are passed in one step."""
UNITS_A_STEP: Final = 512
WORK_SECONDS: Final = 0.008
WORK_SLICES_A_TICK: Final = 8
"""Duration of a slice on the worker, and slices in each tick."""
READ_BYTES: Final = 256 << 10
"""Bytes of records that the loop reads together."""
_HOUR_MILLIS: Final = 3_600_000
NONE: Final = -1


class _DirtyRecords:
    """Records behind a compacted part, as the worker asks for them. The loop reads those from `wanted` on."""

    def __init__(self) -> None:
        self.wanted: int | None = None
        self._offset = NONE
        self._found: tuple[Sequence[bytes], int] = (), NONE

    def read(self, offset: int) -> tuple[Sequence[bytes], int] | None:
        """See `DirtyRecords`."""
        if offset == self._offset:
            self._offset = NONE
            return self._found
        self.wanted = offset
        return None

    def put(self, records: Sequence[bytes], next_offset: int) -> None:
        """Give the records that are wanted, and the offset to read next."""
        assert self.wanted is not None
        self._offset, self.wanted = self.wanted, None
        self._found = records, next_offset


class TopicCompaction:
    """The compactions of one broker. `topics` returns all topics as they are configured.

    `compacted` counts the compactions since the start of the process, and `failed` those that failed;
    `read` and `kept` count the stored records that they took and left.
    """

    def __init__(
        self,
        options: StoreOptions,
        store: MessageStore,
        disk: Disk,
        clock: Clock,
        worker: Worker,
        topics: Callable[[], Iterable[TopicConfig]],
    ) -> None:
        self._options = options
        self._store = store
        self._disk = disk
        self._clock = clock
        self._worker = worker
        self._topics = topics
        self._parts = store.compacted_parts
        self._parts.keep_from = 0 if options.enable_compaction else None
        self._look: Steps[None] | None = None
        self._next_look = elapsed_millis(clock)
        self._seconds = 0.0
        self._slices_left = 0
        self._is_waiting = self._is_running = False
        self.compacted = self.failed = self.read = self.kept = 0

    @property
    def is_working(self) -> bool:
        """True while a queue is looked at, or compacted."""
        return self._parts.compacting is not None

    def tick(self) -> None:
        """Begin a look if it is time, or continue the one that is in progress."""
        self._slices_left = WORK_SLICES_A_TICK
        if not self._options.enable_compaction:
            return
        if self._look is None and elapsed_millis(self._clock) >= self._next_look:
            self._look, self._seconds = self._steps(), 0.0
        self._continue()

    def _continue(self) -> None:
        """Continue a look for a slice, unless it waits."""
        if self._look is None or self._is_waiting or self._is_running or self._parts.is_stopped:
            return
        self._is_running = True
        began = now = self._clock.monotonic()
        try:
            while not self._is_waiting and now - began < SLICE_SECONDS:
                next(self._look)
                now = self._clock.monotonic()
        except StopIteration:
            self._end_look()
        except OSError as error:
            log.error("the look for topics to compact failed: %s", error)
            self._end_look()
        finally:
            self._is_running = False
            self._seconds += self._clock.monotonic() - began

    def _end_look(self) -> None:
        self._look = self._parts.compacting = None
        self._next_look = elapsed_millis(self._clock) + max(LOOK_MILLIS, int(REST * self._seconds * 1000))

    # A look.

    def _steps(self) -> Steps[None]:
        """Look at every topic, and compact the queues that are due. Raises `OSError`."""
        needed_from = self._store.admin.positions().dispatched
        for number, config in enumerate(list(self._topics())):
            if self._compacts(config):
                limits = compaction_limits(config.attributes)
                for queue_id in self._store.max_offsets(config.topic_name):
                    self._parts.compacting = config.topic_name, queue_id
                    position = yield from self._look_at(config.topic_name, queue_id, limits)
                    self._parts.compacting = None
                    needed_from = min(needed_from, position)
            elif number % TOPICS_A_STEP == 0:
                yield
        yield from self._drop_expired()
        self._parts.keep_from = needed_from

    def _compacts(self, config: TopicConfig) -> bool:
        if config.topic_name in KAFKA_COORDINATOR_TOPICS or config.is_compacted:
            return False
        return bool(config.attributes) and is_compacted(config.attributes)

    def _drop_expired(self) -> Steps[None]:
        """Delete the parts of topics that are not compacted any more, once the log has none of their
        records."""
        configs = {config.topic_name: config for config in self._topics()}
        for (topic, queue_id), part in list(self._parts.parts.items()):
            config = configs.get(topic)
            if config is None or self._compacts(config):
                continue
            newest = yield from self._reading(part.newest_position)
            is_there = self._parts.parts.get((topic, queue_id)) is part
            if is_there and newest < self._store.min_physical_offset:
                self._parts.remove(topic, queue_id)
            yield

    def _look_at(self, topic: str, queue_id: int, limits: CompactionLimits) -> Steps[int]:
        """Compact a queue if that is due; return the position of its first record that is not compacted."""
        changes = self._parts.changes
        part = self._parts.parts.get((topic, queue_id))
        start = self._store.min_offset(topic, queue_id)
        if part is not None and part.end <= start:
            self._parts.remove(topic, queue_id)
            part = None
        begin = start if part is None else part.end
        dirty, first = yield from self._dirty_part(topic, queue_id, begin, limits)
        if self._parts.changes != changes:
            return 0
        must_trim = part is not None and self._must_trim(part, start)
        if not must_trim and not dirty.is_due(0 if part is None else part.size):
            return first
        end = yield from self._compact(topic, queue_id, start, begin, dirty.end, limits)
        if end == NONE:
            return 0 if must_trim else first
        units = yield from self._reading(
            lambda may_wait: self._store.batch_units(topic, queue_id, end, 1, may_wait=may_wait)
        )
        return units[0].physical_offset if units else self._end_of_log

    @property
    def _end_of_log(self) -> int:
        return self._store.max_physical_offset

    @property
    def _log_millis(self) -> int:
        return self._options.file_reserved_time * _HOUR_MILLIS

    def _must_trim(self, part: CompactedPart, start: int) -> bool:
        """Return True if records before the start of a queue must leave its part now: the log may lose the
        marker that says where the queue starts."""
        if start <= part.begin:
            return False
        return self._clock.millis() - self._disk.modified(part.path) > self._log_millis // 2

    def _dirty_part(
        self, topic: str, queue_id: int, begin: int, limits: CompactionLimits
    ) -> Steps[tuple[DirtyPart, int]]:
        """Return what can be compacted from an offset on, and the position of the first record there."""
        store = self._store
        now = min(self._clock.millis(), store.steady.now())
        dirty = DirtyPart(begin, store.readable_end(topic, queue_id), limits, now, self._log_millis)
        durable = min(store.flushed_offset, store.confirm_offset)
        first, offset, has_more = self._end_of_log, begin, True
        while has_more:
            units = yield from self._reading(
                lambda may_wait, offset=offset: store.batch_units(  # type: ignore[misc]
                    topic, queue_id, offset, UNITS_A_STEP, may_wait=may_wait
                )
            )
            if units:
                first = min(first, units[0].physical_offset)
                offset = units[-1].end_offset
            has_more = bool(units)
            for unit in units:
                is_durable = unit.physical_offset + unit.size <= durable
                if not is_durable or not dirty.add(unit.end_offset, unit.size, unit.store_timestamp):
                    has_more = False
                    break
            yield
        return dirty, first

    # One compaction.

    def _compact(
        self, topic: str, queue_id: int, start: int, begin: int, end: int, limits: CompactionLimits
    ) -> Steps[int]:
        """Compact a queue up to an offset; return how far that was possible, -1 if it failed."""
        parts, changes, began = self._parts, self._parts.changes, self._clock.monotonic()
        try:
            plan = self._plan(topic, queue_id, start, begin, end, limits)
            result = yield from self._work(topic, queue_id, plan, changes)
            if result is not None:
                parts.replaced(topic, queue_id)
        except (OSError, StoreError) as error:
            self.failed += 1
            log.error("queue %d of topic %s cannot be compacted: %s", queue_id, topic, error)
            parts.discard(topic, queue_id)
            return NONE
        finally:
            parts.is_working = False
        if result is None:
            parts.discard(topic, queue_id)
            return NONE
        self.compacted += 1
        self.read += result.records_read
        self.kept += result.records_kept
        seconds = self._clock.monotonic() - began
        log.info(
            "queue %d of topic %s was compacted up to %d in %.3f s: %d records of %d are left, %d bytes",
            queue_id,
            topic,
            result.end,
            seconds,
            result.records_kept,
            result.records_read,
            result.size,
        )
        if result.unreadable:
            log.warning("%d batches of %s queue %d cannot be read", result.unreadable, topic, queue_id)
        return result.end

    def _plan(
        self, topic: str, queue_id: int, start: int, begin: int, end: int, limits: CompactionLimits
    ) -> CleaningPlan:
        options = self._options
        memory = options.max_offset_map_size // options.compaction_thread_num
        return CleaningPlan(
            start,
            begin,
            end,
            slots_within(memory, end - begin),
            self._store.transactions.aborted(topic, queue_id, begin, end),
            self._last_records(topic, queue_id),
            self._clock.millis(),
            limits.delete_retention,
        )

    def _last_records(self, topic: str, queue_id: int) -> Mapping[int, LastOfProducer]:
        """Return the active producers of a queue. A marker that raised an epoch is its producer's last
        record."""
        figures = self._store.producers.figures(topic).get(queue_id, ())
        found = {one.producer_id: LastOfProducer(one.last_offset, one.epoch) for one in figures}
        for producer_id, known in self._store.transactions.of_topic(topic).get(queue_id, {}).items():
            before = found.get(producer_id)
            if before is None or before.epoch < known.epoch:
                found[producer_id] = LastOfProducer(NONE, known.epoch)
        return found

    def _work(
        self, topic: str, queue_id: int, plan: CleaningPlan, changes: int
    ) -> Steps[CompactionResult | None]:
        """Have the worker compact; return None if that has ended early. Raises `StoreError`, `OSError`."""
        parts, dirty = self._parts, _DirtyRecords()
        path, old = parts.path(topic, queue_id), parts.parts.get((topic, queue_id))
        steps = compacting(self._disk, path, old, dirty, plan)
        while True:
            result = yield from self._on_worker(lambda: self._work_slice(steps, dirty))
            if parts.changes != changes:
                return None
            if result is not None:
                return result
            if dirty.wanted is not None:
                dirty.put(*(yield from self._read(topic, queue_id, dirty.wanted)))
                if parts.changes != changes:
                    return None

    def _work_slice(self, steps: Steps[CompactionResult], dirty: _DirtyRecords) -> CompactionResult | None:
        """Work for a while, or until records are wanted; return the result at the end. Runs on the worker."""
        until = self._clock.monotonic() + WORK_SECONDS
        try:
            while dirty.wanted is None and self._clock.monotonic() < until:
                next(steps)
        except StopIteration as end:
            result: CompactionResult = end.value
            return result
        return None

    def _read(self, topic: str, queue_id: int, offset: int) -> Steps[tuple[list[bytes], int]]:
        """Return some records from an offset on, and the offset to read next. Raises `OSError`."""
        records, next_offset = yield from self._reading(
            lambda may_wait: self._store.stored_records(
                topic, queue_id, offset, READ_BYTES, may_wait=may_wait
            )
        )
        if next_offset <= offset:
            raise OSError(EIO, f"{topic} queue {queue_id} cannot be read at offset {offset}")
        return records, next_offset

    # Waiting.

    def _on_worker(self, work: Callable[[], T]) -> Steps[T]:
        """Return the result of work on the worker, or raise what that raised."""
        outcome: list[T | Exception] = []

        def done(result: T | Exception) -> None:
            outcome.append(result)
            self._end_wait()

        self._is_waiting = self._parts.is_working = True
        self._worker.run(work, done)
        while not outcome:
            yield
        self._parts.is_working = False
        [result] = outcome
        if isinstance(result, Exception):
            raise result
        return result

    def _reading(self, attempt: Callable[[bool], T]) -> Steps[T]:
        """Return the outcome of `attempt(may_wait)`, once what it needs is in memory."""
        return read_in_steps(attempt, self._load)

    def _load(self, cold: ColdRead) -> None:
        self._is_waiting = True
        self._store.bring(cold, self._end_wait)

    def _end_wait(self) -> None:
        self._is_waiting = False
        if self._slices_left:
            self._slices_left -= 1
            self._continue()
