"""Recovery: from files on disk to a store that is ready.

It finds the end of the log and what each view lacks. After a clean stop the consume queues have the newest
message; the log is read from there. After an unclean one (the file `abort` exists) the checkpoint has a
record up to which everything derived is on stable storage: views keep nothing of later records, and every
record from it on is checked and dispatched again. If the checkpoint is of no use, reading starts with the
newest file whose first record is old enough. What is behind the end of the log (`scan`) is zeroed and never
believed.

Each view says up to which record it knows the log (`ViewCoverage`). The log is read from the least of these,
and each view gets the records that it lacks. If a view lacks records before one that is dispatched, or has
units of another record, the log counts: all of it is dispatched again. Files that were lost are looked for
before anything is changed (`log_files`), and views restore what the log still has (`mend`). RocketMQ:
`CommitLog.recoverNormally`, `recoverAbnormally` (5.5), with the start inside a file as with
enableAcceleratedRecovery.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from mqgateway.engine.steps import Steps
from mqgateway.engine.store.checkpoint import Checkpoint
from mqgateway.engine.store.dispatch import Dispatch
from mqgateway.engine.store.framing import BARE
from mqgateway.engine.store.log import Log
from mqgateway.engine.store.log_files import MissingLogFiles, fill, look_for_lost
from mqgateway.engine.store.lost_units import rewind
from mqgateway.engine.store.record import decode, store_timestamp
from mqgateway.engine.store.scan import (
    RECORDS_A_STEP,
    DamagedRange,
    Progress,
    Scan,
    first_file,
    record_of,
    valid_at,
)
from mqgateway.engine.store.views.view import NOTHING, StoreStart, ViewCoverage

log = logging.getLogger(__name__)

_MARGIN_MILLIS = 3000
"""Tolerance of times in a checkpoint. RocketMQ: `StoreCheckpoint.getMinTimestamp`."""


class StoreRecovery:
    """One start, as a cooperative task. `run` leaves log, views and dispatch ready."""

    def __init__(
        self,
        commit_log: Log,
        dispatch: Dispatch,
        checkpoint: Checkpoint,
        check_crc: bool,
        progress: Progress | None = None,
    ) -> None:
        self._log = commit_log
        self._files = commit_log.files
        self._views = dispatch.views
        self._dispatch = dispatch
        self._checkpoint = checkpoint
        self._check_crc = check_crc
        self._progress = progress
        self.scanned_bytes = 0
        self.dispatched = 0
        self.ended_by = ""
        self.damaged: list[DamagedRange] = []
        self._end = 0
        self.unsettled: list[int] = []
        """Positions of records, at the end of the log, on which others have yet to agree."""

    def judge(self, clean: bool, fill_gaps: bool) -> None:
        """Check that all files of the log exist, before anything is changed. Raises `MissingLogFiles`, unless
        gaps are to be filled, which a commit log's may be, `CorruptFile` for a file of a wrong length, and
        `OSError`."""
        self._checkpoint.read()
        try:
            look_for_lost(self._files, self._newest, self._checkpoint.logics_physical_offset, not clean)
        except MissingLogFiles as lost:
            if not fill_gaps or self._files.framing is not BARE:
                raise
            fill(self._files, lost.starts)

    def _newest(self) -> int:
        return max([view.newest_on_disk() for view in self._views], default=NOTHING)

    def run(self, clean: bool) -> Steps[None]:
        """Recover. Raises `OSError`, and `CorruptFile` for files of a wrong length."""
        self._log.load(clean)
        start = self._start(clean)
        known = yield from self._load(start)
        is_whole = yield from self._scan(known)
        is_whole &= all(view.is_whole for view in self._views)
        if not is_whole and self._files.starts and known[0].begin > self._files.starts[0]:
            log.warning("consume queues lack units: the whole log is dispatched again")
            start.promise_nothing()
            for view in self._views:
                view.begin_again()
            yield from self._scan([ViewCoverage(self._files.starts[0], NOTHING)] * len(self._views))
        end = self._end
        self._log.cut(end)
        for view in self._views:
            view.end_at(end)
        self._dispatch.offset = end

    def _start(self, clean: bool) -> StoreStart:
        return StoreStart(
            self._log,
            self._checkpoint,
            is_clean=clean,
            point=0 if clean else self._point(),
            check_crc=self._check_crc,
            progress=self._progress,
            promise_nothing=self._promise_nothing,
        )

    def _load(self, start: StoreStart) -> Steps[list[ViewCoverage]]:
        """Load the views; return how much of the log each of them has. The first, that of the queues, has the
        newest message of a clean stop, or where the promise of the checkpoint ends."""
        known: list[ViewCoverage] = []
        for view in self._views:
            found = yield from view.load(start)
            known.append(known[0] if found is None else found)
        begin, last = known[0]
        dispatch = self._dispatch
        if not start.is_clean:
            dispatch.last_start = begin
            dispatch.last_timestamp = self._checkpoint.logics_msg_timestamp
            log.info("recovering from %d; the log's files end at %d", begin, self._files.end)
        elif last >= 0 and valid_at(self._files, last, self._check_crc):
            dispatch.last_start = last
            dispatch.last_timestamp = store_timestamp(record_of(self._files, last))
        for view in self._views:
            yield from view.mend(start, last)
        return known

    def _scan(self, known: Sequence[ViewCoverage]) -> Steps[bool]:
        """Read the records and give each view those it lacks; return False if one lacked a record before."""
        checkpoint = self._checkpoint
        begin = min([one.begin for one in known])
        scan = Scan(
            self._files, begin, self._check_crc, self._progress, durable_until=checkpoint.physic_msg_timestamp
        )
        follows_all = True
        settled = self._log.settled_offset
        newest, oldest = known[0].last, min([one.last for one in known])
        lacking = self._views
        self.unsettled.clear()
        if self._files.starts:
            for number, (data, at, position, _size) in enumerate(scan.records()):
                if number % RECORDS_A_STEP == 0:
                    yield
                if position <= oldest:
                    continue
                if position > newest and position >= settled:
                    self.unsettled.append(position)
                    continue
                if oldest != newest:
                    pairs = zip(self._views, known, strict=True)
                    lacking = [view for view, one in pairs if position > one.last]
                follows = self._dispatch.repeat(decode(data, at), lacking)
                # Units of damaged records are missing for good.
                follows_all &= follows or bool(scan.damaged)
                self.dispatched += position > newest
        self._end = scan.end
        self.scanned_bytes = scan.end - begin
        self.ended_by = scan.ended_by
        self.damaged = scan.damaged
        return follows_all

    def _promise_nothing(self) -> None:
        """Take back every promise: a start after a crash must begin at the beginning of the log."""
        rewind(self._checkpoint, self._files, self._files.starts[0] if self._files.starts else 0)

    def _point(self) -> int:
        """Return the position from which derived data was not promised to be on disk."""
        checkpoint = self._checkpoint
        point = checkpoint.logics_physical_offset
        if point > 0 and valid_at(self._files, point, self._check_crc):
            return point
        if point > 0:
            promised = point
            return first_file(self._files, lambda position, _: position <= promised)
        time = min(checkpoint.physic_msg_timestamp, checkpoint.logics_msg_timestamp) - _MARGIN_MILLIS
        return first_file(self._files, lambda _, stored: stored <= time)
