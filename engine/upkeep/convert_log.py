"""Copy of a log's records, of a DLedger member or not, to an ordinary commit log, file by file.

Written data is synced with each file, and recorded, so that an interrupted copy resumes with the file it was
in. The last one is never recorded, as it may grow.

A record contains its position, so eight bytes differ in the copy, and its checksum if it has one of all its
bytes. A member's older commit log comes first, in files of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

import orjson

from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import StoreUnavailable
from mqgateway.engine.store.file_queue import FileQueue
from mqgateway.engine.store.record import BLANK_SIZE, blank
from mqgateway.engine.tables.jsonfile import Table, load_table, write_table
from mqgateway.engine.upkeep.convert_records import RecordConversion, moved
from mqgateway.engine.upkeep.convert_transactions import TransactionOutcomes
from mqgateway.engine.upkeep.ledger import LedgerFiles
from mqgateway.engine.upkeep.walk import LogWalk

STATE = "converting"
"""The file with the progress of the copy, until the store is complete."""
_BUFFER = 4 << 20


class Written(NamedTuple):
    """The progress of the new log: the source's files before `next_file` are in it, up to `end`."""

    source: str
    file_size: int
    first_file: int
    keeps_batches: bool
    next_file: int
    end: int


class LogCopy:
    """The new log below a directory; `end` is its end. Data of an interrupted copy is kept."""

    def __init__(
        self,
        disk: Disk,
        root: str,
        source: str,
        files: LedgerFiles,
        log: FileQueue,
        outcomes: TransactionOutcomes,
        keeps_batches: bool,
    ) -> None:
        first = files.starts[0] if files.starts else 0
        self._disk = disk
        self._path = f"{root}/{STATE}"
        self._source = files
        self._log = log
        self._conversion = RecordConversion(files, outcomes, keeps_batches)
        self._written = Written(source, files.file_size, first, keeps_batches, first, first)
        self._buffer = bytearray()
        noted = load_table(disk, self._path)
        if noted is not None or disk.listdir(log.directory):
            self._resume(root, noted)
        else:
            disk.makedirs(log.directory)
            disk.sync_dir(os.path.dirname(root))
            self._save()
        self._begin = self._written.end
        self._file_end = self._begin - self._begin % log.file_size + log.file_size

    def _resume(self, root: str, noted: Table | None) -> None:
        begun = self._written
        if noted is None or set(noted) != set(Written._fields):
            raise StoreUnavailable(f"{root} is there, and no conversion has begun it: remove it")
        self._written = Written(**noted)
        if self._written[:3] != begun[:3] or self._written.next_file > self._source.end:
            raise StoreUnavailable(f"{root} is of another store, {self._written.source}: remove it")
        if self._written.keeps_batches != begun.keeps_batches:
            raise StoreUnavailable(f"{root} was begun with another choice of --keep-batches: remove it")
        for name in self._disk.listdir(self._log.directory):
            if int(name) >= self._written.end:
                self._disk.unlink(f"{self._log.directory}/{name}")
        self._log.load(repair=True)
        self._log.cut(self._written.end)

    @property
    def end(self) -> int:
        """The end of the log."""
        return self._begin + len(self._buffer)

    @property
    def next_file(self) -> int:
        """The next file of the source."""
        return self._written.next_file

    def take(self, walk_since: Callable[[LedgerFiles], LogWalk]) -> None:
        """Copy everything that is not copied yet. Raises `OSError`."""
        source = self._source
        walk = walk_since(source.since(self.next_file))
        file = self.next_file
        for data, at, position, size in walk.records():
            start = source.start_of(position)
            if start != file:
                self._begin_file(start)
                file = start
            for record in self._conversion.of(data[at : at + size]):
                self._append(record)
        self._write_for_good()

    def _begin_file(self, start: int) -> None:
        """Record the progress durably, as the next record is in another file of the source."""
        if start <= self._source.divided < self._source.end:
            self._roll()
        self._write_for_good()
        self._written = self._written._replace(next_file=start, end=self._begin)
        self._save()

    def _write_for_good(self) -> None:
        self._write()
        for file in self._log.between(self._written.end, self._begin):
            file.sync()
        self._disk.sync_dir(self._log.directory)

    def _save(self) -> None:
        write_table(self._disk, self._path, orjson.dumps(self._written._asdict()))

    def _append(self, record: bytes) -> None:
        if self.end + len(record) + BLANK_SIZE > self._file_end:
            self._roll()
        self._buffer += moved(record, self.end)
        if len(self._buffer) >= _BUFFER:
            self._write()

    def _roll(self) -> None:
        """End the file, unless it is empty."""
        size = self._file_end - self.end
        if size == self._log.file_size:
            return
        if size:
            self._buffer += blank(size)
            self._write()
        self._begin = self._file_end
        self._file_end += self._log.file_size

    def _write(self) -> None:
        if self._buffer:
            self._log.write(self._begin, self._buffer)
        self._begin += len(self._buffer)
        self._buffer.clear()
