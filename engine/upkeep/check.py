"""Verification of a whole store, without changes.

One pass over the log (`walk`), with consume queues (`queue_check`) and index (`index_check`) read in
parallel, as all three are in one order; then checkpoint, config tables (`table_check`), compacted parts
(`part_check`) and timers (`timer_check`). Memory use is small: a chunk of the log, a chunk of each queue, the
slots of one index file.

A flipped bit in a record is detected by its lengths, magic and physical offset; the CRC of the body; the
consume queue, for topic, queue, queue offset and tags; the index, for the keys; and for all of a record by
its CRC property (enabledAppendPropCRC). Without that property nothing in RocketMQ's format covers the user's
flag, the times and hosts, the reconsume times and other properties.
"""

from __future__ import annotations

from dataclasses import dataclass

from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import StoreUnavailable
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.upkeep.findings import Findings, Progress, StorePart
from mqgateway.engine.upkeep.index_check import IndexCheck
from mqgateway.engine.upkeep.layout import RESTORE, Layout, hold
from mqgateway.engine.upkeep.ledger import find_log
from mqgateway.engine.upkeep.ledger_check import LedgerCheck
from mqgateway.engine.upkeep.ledger_walk import walk_of
from mqgateway.engine.upkeep.part_check import check_parts
from mqgateway.engine.upkeep.queue_check import QueueCheck
from mqgateway.engine.upkeep.table_check import (
    check_checkpoint,
    check_offsets,
    check_queue_table,
    check_state,
    check_tables,
    check_topics,
    read_checkpoint,
    topics_of,
)
from mqgateway.engine.upkeep.timer_check import TimerCheck
from mqgateway.engine.upkeep.walk import LogWalk, fields_of, keys_of

_NAMES_MAX = 10


@dataclass
class CheckReport:
    """Findings, and amounts of checked data."""

    root: str
    findings: Findings
    is_unclean: bool
    log_start: int = 0
    log_end: int = 0
    records: int = 0
    queues: int = 0
    units: int = 0
    index_entries: int = 0
    tables: int = 0
    ledger: LedgerCheck | None = None
    """The entries of a DLedger member, if the log is one's."""

    @property
    def is_sound(self) -> bool:
        """True if there is no error."""
        return not self.findings.errors


class _Check:
    """One check in progress."""

    def __init__(self, layout: Layout, findings: Findings, progress: Progress) -> None:
        self._layout = layout
        self._progress = progress
        self._findings = findings
        is_unclean = check_state(layout, findings)
        self.report = CheckReport(layout.root, findings, is_unclean)
        self._files = find_log(layout, findings)
        self._ledger = LedgerCheck(layout, findings) if layout.ledger else None
        self._tables = check_tables(layout, findings)
        topics = topics_of(self._tables)
        names = None if topics is None else {name.encode() for name in topics}
        self._queues = QueueCheck(layout, findings, names, progress)
        # A member derives queues and index only from committed entries: its next start continues there.
        self._lags = is_unclean or self._ledger is not None
        self._index = IndexCheck(layout, findings, self._lags)
        self._checkpoint = read_checkpoint(layout, findings)
        self._known_end = self._queues.known_end(self._files.end)
        self._last_timestamp = 0
        self._point_is_record = False

    def run(self) -> CheckReport:
        """Check everything."""
        ledger = self._ledger
        noted, on_entry = (ledger.noted, ledger.entry) if ledger is not None else (None, None)
        walk = walk_of(self._files, self._findings, noted, self._is_past_end, self._read_so_far, on_entry)
        self._walk(walk)
        if ledger is not None:
            ledger.finish()
            self.report.ledger = ledger
        self._judge_end(walk)
        self._queues.finish(walk.end)
        self._index.finish(walk.end)
        self._check_tables(walk.end)
        TimerCheck(self._layout, self._findings).run()
        report = self.report
        report.log_end = walk.end
        report.queues, report.units = self._queues.queues, self._queues.units
        report.index_entries = self._index.entries
        return report

    def _read_so_far(self, done: int, total: int) -> None:
        self._progress("reading the log", done, total)

    def _is_past_end(self, position: int) -> bool:
        """Return True if records after damage at `position` are old ones.

        That is so if no queue has such a late record, after a clean stop, or in a DLedger member (see
        `ledger_walk`).
        """
        if self._ledger is not None:
            return self._known_end <= position
        return not self.report.is_unclean and 0 < self._known_end <= position

    def _walk(self, walk: LogWalk) -> None:
        report, queues, index = self.report, self._queues, self._index
        report.log_start = walk.end
        point = self._checkpoint.logics_offset
        self._point_is_record = point in (0, report.log_start) or point < report.log_start
        queues.start(report.log_start, walk.is_damaged, self._lags)
        index.start(report.log_start, walk.is_damaged)
        with_index, count, last_timestamp = index.is_there, 0, 0
        for data, at, position, size in walk.records():
            fields = fields_of(data, at, size)
            keys = keys_of(fields[5])
            queues.record(fields, keys[0], position, size)
            if with_index:
                index.record(fields, keys, position)
            count += 1
            if fields[3] > last_timestamp:
                last_timestamp = fields[3]
            if position == point:
                self._point_is_record = True
        report.records = count
        self._last_timestamp = last_timestamp

    def _judge_end(self, walk: LogWalk) -> None:
        """Check that the log ends where it should."""
        files, newest = self._files, self._queues.newest
        if newest >= files.end and self._checkpoint.logics_offset >= max(files.end, self.report.is_unclean):
            name = files.path(newest - newest % files.file_size)
            what = f"is missing: consume queues know records up to {newest}, no broker starts without"
            self._findings.error(StorePart.LOG, name, -1, what, RESTORE)
        if walk.end == self._checkpoint.logics_offset:
            self._point_is_record = True
        path, at = (files.directory, -1) if not self._files.starts else walk.end_place()
        if self._known_end > walk.end:
            self._findings.error(
                StorePart.LOG,
                path,
                at,
                f"the log ends here, at {walk.end} ({walk.ended_by}), but consume queues know records up to "
                f"{self._known_end}",
                RESTORE,
            )
        elif walk.has_rest:
            self._findings.note(
                StorePart.LOG,
                path,
                at,
                f"after the log's end, at {walk.end}, bytes are not a record ({walk.ended_by})",
                "the next start clears them",
            )

    def _check_tables(self, log_end: int) -> None:
        layout, findings = self._layout, self._findings
        if layout.disk.exists(layout.checkpoint):
            check_checkpoint(
                layout, findings, self._checkpoint, log_end, self._last_timestamp, self._point_is_record
            )
        self.report.tables = len(self._tables)
        check_offsets(layout, findings, self._tables, self._queues.end_of)
        check_topics(layout, findings, self._tables, self._queues.topics())
        check_queue_table(layout, findings, self._queues.end_of)
        check_parts(layout, findings)
        if deleted := self._queues.deleted:
            names = ", ".join(sorted(name.decode("utf-8", "replace") for name in deleted)[:_NAMES_MAX])
            what = f"{deleted.total()} records are of {len(deleted)} topics that were deleted: {names}"
            findings.note(StorePart.LOG, layout.commit_log, -1, what, "they go with their files")
        if not self._index.is_there:
            what = "there are no index files: queries by key find nothing"
            advice = "right with messageIndexEnable=false; else the next start or a rebuild makes them"
            findings.note(StorePart.INDEX, layout.index, -1, what, advice)


def check_store(
    disk: Disk,
    options: StoreOptions,
    *,
    force: bool = False,
    progress: Progress = lambda *_: None,
    limit: int | None = None,
) -> CheckReport:
    """Verify the store of `options`; at most `limit` findings of a part and severity are kept.

    The store's lock is held meanwhile. Raises `StoreUnavailable` if there is no store or a broker has it
    open, unless `force`; `OSError` if it cannot be read.
    """
    layout = Layout(disk, options)
    lock = None
    try:
        lock = hold(disk, layout)
    except StoreUnavailable:
        if not force or not layout.has_log:
            raise
    try:
        findings = Findings() if limit is None else Findings(limit)
        return _Check(layout, findings, progress).run()
    finally:
        if lock is not None:
            lock.close()
