"""Restore of a broker's store from its tier alone, after its disk was lost.

    1. an epoch of the restore begins at the end of the tier: ranges of the lost broker count no more after it
    2. `STORE.restoring` gets the files of the log, oldest first (`restored_log`), each synced when it is full
    3. tables are written, queues and index rebuilt (`upkeep.rebuild`), consumer offsets limited
    4. a range with the marker at the end of the log is saved, by which the next writer recognises this log
    5. the directory is renamed

In the lazy form the log has no file before the end of the tier: it begins with the next file, whose first
record is the marker. Queues begin at their ends in the tier, and readers get older messages from there.

A file in the directory says how far this has come. After a kill at any point the next restore into the same
directory continues with the first file that is not durable, in the same epoch. If another writer has begun an
epoch meanwhile, it fails: two brokers would write one tier. Nothing has the store's name before step 5.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from mqgateway.engine.disk import Disk, make_directories
from mqgateway.engine.errors import StoreError, StoreUnavailable
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.store.file_queue import FilePool, FileQueue
from mqgateway.engine.tables.jsonfile import load_table, save_table
from mqgateway.engine.tier.collect import Collector
from mqgateway.engine.tier.directory import SavedRange, TierDirectory
from mqgateway.engine.tier.format.index import QueueKind
from mqgateway.engine.tier.format.names import TierNames
from mqgateway.engine.tier.format.tables import TierTables
from mqgateway.engine.tier.holes import Holes, is_readable
from mqgateway.engine.tier.loading import GoneBlock, LoadedHead, load_head, load_run, run_of
from mqgateway.engine.tier.local_log import open_log
from mqgateway.engine.tier.object_store import ObjectStore
from mqgateway.engine.tier.ranges import RangeKey
from mqgateway.engine.tier.removal import segments_in
from mqgateway.engine.tier.restored_log import LogChunk, RestoredLog, chunks_of
from mqgateway.engine.tier.restored_tables import (
    ends_in_tier,
    has_kafka_transactions,
    make_queue_folders,
    shapes_of,
    write_checkpoint,
    write_tables,
)
from mqgateway.engine.tier.saving import TierWriter, WriterFenced
from mqgateway.engine.tier.survey import Survey, read_header, survey
from mqgateway.engine.tier.table_saving import newest_tables
from mqgateway.engine.upkeep.backup import LOG, QUEUES
from mqgateway.engine.upkeep.findings import Findings, Progress
from mqgateway.engine.upkeep.layout import Layout
from mqgateway.engine.upkeep.rebuild import RebuildReport, rebuild_store
from mqgateway.engine.upkeep.restore import RESTORING, limit_offsets, put_ends
from mqgateway.engine.upkeep.table_check import check_tables, topics_of

log = logging.getLogger(__name__)

STATE: Final = "restoring"
"""The file with the progress, until the store is complete."""
LOCK: Final = "restoring.lock"
LIVE_MILLIS: Final = 15 * 60_000
"""Time for which a writer counts as alive after its last sign: writers save tables more often."""
_RUN_BLOCKS: Final = 16
_SIZE_KEPT: Final = 1.15
_RESERVE: Final = 64 << 20
"""Space for the log and what is derived from it, relative to the segments, and in bytes."""


class RestoreState(NamedTuple):
    """Progress of a restore: the tier, the writer's id, epoch and begin in ms, the end of the log in the
    tier, the bytes of a file of the log, the position up to which its files are durable, and the form."""

    tier: str
    writer: str
    epoch: int
    created: int
    end: int
    file_size: int
    durable: int
    lazy: bool


@dataclass
class TierRestoreReport:
    """Result of a restore: log offsets, and times in ms.

    `last_time` is the store time of the last message that was saved. `left_out` records were never saved:
    those of the broker itself, of LMQ queues and of compacted topics. `expired` blocks were left out, and
    `before_holes` those that are lost, or whose queues lack later messages.
    In the `lazy` form `records` are in the tier only. `damaged` names what could not be read, `gaps` are
    parts of the log that were lost before they were saved. `has_batches` is True if the tier has queues of
    Kafka's batches. `tables_made` is when the tables were saved, 0 without any. `moved_back` is the number of
    consumer offsets that exceeded their queues.
    """

    root: str
    tier: str
    lazy: bool = False
    epoch: int = -1
    log_start: int = 0
    log_end: int = 0
    last_time: int = 0
    records: int = 0
    record_bytes: int = 0
    left_out: int = 0
    expired: int = 0
    before_holes: int = 0
    has_batches: bool = False
    tables_made: int = 0
    moved_back: int = 0
    damaged: list[str] = field(default_factory=list)
    gaps: list[tuple[int, int]] = field(default_factory=list)
    rebuilt: RebuildReport | None = None


class _Restore:
    """One restore in progress."""

    def __init__(
        self,
        disk: Disk,
        store: ObjectStore,
        names: TierNames,
        options: StoreOptions,
        writer: str,
        now: int,
        progress: Progress,
        lazy: bool,
    ) -> None:
        self._disk = disk
        self._store = store
        self._names = names
        self._writer_id = writer
        self._now = now
        self._progress = progress
        self._lazy = lazy
        self._has_begun = False
        self._target = options.store_path_root_dir
        self._aside = f"{self._target}{RESTORING}"
        self._options = replace(options, store_path_root_dir=self._aside, store_path_commit_log="")
        self._tables: TierTables | None = None
        self._holes = Holes(store, names)
        self.report = TierRestoreReport(self._target, names.root, lazy)

    def run(self, *, takes_over: bool) -> TierRestoreReport:
        """Restore."""
        disk = self._disk
        make_directories(disk, self._aside)
        try:
            lock = disk.lock(f"{self._aside}/{LOCK}")
        except BlockingIOError:
            raise StoreUnavailable(f"another restore is writing {self._aside}") from None
        try:
            found = survey(self._store, self._names)
            self._tables = newest_tables(self._store, self._names)
            state = self._resumed(found) or self._begun(found, takes_over)
            writer = TierWriter(self._store, self._names, state.writer, state.created)
            writer.begin_at(state.epoch, state.end, self._target)
            writer.check_epoch()
            self._restore(state, writer)
        finally:
            lock.close()
        return self.report

    def _resumed(self, found: Survey) -> RestoreState | None:
        """Return the state of an earlier restore that can be continued; None without one.

        One of the other form cannot, but this one `has_begun` the last epoch, so no other writer is alive.
        """
        noted = load_table(self._disk, f"{self._aside}/{STATE}")
        if noted is None or set(noted) != set(RestoreState._fields):
            return None
        state = RestoreState(**noted)
        newest = max(found.epochs, default=0)
        own = found.epochs.get(state.epoch)
        is_own = own is None or own.writer == state.writer
        self._has_begun = state.tier == self._names.root and newest <= state.epoch and is_own
        return state if self._has_begun and state.lazy == self._lazy else None

    def _begun(self, found: Survey, takes_over: bool) -> RestoreState:
        """Begin with an empty directory. Raises `StoreError` without a range, and `StoreUnavailable` if
        another writer may be alive."""
        if not found.ranges:
            raise StoreError(f"nothing is saved of {self._names.broker} of {self._names.cluster}")
        newest = read_header(self._store, self._names, found.ranges[-1])
        if self._lazy and has_kafka_transactions(self._tables):
            raise StoreError(
                "clients of Kafka have used transactions: which ones were aborted is known from the whole "
                "log only. Restore it in the other form, without lazy"
            )
        if not takes_over and not self._has_begun:
            self._refuse_live(found, newest.last_time)
        self._clear(LOCK)
        tables = self._tables
        size = tables.log_file_size if tables is not None and tables.log_file_size > 1 else 0
        state = RestoreState(
            self._names.root,
            self._writer_id,
            max(found.epochs) + 1,
            self._now,
            newest.end,
            size or self._options.mapped_file_size_commit_log,
            0,
            self._lazy,
        )
        self._save(state)
        return state

    def _refuse_live(self, found: Survey, last_time: int) -> None:
        """Raise `StoreUnavailable` if a writer has given a sign of life."""
        tables = 0 if self._tables is None else self._tables.made
        signs = [last_time, tables, *(epoch.created for epoch in found.epochs.values())]
        age = self._now - max(signs)
        if age < LIVE_MILLIS:
            raise StoreUnavailable(
                f"a broker wrote to {self._names.root} {max(age, 0) // 1000} s ago, and may be running: stop "
                f"it and wait until {LIVE_MILLIS // 60_000} min have passed, or take over if you know that "
                "it is gone"
            )

    def _clear(self, *kept: str) -> None:
        """Remove what is in the directory but for the `kept` names."""
        disk = self._disk
        for name in disk.listdir(self._aside):
            path = f"{self._aside}/{name}"
            if name not in kept and disk.is_dir(path):
                disk.rmtree(path)
            elif name not in kept:
                disk.unlink(path)

    def _save(self, state: RestoreState) -> None:
        save_table(self._disk, f"{self._aside}/{STATE}", state._asdict())

    def _restore(self, state: RestoreState, writer: TierWriter) -> None:
        """Make the store under its temporary name, then rename it."""
        disk, report, options = self._disk, self.report, self._options
        report.epoch = state.epoch
        options.mapped_file_size_commit_log = state.file_size
        tables = self._tables
        for name, value in [] if tables is None else shapes_of(tables):
            setattr(options, name, value)
        found = survey(self._store, self._names)
        directory = TierDirectory(self._names).updated(self._store)
        report.has_batches = any(each.kind is QueueKind.BATCHES for _, each in directory.histories())
        ranges = [each for begin, each in sorted(directory.ranges.items()) if begin < state.end]
        self._need_space(found, state)
        self._note_damage(found, directory, state)
        if self._lazy:
            marker = self._begin_log(state, ranges)
        else:
            marker = self._write_whole_log(state, ranges, directory)
        self._clear(LOG, STATE, LOCK)
        for name in ("config", QUEUES):
            make_directories(disk, f"{self._aside}/{name}")
        if tables is not None:
            report.tables_made = tables.made
            write_tables(disk, self._aside, tables)
        make_queue_folders(disk, self._aside, tables, directory)
        report.rebuilt = rebuilt = rebuild_store(disk, options, discard=True, progress=self._progress)
        if rebuilt.findings.errors:
            raise StoreError(f"the restored log cannot be read: {rebuilt.findings.kept[0]}")
        layout = Layout(disk, options)
        report.log_start, report.log_end = rebuilt.log_start, rebuilt.log_end
        if self._lazy:
            topics = topics_of(check_tables(layout, Findings())) or {}
            put_ends(layout, ends_in_tier(tables, directory, topics))
        elif tables is not None and report.log_start:
            put_ends(layout, tables.ends)
        report.moved_back = limit_offsets(layout, is_all=False)
        write_checkpoint(layout, marker, report.last_time)
        self._save_marker(layout, state, writer)
        for name in ("config", LOG, "."):
            disk.sync_dir(f"{self._aside}/{name}")
        self._finish()

    def _need_space(self, found: Survey, state: RestoreState) -> None:
        """Raise `StoreUnavailable` if the disk has not the space for the rest of the log."""
        ends = (*(key.begin for key in found.ranges[1:]), state.end)
        left = {key for key, end in zip(found.ranges, ends, strict=True) if end > state.durable}
        needed = 0
        for segment, size in () if self._lazy else segments_in(self._store, self._names):
            key = RangeKey(segment.epoch, segment.begin)
            if key in left and segment.number not in found.expired_in(key):
                needed += size
        needed = int(needed * _SIZE_KEPT) + _RESERVE
        free = self._disk.usage(self._aside)[1]
        if free < needed:
            raise StoreUnavailable(f"{needed} bytes are needed for {self._target}, {free} are free")

    def _note_damage(self, found: Survey, directory: TierDirectory, state: RestoreState) -> None:
        """Report ranges whose index is damaged, and parts of the log that were never saved."""
        end = -1
        for key in found.ranges:
            if key.begin >= state.end:
                break
            saved = directory.ranges.get(key.begin)
            if saved is None:
                self.report.damaged.append(f"{self._names.range(*key)}: the index cannot be read")
                end = -1
                continue
            if 0 <= end < key.begin:
                self.report.gaps.append((end, key.begin))
            end = saved.header.end
            self.report.left_out += saved.header.left_out
            self.report.last_time = max(self.report.last_time, saved.header.last_time)

    # The log.

    def _begin_log(self, state: RestoreState, ranges: list[SavedRange]) -> int:
        """Begin the log after the end of the tier, at the border of two files; return the position of its
        marker."""
        self.report.records = sum(saved.header.records for saved in ranges)
        self.report.record_bytes = sum(saved.header.record_bytes for saved in ranges)
        files = self._files_of(state)
        begin = files.start_of(state.end + state.file_size - 1)
        made = RestoredLog(files, lambda _: None, state.created)
        made.resume(0)
        return made.end(begin, state.writer, state.created)

    def _files_of(self, state: RestoreState) -> FileQueue:
        make_directories(self._disk, f"{self._aside}/{LOG}")
        return FileQueue(FilePool(self._disk), f"{self._aside}/{LOG}", state.file_size)

    def _write_whole_log(
        self, state: RestoreState, ranges: list[SavedRange], directory: TierDirectory
    ) -> int:
        """Write the log, and again from its begin if blocks turn out to be damaged; see `_write_log`."""
        report, holes = self.report, self._holes
        while True:
            holes.find(ranges, directory)
            known = len(holes.reasons)
            report.records = report.record_bytes = report.expired = report.before_holes = 0
            marker = self._write_log(state, ranges, directory)
            if len(holes.reasons) == known:
                report.damaged += holes.reasons
                return marker
            state = state._replace(durable=0)
            self._save(state)
            self._clear(STATE, LOCK)

    def _write_log(self, state: RestoreState, ranges: list[SavedRange], directory: TierDirectory) -> int:
        """Write the files of the log; return the position of the marker at its end."""
        files = self._files_of(state)
        time = ranges[0].header.first_time if ranges else 0
        made = RestoredLog(files, lambda end: self._save(state._replace(durable=end)), time or state.created)
        made.resume(state.durable)
        total = sum(saved.header.record_bytes for saved in ranges)
        done = 0
        for saved in (each for each in ranges if each.header.records):
            self._progress("reading the tier", done, total)
            done += saved.header.record_bytes
            loaded = load_head(self._store, saved)
            is_durable = files.start_of(loaded.head.pages[0][0]) < state.durable
            made.add(self._chunks(loaded, directory, is_durable=is_durable))
        self._progress("reading the tier", total, total)
        return made.end(state.end, state.writer, state.created)

    def _chunks(
        self, loaded: LoadedHead, directory: TierDirectory, *, is_durable: bool
    ) -> Iterator[LogChunk]:
        """Yield the records of a range that are restored. They are only counted if they are durable."""
        report, key = self.report, loaded.range.key
        expired = directory.expired_in(key)
        for queue in loaded.head.queues:
            history = directory.history(queue.topic, queue.queue_id)
            number = 0
            while number < len(queue.blocks):
                is_there = is_readable(history, queue, number, key.begin)
                if queue.blocks[number].segment in expired or not is_there:
                    report.expired += 1
                    number += 1
                    continue
                if self._holes.is_before(queue, number):
                    report.before_holes += 1
                    number += 1
                    continue
                run = run_of(queue, number, _RUN_BLOCKS)
                number = run[-1] + 1
                for each in run:
                    report.records += queue.units_place(each)[1] // queue.kind.unit_size
                    report.record_bytes += queue.blocks[each].raw_size
                if is_durable:
                    continue
                blocks = load_run(self._store, self._names, loaded, queue, run)
                for each, block in zip(run, blocks, strict=True):
                    if isinstance(block, GoneBlock):
                        self._holes.lose(queue, each, block.reason)
                    else:
                        yield from chunks_of(block)

    # What is beside the log.

    def _save_marker(self, layout: Layout, state: RestoreState, writer: TierWriter) -> None:
        """Save the range with the marker. Raises `WriterFenced` if another writer has begun meanwhile."""
        local = open_log(layout)
        collector = Collector(local.files, (), lambda _: None, lambda *_: None)
        try:
            writer.save_range(collector.collect(state.end, local.limit), local)
        except WriterFenced as error:
            raise WriterFenced(
                f"{error}. Another broker or restore uses the tier: stop it, and run the restore again"
            ) from None

    def _finish(self) -> None:
        """Rename the store, and remove what shows the progress."""
        disk = self._disk
        if disk.is_dir(self._target):
            disk.rmtree(self._target)
        disk.rename(self._aside, self._target)
        disk.sync_dir(self._target.rpartition("/")[0] or "/")
        for name in (STATE, f"{STATE}.bak", LOCK):
            if disk.exists(f"{self._target}/{name}"):
                disk.unlink(f"{self._target}/{name}")
        disk.sync_dir(self._target)


def restore_tier(
    disk: Disk,
    store: ObjectStore,
    names: TierNames,
    options: StoreOptions,
    *,
    writer: str,
    now: int,
    takes_over: bool = False,
    lazy: bool = False,
    progress: Progress = lambda *_: None,
) -> TierRestoreReport:
    """Restore the store of `options` from a broker's tier; see the module docstring.

    Its directory must be missing or empty. `writer` is an id of 16 hexadecimal digits that no other writer
    has, `now` a time in ms. In the `lazy` form messages stay in the tier. Without `takes_over` it is refused
    while another writer may be alive. Raises `StoreUnavailable`, `StoreError` for a tier without ranges or of
    other files, and in the lazy form after transactions of Kafka, `WriterFenced` if another writer begins
    meanwhile, `ObjectStoreError`, `OSError`. What was written then is continued with later.
    """
    root = options.store_path_root_dir
    if disk.listdir(root):
        raise StoreUnavailable(f"{root} is not empty: a store is restored to a folder of its own")
    return _Restore(disk, store, names, options, writer, now, progress, lazy).run(takes_over=takes_over)
