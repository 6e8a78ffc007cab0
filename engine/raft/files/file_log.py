"""The log of a member of a group, on files in RocketMQ's format: data, index, checkpoint, term and vote.

An entry is one write to the data and one to the index. Bytes after the end are zeros; the rest of a failed
write is cleared before the next write. An entry is on stable storage once it was synced, perhaps on another
thread: `unsynced` returns the work, and `note_synced` takes its completion. The index can be rebuilt from the
last data files (`recovery`), so it is synced only when a data file is full.

RocketMQ: `DLedgerMmapFileStore`, `MmapFileList`. Differences: truncated bytes are cleared, and old index
files are deleted.
"""

from __future__ import annotations

import contextlib
from typing import NamedTuple

from mqgateway.engine.disk import Disk, File, make_directories
from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.raft.files.entry import (
    HEAD_SIZE,
    INDEX_FILE_SIZE,
    INDEX_UNIT,
    INDEX_UNIT_SIZE,
    blank,
    encode,
    encode_unit,
    examine,
)
from mqgateway.engine.raft.files.properties import read_noted, write_progress, write_vote
from mqgateway.engine.raft.files.recovery import IsWhole, head_at, recover
from mqgateway.engine.raft.log import BLANK_SIZE, NO_INDEX, Entry, LogMismatch, RaftLog
from mqgateway.engine.store.file_queue import FilePool, FileQueue
from mqgateway.engine.store.record import Invalid

_OPEN_FILES = 64
_UNITS_A_READ = 1024


class UnsyncedEntries(NamedTuple):
    """Files and directories to sync, in this order, for entries up to `until` to be on stable storage."""

    disk: Disk
    files: list[File]
    directories: list[str]
    until: int

    def sync(self) -> None:
        """Wait for the disk; may run on another thread. Raises `OSError`."""
        for file in self.files:
            file.sync()
        for directory in self.directories:
            self.disk.sync_dir(directory)


def _always(body: bytes, position: int) -> bool:
    return True


class FileLog(RaftLog):
    """The log in a member's folder; see `RaftLog`.

    Opening it recovers it. Raises `OSError`, and `CorruptFile` if files are missing, have a wrong length, or
    lack more than a torn end. `is_whole` returns True if a body at the end is complete. `data` has the
    entries; it is made of the folder by default. After a `clean` stop the end is searched from where it was
    noted.
    """

    def __init__(
        self,
        disk: Disk,
        folder: str,
        file_size: int,
        index_file_size: int = INDEX_FILE_SIZE,
        is_whole: IsWhole = _always,
        data: FileQueue | None = None,
        *,
        clean: bool = False,
    ) -> None:
        self.disk = disk
        self.folder = folder
        self.data = data or FileQueue(FilePool(disk, _OPEN_FILES), f"{folder}/data", file_size)
        self.index = FileQueue(self.data.pool, f"{folder}/index", index_file_size)
        make_directories(disk, folder)
        noted = read_noted(disk, folder)
        found = recover(self.data, self.index, is_whole, noted.end if clean else NO_INDEX)
        self.begin_index, self.begin_position = found.begin_index, found.begin_position
        self.end_index, self.end_position = found.end_index, found.end_position
        self.end_term = found.end_term
        self.committed_index = min(noted.committed, self.end_index)
        self.term, self.vote = max(noted.term, 0), noted.vote
        self._synced_position, self._synced_units = self._surely_synced()
        self.synced_index = self._synced_units - 1
        self._cut_to = self.end_index
        self._is_dirty = False

    def _surely_synced(self) -> tuple[int, int]:
        """Return position and index before which all is on stable storage, whichever program wrote it. The
        last two files are not known to be.
        """
        start = max([*self.data.starts[:-1][-1:], self.begin_position])
        head = head_at(self.data, start)
        return (start, self.begin_index) if head is None else (start, head.index)

    def keep_vote(self, term: int, vote: str) -> None:
        """Store term and vote durably. Raises `OSError`, and then they are unchanged."""
        write_vote(self.disk, self.folder, term, vote)
        self.term, self.vote = term, vote

    def note_committed(self, index: int) -> None:
        """Note that entries up to here are committed; `save_progress` writes it."""
        self.committed_index = min(index, self.end_index)

    def save_progress(self) -> None:
        """Write the progress of the log. Raises `OSError`."""
        write_progress(self.disk, self.folder, self.committed_index, self.end_index)

    def place(self, body_size: int) -> int:
        """Return the position of the next entry, if its body has this size. Raises `ValueError` for more than
        a file can hold.
        """
        size, file_size = HEAD_SIZE + body_size + BLANK_SIZE, self.data.file_size
        if size > file_size:
            raise ValueError(f"an entry with {body_size} bytes does not fit a file of {file_size}")
        left = file_size - self.end_position % file_size
        return self.end_position + (left if size > left else 0)

    def append(self, term: int, body: bytes) -> Entry:
        """Write an own entry at its position. Raises as `place`, and `OSError`; then nothing has moved."""
        entry = Entry(self.end_index + 1, term, self.place(len(body)), body)
        self._write(entry)
        return entry

    def append_entry(self, entry: Entry) -> None:
        """Write a leader's entry. Raises `LogMismatch`, and as `append`; then nothing has moved."""
        index, position = self.end_index + 1, self.place(len(entry.body))
        if (entry.index, entry.position) != (index, position):
            what = f"entry {entry.index} at {entry.position} is not the next one"
            raise LogMismatch(f"{what}, which is {index} at {position}")
        self._write(entry)

    def _write(self, entry: Entry) -> None:
        if self._is_dirty:
            self._clear()
        self._is_dirty = True
        try:
            self._write_data(entry)
            unit = encode_unit(entry.index, entry.term, entry.position, entry.size)
            self.index.write(entry.index * INDEX_UNIT_SIZE, unit)
        except OSError:
            with contextlib.suppress(OSError):
                self._clear()
            raise
        self._is_dirty = False
        self.end_index, self.end_term, self.end_position = entry.index, entry.term, entry.end

    def _write_data(self, entry: Entry) -> None:
        data, position = self.data, entry.position
        start = data.start_of(position)
        if not data.starts or start > data.starts[-1]:
            work = self.unsynced() if data.starts and self._synced_position <= data.starts[-1] else None
            if work is not None:
                # A power cut may take the last file and a part of the one before it, and leaves no gap.
                work.sync()
                self.note_synced(work)
            data.create(start)
            if self.end_position < start and data.starts[0] < start:
                data.write(self.end_position, blank(start - self.end_position))
        data.write(position, encode(entry.index, entry.term, position, entry.body))

    def _clear(self) -> None:
        """Zero everything after the end, durably: a power cut must not mix old bytes with new."""
        self.data.cut(self.end_position)
        self.index.cut((self.end_index + 1) * INDEX_UNIT_SIZE)
        for file in self.data.between(self.end_position, self.data.end):
            file.sync()
        self._is_dirty = False

    def cut(self, index: int) -> None:
        """Truncate every entry after `index`. Raises `OSError`, and then the next write clears the rest."""
        if index >= self.end_index:
            return
        position, term = self.end_of(index)
        self._is_dirty = True
        self.end_index, self.end_position, self.end_term = index, position, term
        self.committed_index = min(self.committed_index, index)
        self.synced_index = min(self.synced_index, index)
        self._synced_position = min(self._synced_position, position)
        self._synced_units = min(self._synced_units, index + 1)
        self._cut_to = min(self._cut_to, index)
        self._clear()

    def reset(self, index: int, position: int) -> None:
        """Drop all entries. The next one has this index and position; entries before it count as committed.
        Raises `OSError`.
        """
        self.index.destroy()
        while self.data.starts:
            self.data.remove_last()
        self.begin_index, self.begin_position = index, position
        self.end_index, self.end_position, self.end_term = index - 1, position, NO_INDEX
        self.synced_index = self.committed_index = self._cut_to = index - 1
        self._synced_position, self._synced_units = position, index
        self.data.create(self.data.start_of(position))
        self.index.create(self.index.start_of(index * INDEX_UNIT_SIZE))
        self._is_dirty = False

    def drop_files(self, count: int) -> None:
        """Drop the oldest data files, at most all but the last, and the index files that cover only them.
        Raises `OSError`. RocketMQ: `reviseLedgerBeginIndex`.
        """
        count = min(count, len(self.data.starts) - 1)
        if count <= 0:
            return
        start = self.data.starts[count]
        first = examine(self.data.read(start, HEAD_SIZE), 0, start)
        if first is None or isinstance(first, Invalid):
            raise CorruptFile(self.data.path(start), 0, "no entry begins the file")
        self.data.drop_first(count)
        self.begin_index, self.begin_position = first.index, start
        kept = self.index.start_of(first.index * INDEX_UNIT_SIZE)
        self.index.drop_first(sum(1 for each in self.index.starts if each < kept))

    def entry(self, index: int) -> Entry | None:
        """Return the entry with an index; None if it is not in the log. Raises `OSError`, `CorruptFile`."""
        found = self.entries(index, 0)
        return found[0] if found else None

    def entries(self, index: int, size_max: int) -> list[Entry]:
        """Return entries from `index` on, of `size_max` bytes together or only the first; [] if it is not in
        the log. Raises `OSError`, and `CorruptFile` if other bytes are in their place.
        """
        if not self.begin_index <= index <= self.end_index:
            return []
        count = min(self.end_index - index + 1, _UNITS_A_READ if size_max else 1)
        places: list[tuple[int, int]] = []
        total = 0
        for _, position, size, _, _ in INDEX_UNIT.iter_unpack(self._units(index, count)):
            total += size
            if places and total > size_max:
                break
            places.append((position, size))
        begin, end = places[0][0], sum(places[-1])
        data = self.data.read(begin, end - begin)
        return [
            self._decode(data, position - begin, position, index + number)
            for number, (position, _) in enumerate(places)
        ]

    def end_of(self, index: int) -> tuple[int, int]:
        """Return the position after an entry, and its term; for the one before the first, the begin and -1.
        Raises `OSError`.
        """
        if index < self.begin_index:
            return self.begin_position, NO_INDEX
        _, position, size, _, term = INDEX_UNIT.unpack(self._units(index, 1))
        return position + size, term

    def last_before(self, position: int) -> int:
        """Return the index of the last entry that ends at a position, or before it. Raises `OSError`."""
        low, high = self.begin_index - 1, self.end_index
        while low < high:
            middle = (low + high + 1) // 2
            if self.end_of(middle)[0] <= position:
                low = middle
            else:
                high = middle - 1
        return low

    def _units(self, index: int, count: int) -> bytes:
        return self.index.read(index * INDEX_UNIT_SIZE, count * INDEX_UNIT_SIZE)

    def _decode(self, data: bytes, at: int, position: int, index: int) -> Entry:
        head = examine(data, at, position)
        if head is None or isinstance(head, Invalid) or head.index != index or head.size > len(data) - at:
            start = self.data.start_of(position)
            raise CorruptFile(self.data.path(start), position - start, f"entry {index} is not there")
        body = data[at + HEAD_SIZE : at + head.size]
        return Entry(head.index, head.term, position, body, head.magic, head.channel)

    def unsynced(self, *, thorough: bool = False) -> UnsyncedEntries | None:
        """Return the work to sync; None if all is on stable storage. `thorough` includes the index, as at a
        clean stop.
        """
        data, end = self.data, self.end_position
        files = data.between(self._synced_position, end) if end > self._synced_position else []
        # A log that begins inside a file is found again by its index only.
        thorough = thorough or len(files) > 1 or self.begin_position % data.file_size > 0
        if thorough and self.end_index >= self._synced_units:
            units = self._synced_units * INDEX_UNIT_SIZE, (self.end_index + 1) * INDEX_UNIT_SIZE
            files += self.index.between(*units)
            self._synced_units = self.end_index + 1
        directories = sorted(self.data.pool.unsynced)
        if not files and not directories:
            return None
        self.data.pool.unsynced.clear()
        self._cut_to = self.end_index
        return UnsyncedEntries(self.disk, files, directories, self.end_index)

    @property
    def synced_position(self) -> int:
        """Position before which all is on stable storage."""
        return self._synced_position

    def note_synced(self, done: UnsyncedEntries) -> None:
        """Note that the work of `unsynced` is on stable storage, except what was truncated meanwhile."""
        index = min(done.until, self._cut_to)
        if index <= self.synced_index:
            return
        self.synced_index = index
        self._synced_position, _ = self.end_of(index)
