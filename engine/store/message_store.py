"""Facade of the store: put messages into the log, get them by queue, offset, time or key.

How a message passes through: `put` encodes a record (`writer`, `record`) and appends it (`commit_log`).
`dispatch`, called once after the puts that arrived together, fills queues and index (`dispatch`,
`consume_queue`, `index`) and notifies waiting readers. `get` reads (`reader`). `tick` runs periodic work
(`flush`, `retention`); `start` recovers (`recovery`); `admin` is for administration (`administration`). One
thread calls all of it; only syncs run on the worker.

An acknowledged message survives the end of the process, as its record is in the file when `put` returns. It
survives the end of the machine once `when_flushed` reports so. RocketMQ: `DefaultMessageStore`.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from mypy_extensions import mypyc_attr

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.engine.disk import Disk, File, make_directories, total_memory
from mqgateway.engine.errors import StoreError, StoreUnavailable
from mqgateway.engine.message import (
    PROPERTY_INNER_MULTI_DISPATCH,
    QUEUE_STARTS_TOPIC,
    Message,
    SysFlag,
)
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.steady_clock import SteadyClock
from mqgateway.engine.steps import Steps, run
from mqgateway.engine.store.administration import StoreAdministration
from mqgateway.engine.store.checkpoint import Checkpoint
from mqgateway.engine.store.cold import ColdRead
from mqgateway.engine.store.commit_log import commit_log_of
from mqgateway.engine.store.compaction_log import Compacted
from mqgateway.engine.store.consume_queue import queues_of
from mqgateway.engine.store.dispatch import Dispatch
from mqgateway.engine.store.file_queue import file_name
from mqgateway.engine.store.flush import LogFlusher
from mqgateway.engine.store.group_commit import Done
from mqgateway.engine.store.index import Index
from mqgateway.engine.store.inspection import Inspection
from mqgateway.engine.store.large_batch import LargeBatch
from mqgateway.engine.store.log import Agreement, Log, confirm_policy
from mqgateway.engine.store.older_messages import OlderMessages
from mqgateway.engine.store.privacy import warn_if_others_may_read
from mqgateway.engine.store.raw_log import RawLog
from mqgateway.engine.store.recovery import StoreRecovery
from mqgateway.engine.store.removal import Removals
from mqgateway.engine.store.results import (
    Arrival,
    GetResult,
    GetStatus,
    PutResult,
    PutStatus,
    QueryResult,
    RecoveryReport,
)
from mqgateway.engine.store.retention import Retention
from mqgateway.engine.store.scan import Progress, logged
from mqgateway.engine.store.statistics import Statistics
from mqgateway.engine.store.store_reading import StoreReading
from mqgateway.engine.store.truncation import Truncation
from mqgateway.engine.store.views.compacted_parts import CompactedPartsView
from mqgateway.engine.store.views.producers import ProducersView
from mqgateway.engine.store.views.standard import views_of
from mqgateway.engine.store.views.starts import properties_of_marker
from mqgateway.engine.store.views.transactions import TransactionsView
from mqgateway.engine.store.views.view import View
from mqgateway.engine.store.whole_batches import WholeBatches
from mqgateway.engine.store.write_gate import WriteGate
from mqgateway.engine.store.writer import Writer
from mqgateway.engine.worker import Worker

__all__ = [
    "Arrival",
    "ColdRead",
    "GetResult",
    "GetStatus",
    "MessageStore",
    "PutResult",
    "PutStatus",
    "QueryResult",
    "RecoveryReport",
]

log = logging.getLogger(__name__)

_SAMPLE_MILLIS: Final = 1000


@mypyc_attr(native_class=False)  # tests replace methods
class MessageStore(StoreReading):
    """One broker's messages. Only `start` and `cut` raise for a disk fault; other methods report it by
    statuses and remarks. The messages are in `commit_log`, by default the one of the settings, in the
    directory `root`. `removals` delete old files; a given `commit_log` was made with the same. `older` has
    what the log has deleted. If the store `agrees`, only what replicas agree on is confirmed."""

    _lock: File | None
    was_clean = False
    """True if the previous run stopped cleanly; valid once this one has started."""

    def __init__(
        self,
        options: StoreOptions,
        *,
        disk: Disk,
        clock: Clock,
        worker: Worker,
        store_host: bytes,
        on_arrivals: Callable[[list[Arrival]], None] | None = None,
        is_batch_topic: Callable[[str], bool] | None = None,
        memory: int | None = None,
        aside: Worker | None = None,
        commit_log: Log | None = None,
        removals: Removals | None = None,
        views: Sequence[View] = (),
        older: OlderMessages | None = None,
        gate: WriteGate | None = None,
        agrees: bool = False,
    ) -> None:
        self._options, self._store_host, self._disk, self._clock = options, store_host, disk, clock
        self.on_arrivals, self._lock = on_arrivals, None
        self._rest_watchers: list[Callable[[], None]] = []
        self.root = options.store_path_root_dir or os.path.expanduser("~/store")
        memory = total_memory() if memory is None else memory
        # Waits for the disk that no send depends on: it must not run before or between the syncs.
        self._aside = aside or worker
        self._removals = removals or Removals(disk, clock, self._aside, options)
        remove = self._removals.add
        self.gate = gate
        """Refuses or redirects puts while the log is written by another broker; None: puts are appended."""
        self.agreement = Agreement(confirm_policy(options)) if agrees else None
        self._log = commit_log or commit_log_of(options, disk, self.root, memory, remove, self.agreement)
        self._queues = queues_of(options, disk, self.root, is_batch_topic, remove)
        self._index: Index | None = None
        if options.message_index_enable and options.index_file_write_enable:
            slots, entries = options.max_hash_slot_num, options.max_index_num
            self._index = Index(disk, f"{self.root}/index", slots, entries, remove)
        self._checkpoint = Checkpoint(disk, f"{self.root}/checkpoint")
        self.producers = ProducersView(options, disk, clock, self.root)
        self.transactions = TransactionsView(options, disk, clock, self.root, self._queues, older)
        self.compacted_parts = CompactedPartsView(disk, self.root, self._queues, self.readable_end)
        of_store = options, disk, self.root, self._queues, self._index, self._aside
        of_kafka = self.producers, self.transactions, self.compacted_parts
        self._views = views_of(*of_store, *of_kafka, views, older is not None)
        self._dispatch = Dispatch(self._views)
        of_log = self._log, self._queues.directory, self._views
        self._durability = LogFlusher(
            options, disk, clock, worker, *of_log, self._checkpoint, self._apply, self._aside
        )
        self.raw = RawLog(options, self._log, self._queues, self._dispatch, self._durability.commit)
        self.steady = SteadyClock(clock)
        self._retention = Retention(options, disk, clock, self.steady, *of_log, self._removals)
        inspection = Inspection(self._log, options.check_crc_on_read)
        statistics = Statistics(clock.millis(), elapsed_millis(clock))
        to_read = options, clock, self._log, self._queues, self._index, self._views, inspection, statistics
        super().__init__(
            *to_read, memory, self._aside, self.transactions, self.compacted_parts.reading, older
        )
        self._writer = Writer(
            options, clock, self._log, self._queues, self._dispatch, self.statistics, store_host
        )
        self.batches = WholeBatches(self, self._queues, self._writer)
        parts = self._log, self._queues, self._dispatch, self._durability, self._retention
        self.admin = StoreAdministration(self, disk, clock, *parts)
        self._is_open, self._held, self._last_sample = False, "", -_SAMPLE_MILLIS
        self._refusal = "the store is not started"

    def compact_with(self, compaction: Compacted) -> None:
        """Keep and read compacted topics by `compaction`, which reads this store; to be called before
        `start`."""
        self.compaction = compaction
        self._views.append(compaction)

    # Starting and stopping.

    def start(self, progress: Progress | None = None) -> RecoveryReport:
        """Run `starting` to its end."""
        return run(self.starting(progress))

    def starting(self, progress: Progress | None = None) -> Steps[RecoveryReport]:
        """Load and recover, as a cooperative task; `progress` gets the progress, by default it is logged. The
        store must not be used before it is done. Raises `StoreUnavailable` if another process has the store,
        `MissingLogFiles` and, for files of a wrong length, `CorruptFile` before anything is changed, and
        `OSError`."""
        began = self._clock.monotonic()
        for directory in (self.root, self._log.files.directory, self._queues.directory):
            make_directories(self._disk, directory)
        try:
            self._lock = self._disk.lock(f"{self.root}/lock")
        except BlockingIOError:
            raise StoreUnavailable(f"{self.root} is in use by another broker") from None
        abort = f"{self.root}/abort"
        self.was_clean = clean = not self._disk.exists(abort)
        check_crc, watched = self._options.check_crc_on_recover, progress or logged(self._clock)
        recovery = StoreRecovery(self._log, self._dispatch, self._checkpoint, check_crc, watched)
        try:
            recovery.judge(clean, self._options.start_with_missing_log_files)
        except (StoreError, OSError):
            self._lock.close()
            self._lock = None
            raise
        for view in self._views:
            view.prepare()
        self._lock.write(0, b"lock")
        self._disk.open(abort, create=True).write(0, str(os.getpid()).encode())
        self._checkpoint.load()
        if self.agreement is not None and self._options.all_ack_in_sync_state_set:
            self.agreement.limit = self._checkpoint.confirm_physical_offset
        self._disk.sync_dir(self.root)
        yield from recovery.run(clean)
        for place in recovery.unsettled:
            self.raw.take(place)
        end = self._log.end_offset
        if not clean:
            # Bytes that may be only in the page cache count as flushed from now on, so they must be.
            for file in self._log.files.between(end - recovery.scanned_bytes, end + 1):
                file.sync()
            self._disk.sync_dir(self._log.files.directory)
        self._durability.start(end, self._dispatch.last_start, self._dispatch.last_timestamp)
        self._refusal = ""
        self._is_open = True
        for view in self._views:
            view.opened(clean)
        if not clean:
            self._durability.start_round()
        self._retention.measure()
        newest = [f"{self._log.files.directory}/{file_name(start)}" for start in self._log.files.starts[-1:]]
        warn_if_others_may_read(self._disk, self.root, newest)
        seconds = self._clock.monotonic() - began
        report = RecoveryReport(
            clean, end, recovery.scanned_bytes, recovery.dispatched, seconds, recovery.ended_by
        )
        log.info("store %s is open %s", self.root, report.in_words)
        return report

    def cut(self, offset: int) -> bool:
        """Truncate the log at `offset`, the end of a record, durably: a power cut restores nothing of the
        rest. Returns False without a change while syncs are in progress; retry on the next tick. Raises
        `StoreError` and `OSError`."""
        truncation = Truncation(self._log, self._dispatch, self._durability, self._checkpoint)
        if not truncation.cut(offset):
            return False
        self.raw.forget_end()
        return True

    def disk_settled(self, held: str) -> None:
        """Note that the start is over, or that writes held back by it are done. `held` is the reason why the
        disk accepts no writes, or "". Files are reopened then, as those handed out meanwhile are slower."""
        self._held = held
        if self._is_open and not held:
            self._queues.pool.clear()
            with contextlib.suppress(OSError):  # the file that is open works as well
                self._log.reopen()

    def stop(self) -> None:
        """Flush everything and close; after a disk failure the next start recovers as after a crash."""
        if self._lock is None:
            return
        self._refusal = "the store is stopped"
        self.on_arrivals = None
        self._rest_watchers.clear()
        if self._is_open:
            self._stop_in_order()
        self._checkpoint.close()
        self._log.files.pool.clear()
        for view in self._views:
            view.close()
        self._lock.close()
        self._lock = None

    def _stop_in_order(self) -> None:
        """Stop cleanly. Not called after a failed start, which leaves everything to the next one."""
        self._is_open = False
        log = self._log
        self._dispatch_up_to(log.confirm_offset if log.syncs_itself else log.end_offset)
        clean = self._durability.stop()
        self._removals.finish()
        if clean:
            # Without the file the next start trusts the checkpoint and the queues.
            with contextlib.suppress(OSError):
                for view in self._views:
                    view.stopped(self._log, self._dispatch.last_start)
                self._disk.unlink(f"{self.root}/abort")
                self._disk.sync_dir(self.root)

    @property
    def refusal(self) -> str:
        """Reason why writes are refused now; empty if they are accepted."""
        return self._refusal or ("" if self.gate is None else self.gate.refusal) or self.sickness

    @property
    def sickness(self) -> str:
        """Fault of the disk because of which writes are refused; empty if there is none."""
        return (
            self._held
            or self._durability.commit.failure
            or self._retention.disk_full
            or self._durability.derived_failure
        )

    @property
    def damaged(self) -> Mapping[int, str]:
        """Faults of records that readers found damaged since the start, by offset in the log."""
        return self._inspection.damaged

    @property
    def is_writable(self) -> bool:
        """True if writes are accepted."""
        return not self.refusal

    # Putting.

    def put(self, message: Message) -> PutResult:
        """Append a message and assign its queue offset. It can be read after `dispatch`. The message belongs
        to the store until then. RocketMQ: `CommitLog.asyncPutMessage`."""
        if self.gate is not None:
            return self.gate.put(message)
        if PROPERTY_INNER_MULTI_DISPATCH in message.properties:
            return self._writer.put_into_lmqs(message, self.refusal)
        return self._writer.put(message, self.refusal)

    def put_batch(self, message: Message, elements: bytes | LargeBatch) -> PutResult:
        """Append the messages of a client's batch body with consecutive queue offsets, all or none. `message`
        has topic, queue, sys flag, hosts and times for all. A large body is encoded before (`make_ready`).
        RocketMQ: `CommitLog.asyncPutMessages`."""
        if self.gate is not None:
            return self.gate.refused()
        if isinstance(elements, bytes):
            return self._writer.put_batch(message, elements, self.refusal)
        return self._writer.put_large_batch(message, elements, self.refusal)

    def make_ready(self, message: Message, elements: bytes) -> Steps[LargeBatch | PutResult]:
        """Encode a batch body of any size for `put_batch`, as a cooperative task; or return the refusal."""
        return self._writer.make_ready(message, elements)

    def put_inner_batch(self, message: Message) -> PutResult:
        """Append a batch, the message's body, as one record whose messages have consecutive queue offsets.
        Only for batch queues. The number of messages is in the property INNER_NUM, or else is counted in the
        body, which then is a client's batch body. RocketMQ: `CommitLog.asyncPutMessage` with
        `BatchConsumeQueue`."""
        if self.gate is not None:
            return self.gate.refused()
        return self._writer.put_inner_batch(message, self.refusal)

    def move_start(self, topic: str, queue_id: int, offset: int) -> PutResult | None:
        """Delete the messages of a queue before `offset`; return None if there are none. A marker is
        appended, which takes effect when it is dispatched. The offset may be inside a batch. Kafka:
        `UnifiedLog.maybeIncrementLogStartOffset`."""
        if self.gate is not None:
            return self.gate.refused()
        queue = self._queues.get(topic, queue_id)
        if queue is None or not self.min_offset(topic, queue_id) < offset <= queue.max_offset:
            return None
        properties, now = properties_of_marker(topic, queue_id, offset), self._clock.millis()
        prepared = SysFlag.TRANSACTION_PREPARED  # so that it enters no queue
        host = self._store_host
        message = Message(QUEUE_STARTS_TOPIC, 0, b"", properties, now, host, host, sys_flag=prepared)
        return self._writer.put(message, self.refusal)

    def when_flushed(self, end_offset: int, done: Done) -> None:
        """Call `done` with PUT_OK once the log is durable up to an offset, or with FLUSH_DISK_TIMEOUT. One
        sync serves all waiting requests; it starts with `dispatch` or `tick`. RocketMQ: `GroupCommitService`.
        """
        self._durability.wait(end_offset, done)

    def reset(self) -> None:
        """Drop all queues: the group restarted its log after the end of this one. Queues begin with new
        messages."""
        self._dispatch.waiting.clear()
        self.admin.delete_topics(list(self._queues.table))
        self.raw.forget_end()

    def log_synced(self) -> None:
        """Answer requests that wait for a sync of a log that syncs itself."""
        self._durability.follow()

    def dispatch(self) -> None:
        """Dispatch confirmed records of puts since the last call, and notify readers of arrivals. Called once
        after the puts that came together. RocketMQ: `ReputMessageService`."""
        if self._dispatch.waiting:
            behind = self._log.end_offset - self._dispatch.offset
            if behind > self.statistics.dispatch_longest:
                self.statistics.dispatch_longest = behind
            self._apply()
        if self._durability.commit.waiting:
            self._durability.flush()

    def dispatch_all(self) -> None:
        """Dispatch all confirmed records in one call."""
        self._dispatch_up_to(self.confirm_offset)

    def watch_rest(self, callback: Callable[[], None]) -> None:
        """Call back when `dispatch` leaves records for another call of it. Without a callback one call
        dispatches all."""
        self._rest_watchers.append(callback)

    def _apply(self) -> None:
        if not self._dispatch_up_to(self._log.confirm_offset, bool(self._rest_watchers)):
            for callback in self._rest_watchers:
                callback()

    @property
    def is_behind(self) -> bool:
        """True if confirmed records remain to be dispatched."""
        return self._dispatch.has_waiting(self.confirm_offset)

    def _dispatch_up_to(self, confirmed: int, in_parts: bool = False) -> bool:
        arrivals: list[Arrival] | None = None if self.on_arrivals is None else []
        dispatch = self._dispatch
        is_all = dispatch.apply(confirmed, arrivals, in_parts)
        self._durability.dispatched_offset = dispatch.last_start
        self._durability.dispatched_timestamp = dispatch.last_timestamp
        try:
            dispatch.settle()
        except OSError as error:
            self._durability.derived_failure = f"consume queues or index cannot be written: {error}"
            log.error("%s", self._durability.derived_failure)
        if arrivals and self.on_arrivals is not None:
            self._reader.shared = self._prompt_reader.shared = {}
            try:
                self.on_arrivals(arrivals)
            finally:
                self._reader.shared = self._prompt_reader.shared = None
        return is_all

    def tick(self) -> None:
        """Run periodic work: flushes, timeouts, deletion of old files. Called every 100 ms."""
        self.steady.look(self._log.end_offset)
        self.dispatch()
        self._durability.tick()
        try:
            self._retention.tick()
        except OSError as error:
            log.error("the check for expired files failed: %s", error)
        elapsed = elapsed_millis(self._clock)
        if elapsed - self._last_sample >= _SAMPLE_MILLIS:
            self._last_sample = elapsed
            self.statistics.sample(elapsed)

    # Offsets of the log, and queues.

    @property
    def confirm_offset(self) -> int:
        """The offset up to which messages are visible to readers. RocketMQ: `getConfirmOffset`."""
        return self._log.confirm_offset

    @property
    def lead(self) -> int:
        """Bytes in the log before each record."""
        return self._log.files.framing.lead

    @property
    def max_physical_offset(self) -> int:
        """The log offset after the last record."""
        return self._log.end_offset

    @property
    def min_physical_offset(self) -> int:
        """The first offset in the log."""
        return self._log.min_offset

    @property
    def flushed_offset(self) -> int:
        """The offset up to which the log is known to be on stable storage."""
        return self._durability.commit.flushed

    def queues(self) -> dict[str, set[int]]:
        """Return the queue ids of all consume queues by topic."""
        return {topic: set(queues) for topic, queues in self._queues.table.items()}
