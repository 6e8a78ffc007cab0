"""Scan of the log's records from a position on, which tells the log's end from damage.

The log ends at the first position without a valid record (defined in `record.py`), or at a blank in the last
file. Damaged bytes differ from a torn end. The checkpoint has the time of a record that was on stable
storage: if the log seems to end before it, the next valid record is searched for. The bytes between are
damage, which is reported and skipped.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import NamedTuple

from mqgateway.engine.clock import Clock
from mqgateway.engine.store.file_queue import FileQueue, file_name
from mqgateway.engine.store.record import (
    BLANK_SIZE,
    HEAD_SIZE,
    MAGIC,
    MAGIC_V2,
    STORE_TIME_HEAD_SIZE,
    Invalid,
    examine,
    store_timestamp,
)
from mqgateway.engine.store.statistics import in_words

log = logging.getLogger(__name__)

CHUNK = 4 << 20
PROGRESS_SECONDS = 2

RECORDS_A_STEP = 64
"""Records read in one step of a cooperative task."""
Progress = Callable[[int, int], None]
"""Called at times with the bytes read and the bytes to read."""


def logged(clock: Clock) -> Progress:
    """Return a `Progress` that logs periodically."""
    next_time = clock.monotonic() + PROGRESS_SECONDS

    def report(done: int, total: int) -> None:
        nonlocal next_time
        if clock.monotonic() >= next_time:
            next_time = clock.monotonic() + PROGRESS_SECONDS
            log.info("recovering: %s of at most %s read", in_words(done), in_words(total))

    return report


class DamagedRange(NamedTuple):
    """Bytes [begin, end) of the log that are not records, though later ones are."""

    begin: int
    end: int
    what: str


class Scan:
    """Reads valid records from a position on, which is a record's or the start of a file.

    Afterwards `end` is the end of the last one, and `ended_by` the reason. `durable_until` is the store time
    in ms up to which records are known to be on stable storage: the log cannot end before them.
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
        self._framing = files.framing
        self._begin = begin = self._framing.begin(begin, files.file_size)
        self._check_crc = check_crc
        self._progress = progress
        self._durable_until = durable_until
        self._last = -1
        self.end = begin
        self.ended_by = ""
        self.damaged: list[DamagedRange] = []

    def records(self) -> Iterator[tuple[memoryview, int, int, int]]:
        """Yield for each record the bytes read, its index in them, its position in the log and its size."""
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
        """Yield records up to the blank; without one `ended_by` is set."""
        lead, size_at, examine = self._framing
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
                self._last = self.end + lead
                yield data, at + lead, self.end + lead, found - lead
                self.end += found
                at += found
            whole = begin + len(data) == file_end or (not at and len(data) == wanted > CHUNK)
            if not whole and not at:
                # A record larger than the chunk: read again with all of its size.
                wanted = int.from_bytes(data[size_at : size_at + 4], "big")
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
        """Skip an invalid range, if durable records must follow; return False at the end of the log."""
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
        log.error("%s at byte %d: %s; %d bytes are skipped", path, at, what, following - self.end)
        self.damaged.append(DamagedRange(self.end, following, what))
        self.end = following
        return True

    def _time_at(self, position: int) -> int:
        return store_timestamp(self._files.read(position, STORE_TIME_HEAD_SIZE))

    def _next_valid(self, position: int, file_end: int) -> int | None:
        """Return the start of the next valid, durable record with its lead, in this file or the next."""
        lead = self._framing.lead
        while position < file_end:
            data = self._files.read(position, min(CHUNK, file_end - position))
            for at in _record_starts(data):
                if self._was_durable(position + at):
                    return position + at - lead
            position += max(1, len(data) - BLANK_SIZE)
        return file_end if self._was_durable(file_end + lead) else None

    def _was_durable(self, position: int) -> bool:
        return valid_at(self._files, position, True) > 0 and self._time_at(position) <= self._durable_until


def _record_starts(data: bytes) -> Iterator[int]:
    """Yield the possible starts of records in some bytes, by their magic."""
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
    """Return the size of the valid record at a position; 0 if there is none."""
    start = files.read(position, BLANK_SIZE) if position >= 0 else b""
    size = int.from_bytes(start[:4], "big", signed=True)
    if not HEAD_SIZE < size <= files.file_size:
        return 0
    found = examine(files.read(position, size), 0, position, check_crc)
    return 0 if isinstance(found, Invalid) else found


def record_of(files: FileQueue, position: int) -> bytes:
    """Return the bytes of the record at a position."""
    return files.read(position, int.from_bytes(files.read(position, 4), "big"))


def first_file(files: FileQueue, is_old_enough: Callable[[int, int], bool]) -> int:
    """Return the start of the newest file whose first record is valid and old enough, or of the first file.

    `is_old_enough` gets the file's start and the record's store time in ms.
    """
    lead = files.framing.lead
    for start in reversed(files.starts):
        if valid_at(files, start + lead, True):
            stored = store_timestamp(record_of(files, start + lead))
            if is_old_enough(start, stored):
                return start
    return files.starts[0] if files.starts else 0
