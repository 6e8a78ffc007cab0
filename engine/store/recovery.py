"""From files on disk to a store that can go on: finding the end of the log and what must be dispatched again.

After a clean stop the consume queues tell the newest message; the log is read from there. After an unclean
one (the file `abort` is there) the checkpoint tells a record up to which everything derived is on stable
storage: queue units from it on are cut off, the index is rebuilt up to it, and every record from it on is
checked and dispatched again. If the checkpoint is of no use, reading starts with the newest file whose
first record is old enough. What lies after the end of the log (`scan`) is made zero and never believed.

Where a queue lacks units before one that is dispatched, or units are of another record, the log counts: all
of it is dispatched again. Files that were lost are looked for before anything is changed (`log_files`) and
made anew where the log has what was in them (`lost_units`). Standard: `CommitLog.recoverNormally`,
`recoverAbnormally` (5.5), with the start inside a file as with enableAcceleratedRecovery.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from mqgateway.engine.message import is_lmq
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.checkpoint import Checkpoint
from mqgateway.engine.store.consume_queue import AnyQueue, ConsumeQueues
from mqgateway.engine.store.dispatch import Dispatch
from mqgateway.engine.store.framing import BARE
from mqgateway.engine.store.index_file import Index
from mqgateway.engine.store.lmq import lmq_offsets
from mqgateway.engine.store.log import Log
from mqgateway.engine.store.log_files import MissingLogFiles, fill, look_for_lost
from mqgateway.engine.store.lost_entries import LostEntries, has_entries
from mqgateway.engine.store.lost_units import LostUnits, rewind
from mqgateway.engine.store.queue_table import QueueTable
from mqgateway.engine.store.record import decode
from mqgateway.engine.store.scan import RECORDS_A_STEP, Damage, Progress, Scan, valid_at

log = logging.getLogger(__name__)

_MARGIN_MILLIS = 3000
"""How far times in a checkpoint are distrusted. Standard: `StoreCheckpoint.getMinTimestamp`."""


class Recovery:
    """One start, in steps. `run` leaves log, queues, index and dispatch ready to go on."""

    def __init__(
        self,
        commit_log: Log,
        queues: ConsumeQueues,
        index: Index | None,
        dispatch: Dispatch,
        checkpoint: Checkpoint,
        table: QueueTable,
        check_crc: bool,
        progress: Progress | None = None,
    ) -> None:
        self._log = commit_log
        self._files = commit_log.files
        self._queues = queues
        self._index = index
        self._dispatch = dispatch
        self._checkpoint = checkpoint
        self._table = table
        self._check_crc = check_crc
        self._progress = progress
        self._last_place = -1
        self.scanned_bytes = 0
        self.dispatched = 0
        self.ended_by = ""
        self.damaged: list[Damage] = []
        self._end = 0
        self.unsettled: list[int] = []
        """Where records lie, at the end of the log, that others have yet to agree on."""

    def judge(self, clean: bool, fill_gaps: bool) -> None:
        """Look whether all files of the log are there, before anything is changed. Raises `MissingLogFiles`,
        unless gaps are to be filled, which a commit log's may be, `CorruptFile` for a file of a wrong length,
        and `OSError`."""
        self._checkpoint.read()
        try:
            look_for_lost(self._files, self._queues, self._checkpoint.logics_physical_offset, not clean)
        except MissingLogFiles as lost:
            if not fill_gaps or self._files.framing is not BARE:
                raise
            fill(self._files, lost.starts)

    def run(self, clean: bool) -> Steps[None]:
        """Recover. Raises `OSError`, and `CorruptFile` for files of a wrong length."""
        self._log.load(clean)
        begin, after = yield from self._begin_clean() if clean else self._begin_unclean()
        lost = LostUnits(
            self._files, self._queues, self._dispatch, self._checkpoint, self._check_crc, self._progress
        )
        yield from lost.look(after)
        is_gapless = yield from self._scan(begin, after)
        is_gapless &= not any(queue.is_holed for queue in self._queues)
        if not is_gapless and self._files.starts and begin > self._files.starts[0]:
            log.warning("consume queues lack units: the whole log is dispatched again")
            self._promise_nothing()
            if self._index is not None:
                self._index.pending.clear()
            yield from self._scan(self._files.starts[0], -1)
        end = self._end
        self._log.cut(end)
        if self._last_place >= end:
            for queue in self._queues:
                queue.cut_places_from(end)
        for queue in self._queues.dirty:
            queue.correct_min(self._log.min_offset)
        for queue in self._queues:
            queue.opened_at = queue.next_offset = queue.max_offset
            if queue.was_cut:
                # Or the next start could find the units again.
                self._queues.written.update((queue.directory, start) for start in queue.touched(queue.end))
                queue.was_cut = False
        self._dispatch.offset = end

    def _scan(self, begin: int, after: int) -> Steps[bool]:
        """Read the records from `begin` on and dispatch those after `after`; whether all followed on what
        their queues had."""
        checkpoint = self._checkpoint
        scan = Scan(
            self._files, begin, self._check_crc, self._progress, durable_until=checkpoint.physic_msg_timestamp
        )
        is_gapless = True
        settled = self._log.settled_offset
        self.unsettled.clear()
        if self._files.starts:
            for number, (data, at, position, _size) in enumerate(scan.records()):
                if number % RECORDS_A_STEP == 0:
                    yield
                if position > after and position >= settled:
                    self.unsettled.append(position)
                elif position > after:
                    follows = self._dispatch.repeat(decode(data, at))
                    # Units of damaged records are missing for good.
                    is_gapless &= follows or bool(scan.damaged)
                    self.dispatched += 1
        self._end = scan.end
        self.scanned_bytes = scan.end - begin
        self.ended_by = scan.ended_by
        self.damaged = scan.damaged
        return is_gapless

    def _begin_clean(self) -> Steps[tuple[int, int]]:
        """Where to start reading, and the last position that is dispatched already."""
        if self._index is not None:
            self._index.load(True, 0, 0)
        newest = self._queues_from_table()
        if newest is None:
            yield from self._queues.load(None, self._found, self._oldest, self._promise_nothing)
            newest = self._last_place
        if newest >= 0 and valid_at(self._files, newest, self._check_crc):
            self._dispatch.last_start = newest
            self._dispatch.last_timestamp = decode(self._record(newest)).store_timestamp
            yield from self._mend_index(newest, newest)
            return newest, newest
        return self._first_file(lambda position, _: position <= newest), newest

    def _queues_from_table(self) -> int | None:
        """The newest record with a unit, if the last stop has noted where the queues end."""
        noted = self._table.restore(self._log, self._queues)
        if noted is None:
            return None
        newest, end = noted
        scan = Scan(self._files, max(newest, 0), self._check_crc)
        if self._files.starts and newest >= self._log.min_offset:
            for _ in scan.records():
                pass
            if scan.end == end:
                return newest
        log.warning("the log does not end at %d as recorded: all queues are examined", end)
        self._queues.forget()
        return None

    def _found(self, queue: AnyQueue) -> None:
        """Look at a queue once, while its last file is open."""
        place = queue.place(queue.end - 1) if queue.end > queue.first else None
        if place is not None and place[0] > self._last_place:
            self._last_place = place[0]
        queue.correct_min(self._oldest)

    def _promise_nothing(self) -> None:
        """What is derived is about to lose something: a start after a crash must begin at the beginning."""
        rewind(self._checkpoint, self._files, self._oldest)

    @property
    def _oldest(self) -> int:
        return self._files.starts[0] if self._files.starts else 0

    def _found_unclean(self, queue: AnyQueue) -> None:
        self._check_last(queue)
        self._found(queue)

    def _begin_unclean(self) -> Steps[tuple[int, int]]:
        point = self._checkpoint.logics_physical_offset
        if point <= 0 or not valid_at(self._files, point, self._check_crc):
            checkpoint = self._checkpoint
            time = min(checkpoint.physic_msg_timestamp, checkpoint.logics_msg_timestamp) - _MARGIN_MILLIS
            if point > 0:
                point = self._first_file(lambda position, _: position <= point)
            else:
                point = self._first_file(lambda _, stored: stored <= time)
        yield from self._queues.load(point, self._found_unclean, self._oldest, self._promise_nothing)
        if self._files.starts and not self._queues.table:
            # Somebody removed them, to have them made anew.
            point = self._files.starts[0]
        if self._index is not None:
            self._index.load(False, self._checkpoint.index_msg_timestamp, point)
            yield from self._mend_index(point - 1, point)
        self._dispatch.last_start = point
        self._dispatch.last_timestamp = self._checkpoint.logics_msg_timestamp
        log.info("recovering from %d; the log's files end at %d", point, self._files.end)
        return point, point - 1

    def _mend_index(self, until: int, newest: int) -> Steps[None]:
        """Put back entries that were lost of messages up to `until`. What came after the last entry is looked
        through only if the `newest` message has keys, or the checkpoint knows of a later entry."""
        if self._index is None or not self._files.starts:
            return
        files, known = self._index.files, self._checkpoint.index_msg_timestamp
        at_end = known > (files[-1].end_timestamp if files else 0)
        if not at_end and valid_at(self._files, newest, False):
            at_end = has_entries(decode(self._record(newest)))
        if at_end or files:
            lost = LostEntries(self._files, self._index, self._check_crc, self._progress)
            yield from lost.look(until, at_end=at_end)

    def _record(self, position: int) -> bytes:
        size = int.from_bytes(self._files.read(position, 4), "big")
        return self._files.read(position, size)

    def _first_file(self, old_enough: Callable[[int, int], bool]) -> int:
        """Start of the newest file whose first record is valid and old enough, or of the first file."""
        lead = self._files.framing.lead
        for start in reversed(self._files.starts):
            if valid_at(self._files, start + lead, True):
                stored = decode(self._record(start + lead)).store_timestamp
                if old_enough(start, stored):
                    return start
        return self._files.starts[0] if self._files.starts else 0

    def _matches(self, queue: AnyQueue, number: int) -> bool:
        """Whether a unit's record is the queue's, or has gone with the oldest files."""
        place = queue.place(number)
        if place is None or place[1] <= 0:
            return False
        if self._files.starts and place[0] < self._files.starts[0]:
            return True
        size = valid_at(self._files, place[0], False)
        if not size:
            return False
        message = decode(self._files.read(place[0], size))
        if is_lmq(queue.topic):
            return (queue.topic, number) in lmq_offsets(message.topic, message.properties)
        return (message.topic, message.queue_id, message.queue_offset) == (
            queue.topic,
            queue.queue_id,
            queue.offset_of(number),
        )

    def _check_last(self, queue: AnyQueue) -> None:
        """Old bytes can mislead the halving search: if the last unit is not this queue's, look at each."""
        last = queue.end - 1
        if last >= queue.first and not self._matches(queue, last):
            log.warning(
                "%s queue %d: unit %d is invalid, checking all units", queue.topic, queue.queue_id, last
            )
            queue.cut_at_first(lambda number: not self._matches(queue, number))
