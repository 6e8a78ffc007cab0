"""From files on disk to a store that can go on: finding the end of the log and what must be dispatched again.

After a clean stop the consume queues tell the newest message; the log is read from there. After an unclean
one (the file `abort` is there) the checkpoint tells a record up to which everything derived is on stable
storage: queue units from it on are cut off, the index is rebuilt up to it, and every record from it on is
checked and dispatched again. If the checkpoint is of no use, reading starts with the newest file whose
first record is old enough. The log ends at the first position without a valid record (`record.py` says what
that is), or where it had ended at a blank; what lies after is made zero and never believed.

Bytes that rot are another matter than a torn end. The checkpoint tells the time of a record that was on
stable storage: if the log seems to end before it, the next valid record is looked for; what lies between is
damage, reported and passed over. And where a queue lacks units before one that is dispatched, or units are of
another record, the log counts: all of it is dispatched again. Standard: `CommitLog.recoverNormally`,
`recoverAbnormally` (5.5), with the start inside a file as with enableAcceleratedRecovery.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import NamedTuple

from mqgateway.engine.clock import Clock
from mqgateway.engine.message import PROPERTY_KEYS, PROPERTY_UNIQ_KEY, is_light
from mqgateway.engine.store.checkpoint import Checkpoint
from mqgateway.engine.store.commit_log import CommitLog
from mqgateway.engine.store.consume_queue import AnyQueue, ConsumeQueues
from mqgateway.engine.store.dispatch import Dispatch
from mqgateway.engine.store.file_queue import FileQueue, file_name
from mqgateway.engine.store.index_file import Index
from mqgateway.engine.store.light import light_places
from mqgateway.engine.store.queue_table import QueueTable
from mqgateway.engine.store.record import (
    BLANK_SIZE,
    HEAD_SIZE,
    MAGIC,
    MAGIC_V2,
    STORE_TIME_HEAD_SIZE,
    Invalid,
    decode,
    examine,
    store_timestamp,
)
from mqgateway.engine.store.statistics import in_words

log = logging.getLogger(__name__)

CHUNK = 4 << 20
PROGRESS_SECONDS = 2
_MARGIN_MILLIS = 3000
"""How far times in a checkpoint are distrusted. Standard: `StoreCheckpoint.getMinTimestamp`."""

Progress = Callable[[int, int], None]
"""Called now and then with the bytes read and the bytes to read."""


def logged(clock: Clock) -> Progress:
    """A progress that goes to the log, every now and then."""
    next_time = clock.monotonic() + PROGRESS_SECONDS

    def tell(done: int, total: int) -> None:
        nonlocal next_time
        if clock.monotonic() >= next_time:
            next_time = clock.monotonic() + PROGRESS_SECONDS
            log.info("recovering: %s of at most %s read", in_words(done), in_words(total))

    return tell


class Damage(NamedTuple):
    """Bytes [begin, end) of the log that are no records though later ones are."""

    begin: int
    end: int
    what: str


class Scan:
    """Reads valid records from a position on; afterwards `end` is where they end and `ended_by` says why.

    `durable_until` is the store time in ms up to which records are known to have been on stable storage:
    the log is not believed to end before them.
    """

    def __init__(
        self,
        files: FileQueue,
        begin: int,
        check_crc: bool,
        progress: Progress | None = None,
        durable_until: int = 0,
    ) -> None:
        self._files = files
        self._begin = begin
        self._check_crc = check_crc
        self._progress = progress
        self._durable_until = durable_until
        self._last = -1
        self.end = begin
        self.ended_by = ""
        self.damaged: list[Damage] = []

    def records(self) -> Iterator[tuple[memoryview, int, int, int]]:
        """For each record the bytes read, where in them it starts, its position in the log and its size."""
        files = self._files
        while True:
            file_end = files.start_of(self.end) + files.file_size
            if files.start_of(self.end) not in files.starts:
                self.ended_by = "there are no more files"
                return
            yield from self._file_records(file_end)
            if self.ended_by:
                return
            self.end = file_end

    def _file_records(self, file_end: int) -> Iterator[tuple[memoryview, int, int, int]]:
        """Records up to the blank; without one `ended_by` is set."""
        wanted = CHUNK
        while True:
            if self._progress is not None:
                self._progress(self.end - self._begin, self._files.end - self._begin)
            data = memoryview(self._files.read(self.end, min(wanted, file_end - self.end)))
            at, begin = 0, self.end
            while True:
                found = examine(data, at, self.end, self._check_crc)
                if not isinstance(found, int):
                    break
                if found == 0:
                    return
                self._last = self.end
                yield data, at, self.end, found
                self.end += found
                at += found
            whole = begin + len(data) == file_end or (not at and len(data) == wanted > CHUNK)
            if not whole and not at:
                # A record larger than what was read: once more with all that its size asks for.
                wanted = int.from_bytes(data[:4], "big")
                whole = not CHUNK < wanted <= file_end - self.end
            elif at:
                wanted = CHUNK
            if whole:
                if not self._pass_damage(file_end, found.what):
                    self.ended_by = found.what
                    return
                if self.end == file_end:
                    return
                wanted = CHUNK

    def _pass_damage(self, file_end: int, what: str) -> bool:
        """Go on after bytes that are no record, if records that were durable must follow; false at the end
        of the log."""
        if (self._time_at(self._last) if self._last >= 0 else 0) >= self._durable_until:
            return False
        path = f"{self._files.directory}/{file_name(self._files.start_of(self.end))}"
        at = self.end % self._files.file_size
        following = self._next_valid(self.end + 1, file_end)
        if following is None:
            log.error(
                "%s at byte %d: %s, and no valid record follows, though records as late as %d were on disk",
                path,
                at,
                what,
                self._durable_until,
            )
            return False
        log.error("%s at byte %d: %s; %d bytes are passed over", path, at, what, following - self.end)
        self.damaged.append(Damage(self.end, following, what))
        self.end = following
        return True

    def _time_at(self, position: int) -> int:
        return store_timestamp(self._files.read(position, STORE_TIME_HEAD_SIZE))

    def _next_valid(self, position: int, file_end: int) -> int | None:
        """The next record that is valid and was durable, in this file or first in the next."""
        while position < file_end:
            data = self._files.read(position, min(CHUNK, file_end - position))
            for at in _record_starts(data):
                if self._was_durable(position + at):
                    return position + at
            position += max(1, len(data) - BLANK_SIZE)
        return file_end if self._was_durable(file_end) else None

    def _was_durable(self, position: int) -> bool:
        return valid_at(self._files, position, True) > 0 and self._time_at(position) <= self._durable_until


def _record_starts(data: bytes) -> Iterator[int]:
    """Where, by their magic, records may start in some bytes."""
    found = []
    for magic in (MAGIC, MAGIC_V2):
        word = magic.to_bytes(4, "big", signed=True)
        at = data.find(word)
        while at >= 0:
            if at >= 4:
                found.append(at - 4)
            at = data.find(word, at + 1)
    yield from sorted(found)


def valid_at(files: FileQueue, position: int, check_crc: bool) -> int:
    """Size of the valid record at a position; 0 when there is none."""
    start = files.read(position, BLANK_SIZE) if position >= 0 else b""
    size = int.from_bytes(start[:4], "big", signed=True)
    if not HEAD_SIZE < size <= files.file_size:
        return 0
    found = examine(files.read(position, size), 0, position, check_crc)
    return 0 if isinstance(found, Invalid) else found


class Recovery:
    """One start. `run` leaves log, queues, index and dispatch ready to go on."""

    def __init__(
        self,
        commit_log: CommitLog,
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

    def run(self, clean: bool) -> None:
        """Recover. Raises `OSError`, and `CorruptFile` for files of a wrong length."""
        self._files.load(repair=not clean, known=self._checkpoint.logics_physical_offset)
        begin, after = self._begin_clean() if clean else self._begin_unclean()
        is_gapless = self._scan(begin, after) and not any(queue.is_holed for queue in self._queues)
        if not is_gapless and self._files.starts and begin > self._files.starts[0]:
            log.warning("consume queues lack units: the whole log is dispatched again")
            if self._index is not None:
                self._index.pending.clear()
            self._scan(self._files.starts[0], -1)
        end = self._end
        self._log.open_at(end)
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

    def _scan(self, begin: int, after: int) -> bool:
        """Read the records from `begin` on and dispatch those after `after`; whether all followed on what
        their queues had."""
        checkpoint = self._checkpoint
        scan = Scan(
            self._files, begin, self._check_crc, self._progress, durable_until=checkpoint.physic_msg_timestamp
        )
        is_gapless = True
        if self._files.starts:
            for data, at, position, _size in scan.records():
                if position > after:
                    follows = self._dispatch.repeat(decode(data, at))
                    # Units of damaged records are missing for good.
                    is_gapless &= follows or bool(scan.damaged)
                    self.dispatched += 1
        self._end = scan.end
        self.scanned_bytes = scan.end - begin
        self.ended_by = scan.ended_by
        self.damaged = scan.damaged
        return is_gapless

    def _begin_clean(self) -> tuple[int, int]:
        """Where to start reading, and the last position that is dispatched already."""
        if self._index is not None:
            self._index.load(True, 0, 0)
        newest = self._queues_from_table()
        if newest is None:
            self._queues.load(None, self._found)
            newest = self._last_place
        if newest >= 0 and valid_at(self._files, newest, self._check_crc):
            self._dispatch.last_start = newest
            self._dispatch.last_timestamp = decode(self._record(newest)).store_timestamp
            indexed = self._index.end_offset if self._index is not None else newest
            if indexed < newest and self._has_keys(newest):
                log.warning("the index ends at %d, the messages at %d: indexing again", indexed, newest)
                return self._first_file(lambda position, _: position <= indexed), indexed
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
        log.warning("the log does not end at %d as noted: the queues are looked at one by one", end)
        self._queues.forget()
        return None

    def _found(self, queue: AnyQueue) -> None:
        """Look at a queue once, while its last file is open."""
        place = queue.place(queue.end - 1) if queue.end > queue.first else None
        if place is not None and place[0] > self._last_place:
            self._last_place = place[0]
        queue.correct_min(self._files.starts[0] if self._files.starts else 0)

    def _found_unclean(self, queue: AnyQueue) -> None:
        self._check_last(queue)
        self._found(queue)

    def _begin_unclean(self) -> tuple[int, int]:
        point = self._checkpoint.logics_physical_offset
        if point <= 0 or not valid_at(self._files, point, self._check_crc):
            checkpoint = self._checkpoint
            time = min(checkpoint.physic_msg_timestamp, checkpoint.logics_msg_timestamp) - _MARGIN_MILLIS
            if point > 0:
                point = self._first_file(lambda position, _: position <= point)
            else:
                point = self._first_file(lambda _, stored: stored <= time)
        self._queues.load(point, self._found_unclean)
        if self._files.starts and not self._queues.table:
            # Somebody removed them, to have them made anew.
            point = self._files.starts[0]
        if self._index is not None:
            self._index.load(False, self._checkpoint.index_msg_timestamp, point)
            if self._index.end_offset < 0 and self._files.starts and self._has_keys(point):
                point = self._files.starts[0]
        self._dispatch.last_start = point
        self._dispatch.last_timestamp = self._checkpoint.logics_msg_timestamp
        log.info("recovering from %d; the log's files end at %d", point, self._files.end)
        return point, point - 1

    def _has_keys(self, position: int) -> bool:
        """Whether there is a record that must have entries in the index."""
        if not valid_at(self._files, position, False):
            return False
        properties = decode(self._record(position)).properties
        return bool(properties.get(PROPERTY_UNIQ_KEY) or properties.get(PROPERTY_KEYS))

    def _record(self, position: int) -> bytes:
        size = int.from_bytes(self._files.read(position, 4), "big")
        return self._files.read(position, size)

    def _first_file(self, old_enough: Callable[[int, int], bool]) -> int:
        """Start of the newest file whose first record is valid and old enough, or of the first file."""
        for start in reversed(self._files.starts):
            if valid_at(self._files, start, True):
                stored = decode(self._record(start)).store_timestamp
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
        if not valid_at(self._files, place[0], False):
            return False
        message = decode(self._record(place[0]))
        if is_light(queue.topic):
            return (queue.topic, number) in light_places(message.topic, message.properties)
        return (message.topic, message.queue_id, message.queue_offset) == (
            queue.topic,
            queue.queue_id,
            queue.offset_of(number),
        )

    def _check_last(self, queue: AnyQueue) -> None:
        """Old bytes can mislead the halving search: if the last unit is not this queue's, look at each."""
        last = queue.end - 1
        if last >= queue.first and not self._matches(queue, last):
            log.warning("%s queue %d: unit %d is wrong, checking each", queue.topic, queue.queue_id, last)
            queue.cut_at_first(lambda number: not self._matches(queue, number))
