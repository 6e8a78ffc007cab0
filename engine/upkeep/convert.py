"""Conversion to RocketMQ's store format, of a DLedger member or of a store with batches of Kafka.

    1. each record is written to `TARGET.converting/commitlog`, as brokers write them (`convert_log`), batches
       of Kafka as messages (`convert_records`)
    2. tables are copied, and end offsets of queues without remaining messages (`convert_tables`)
    3. consume queues and index are built from the new log (`rebuild`), timers refer to it (`convert_timers`)
    4. every record is read in both logs and compared, and the new store is checked (`check`)
    5. `TARGET.converting` is renamed to `TARGET`

The old store is only read. Records have other positions in the new one: physical offsets, and the message ids
made from those, are new. Queue offsets are the records' own and are kept, so groups continue where they are.

After an interruption at any moment it can be started again and resumes with the file it was in. A damaged log
is refused, as is one of a member that lacks committed entries: then another member has them. A member's
entries after the last committed one are converted: they may have been acknowledged, as members learn of that
late.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest

from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import StoreUnavailable
from mqgateway.engine.message import KAFKA_COORDINATOR_TOPICS
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.raft.files.entry import Head
from mqgateway.engine.raft.files.properties import MemberProperties, read_noted
from mqgateway.engine.store.checkpoint import Checkpoint
from mqgateway.engine.store.file_queue import FileQueue
from mqgateway.engine.store.record import STORE_TIME_HEAD_SIZE, store_timestamp
from mqgateway.engine.upkeep.check import check_store
from mqgateway.engine.upkeep.convert_log import STATE, LogCopy
from mqgateway.engine.upkeep.convert_records import RecordConversion, moved
from mqgateway.engine.upkeep.convert_tables import convert_topics, keep_end
from mqgateway.engine.upkeep.convert_timers import TimerMove
from mqgateway.engine.upkeep.convert_transactions import TransactionOutcomes
from mqgateway.engine.upkeep.copies import copy_file, copy_folder
from mqgateway.engine.upkeep.findings import Findings, Progress, Severity, StorePart
from mqgateway.engine.upkeep.layout import RESTORE, Layout, hold
from mqgateway.engine.upkeep.ledger import LedgerFiles, find_log
from mqgateway.engine.upkeep.ledger_walk import LedgerWalk
from mqgateway.engine.upkeep.queue_check import QueueCheck
from mqgateway.engine.upkeep.rebuild import rebuild_store
from mqgateway.engine.upkeep.walk import LogWalk

CONVERTING = ".converting"
"""Suffix of the target's name until it is complete."""
_OTHER_MEMBER = "convert the store of another member"
_COPIED = "config", "compaction"
_MADE = frozenset(
    (
        *("commitlog", "consumequeue", "batchconsumequeue", "consumequeue_ext", "index", "checkpoint"),
        *("timerlog", "timerwheel", "queuetable", "lock", "abort", "abort.bak"),
        *("producers", "kafkatransactions", "queuestarts"),
    )
)
"""Files that the new store builds, or does not need."""
_TIMERS = frozenset(("timercheck", "timercheck.bak"))
_QUEUE_FILES = 2
"""Number of last files of a queue that determine its end: the last one may be empty."""
_RESERVE = 64 << 20
_SIZE_KEPT = 1.15
"""Reserved space for the new log and its derived files, relative to the old one's data."""
_DERIVED = frozenset(
    (
        StorePart.LOG,
        StorePart.QUEUE,
        StorePart.BATCH_QUEUE,
        StorePart.INDEX,
        StorePart.CHECKPOINT,
        StorePart.TIMER_LOG,
    )
)


@dataclass
class ConvertReport:
    """Result of a conversion.

    `entries` are those of the member, `records` all of the new log, including those of an older one;
    `left_out` names the entries of the old directory that were not copied. `batches` of Kafka became
    `messages`; `lost` offsets of them have an empty message, and `damaged` batches have an error in
    `findings`, which otherwise concern the new store.
    """

    root: str
    target: str
    member: str
    entries: int = 0
    last_index: int = -1
    last_term: int = -1
    committed: int = -1
    records: int = 0
    log_start: int = 0
    log_end: int = 0
    queues: int = 0
    index_entries: int = 0
    timers: int = 0
    batches: int = 0
    messages: int = 0
    lost: int = 0
    damaged: int = 0
    left_out: list[str] = field(default_factory=list)
    findings: Findings = field(default_factory=Findings)


class _Convert:
    """One conversion in progress."""

    def __init__(self, layout: Layout, target: str, keeps_batches: bool, progress: Progress) -> None:
        self._keeps_batches = keeps_batches
        self._advice = _OTHER_MEMBER if layout.ledger else RESTORE
        self._layout, self._disk, self._progress = layout, layout.disk, progress
        self._target, self._aside = target, target + CONVERTING
        self._options = dataclasses.replace(
            layout.options, store_path_root_dir=self._aside, store_path_commit_log=""
        )
        self._made = Layout(layout.disk, self._options)
        self._findings = Findings()
        files = find_log(layout, self._findings, self._advice)
        if not isinstance(files, LedgerFiles):
            files = LedgerFiles(FileQueue(files.pool, files.directory, files.file_size), files)
        self._refuse(self._findings, frozenset(StorePart))
        self._files = files
        self._outcomes = TransactionOutcomes(self._walk_again)
        self._conversion = RecordConversion(files, self._outcomes, keeps_batches)
        self._noted = read_noted(layout.disk, layout.ledger) if layout.ledger else MemberProperties()
        self._known_end = QueueCheck(layout, Findings(), None, lambda *_: None).known_end(files.end)
        member = os.path.basename(layout.ledger)
        self.report = ConvertReport(layout.root, target, member, committed=self._noted.committed)

    def _refuse(self, findings: Findings, parts: frozenset[StorePart]) -> None:
        for found in findings.kept:
            if found.severity is Severity.ERROR and found.part in parts:
                raise StoreUnavailable(f"{found.path}: {found.what}; {self._advice}")

    def run(self) -> ConvertReport:
        """Convert."""
        self._need_room()
        self._write_log()
        self._copy_tables()
        self._make_derived()
        self._compare()
        self._check()
        self._finish()
        return self.report

    def _need_room(self) -> None:
        parent = os.path.dirname(self._target)
        if not self._disk.is_dir(parent):
            raise StoreUnavailable(f"there is no folder {parent} to put the new store into")
        used = sum(self._files.file(start).used() for start in self._files.starts)
        written = sum(size for _, size in self._new_log().look())
        needed = int(max(0, used - written) * _SIZE_KEPT) + _RESERVE
        free = self._disk.usage(parent)[1]
        if free < needed:
            raise StoreUnavailable(f"the new store needs about {needed} bytes, {free} are free in {parent}")

    def _walk(
        self, files: LedgerFiles, stage: str, on_entry: Callable[[Head], None] | None = None
    ) -> LedgerWalk:
        whole = self._files.end - (self._files.starts[0] if self._files.starts else 0)

        def show(done: int, left: int) -> None:
            self._progress(stage, whole - left + done, whole)

        return LedgerWalk(files, self._findings, self._noted, self._is_past_end, show, on_entry)

    def _walk_again(self) -> LedgerWalk:
        """Return a walk of the whole log whose findings another walk has too."""
        return LedgerWalk(self._files, Findings(), self._noted, self._is_past_end, lambda *_: None, None)

    def _is_past_end(self, position: int) -> bool:
        return self._known_end <= position

    def _new_log(self) -> FileQueue:
        return FileQueue(self._made.log_pool, self._made.commit_log, self._files.file_size)

    def _write_log(self) -> None:
        """Write the records in order to the new log."""
        root, log = self._layout.root, self._new_log()
        parts = self._files, log, self._outcomes
        copy = LogCopy(self._disk, self._aside, root, *parts, self._keeps_batches)
        copy.take(lambda files: self._walk(files, "writing the log"))
        self._refuse(self._findings, frozenset(StorePart))

    def _copy_tables(self) -> None:
        """Copy tables and the last files of queues; again after an interruption."""
        disk, root, aside = self._disk, self._layout.root, self._aside
        for folder in (f"{aside}/{name}" for name in disk.subdirs(aside)):
            if folder != self._made.commit_log:
                disk.rmtree(folder)
        for name in _COPIED:
            copy_folder(disk, f"{root}/{name}", f"{aside}/{name}", _TIMERS.__contains__)
        self._copy_ends(set() if self._keeps_batches else convert_topics(disk, aside))
        for name in disk.listdir(root):
            if name not in _MADE and name not in _COPIED and name != self.report.member:
                self.report.left_out.append(name)

    def _copy_ends(self, converted: set[str]) -> None:
        """Copy the last files of queues; those of `converted` topics are no longer batch queues."""
        disk, layout, made = self._disk, self._layout, self._made
        for source, target in ((layout.queues, made.queues), (layout.batch_queues, made.batch_queues)):
            for topic, queue_id, folder in layout.queue_folders(source):
                if topic in KAFKA_COORDINATOR_TOPICS and not self._keeps_batches:
                    continue
                if topic in converted and source == layout.batch_queues:
                    keep_end(layout, folder, made, topic, queue_id)
                    continue
                names = [name for name in disk.listdir(folder) if name.isdigit()]
                for name in names[-_QUEUE_FILES:]:
                    copy_file(disk, f"{folder}/{name}", f"{target}/{topic}/{queue_id}/{name}")

    def _make_derived(self) -> None:
        """Build queues, index and timers from the new log."""
        report, disk = self.report, self._disk
        made = rebuild_store(disk, self._options, discard=True, progress=self._progress)
        self._refuse(made.findings, frozenset(StorePart))
        report.records, report.queues, report.index_entries = made.records, made.queues, made.index_entries
        report.log_start, report.log_end = made.log_start, made.log_end
        kept = self._files.divided if self._keeps_batches else 0
        timers = TimerMove(self._layout, self._files, self._made, kept)
        timers.run()
        report.timers = timers.count

    def _compare(self) -> None:
        """Verify that both logs have the same records. Writes the checkpoint from the last one."""
        report = self.report

        def count(head: Head) -> None:
            report.entries += 1
            report.last_index, report.last_term = head.index, head.term

        findings, position, last = Findings(), 0, b""
        walk = self._walk(self._files, "comparing the logs", count)
        new = LogWalk(find_log(self._made, findings), findings, lambda _: True)
        for old, made in zip_longest(self._converted(walk), new.records()):
            if old is None or made is None:
                raise StoreUnavailable("the logs have not the same number of records; remove the new one")
            made_data, made_at, position, made_size = made
            last = made_data[made_at : made_at + made_size]
            if moved(old, position) != last:
                raise StoreUnavailable(f"the record at {position} of the new log is another; remove that log")
        self._refuse(self._findings, frozenset(StorePart))
        self._refuse(findings, frozenset(StorePart))
        if report.committed > report.last_index:
            what = f"entries up to {report.committed} were committed, the last one is {report.last_index}"
            raise StoreUnavailable(f"{self._layout.ledger}: {what}; {self._advice}")
        self._write_checkpoint(position, store_timestamp(last[:STORE_TIME_HEAD_SIZE]) if last else 0)

    def _converted(self, walk: LogWalk) -> Iterator[bytes]:
        """Yield the converted records of the old log."""
        for data, at, _, size in walk.records():
            yield from self._conversion.of(data[at : at + size])

    def _write_checkpoint(self, position: int, timestamp: int) -> None:
        checkpoint = Checkpoint(self._disk, self._made.checkpoint)
        checkpoint.load()
        checkpoint.physic_msg_timestamp = checkpoint.logics_msg_timestamp = timestamp
        checkpoint.index_msg_timestamp = timestamp if self.report.index_entries else 0
        checkpoint.logics_physical_offset = position
        checkpoint.save().sync()
        checkpoint.close()

    def _check(self) -> None:
        """Check the new store by itself."""
        checked = check_store(self._disk, self._options, progress=self._progress)
        self._refuse(checked.findings, _DERIVED)
        report, conversion = self.report, self._conversion
        report.batches, report.messages = conversion.batches, conversion.messages
        report.lost, report.damaged = conversion.lost, conversion.findings.errors
        report.findings = conversion.findings
        if not report.member and self._disk.exists(self._layout.abort):
            what = "tells that the broker was not stopped cleanly: offsets of consumers may be older"
            report.findings.note(
                StorePart.STATE, self._layout.abort, -1, what, "start and stop it before converting"
            )
        report.findings.take(checked.findings)

    def _finish(self) -> None:
        """Rename the new store, and remove the record of progress."""
        disk = self._disk
        disk.sync_dir(self._aside)
        disk.rename(self._aside, self._target)
        disk.sync_dir(os.path.dirname(self._target))
        for name in (STATE, f"{STATE}.bak"):
            if disk.exists(f"{self._target}/{name}"):
                disk.unlink(f"{self._target}/{name}")
        disk.sync_dir(self._target)


def convert_store(
    disk: Disk,
    options: StoreOptions,
    target: str,
    *,
    keeps_batches: bool = False,
    progress: Progress = lambda *_: None,
) -> ConvertReport:
    """Make a store for RocketMQ's broker, in the directory `target`, from the one of `options`.

    With `keeps_batches`, batches of Kafka are kept whole, so that only a store of a DLedger member can be
    converted. Raises `StoreUnavailable` if there is no store, a broker has it open, the target exists, or the
    log is incomplete; `ConfigError` if the topics cannot be read; `OSError`, as for a full disk. The target
    does not exist then, and written data is kept beside it to be resumed.
    """
    layout = Layout(disk, options)
    lock = hold(disk, layout)
    try:
        if keeps_batches and not layout.ledger:
            what = "is an ordinary store, it has no folder dledger-ID"
            raise StoreUnavailable(f"{layout.root} {what}: without --keep-batches its batches are converted")
        if disk.exists(target):
            raise StoreUnavailable(f"{target} is there already")
        return _Convert(layout, target, keeps_batches, progress).run()
    finally:
        if lock is not None:
            lock.close()
