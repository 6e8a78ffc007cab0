"""Commit-log files read without a broker: their splits, and the records and damage of a split.

A split is bytes [begin, end) of one file. A record belongs to the split that contains its first byte. The
reader of a split in the middle of a file searches for the first valid record, which the record's own physical
offset makes certain. So splitting needs no look into the file, and every record is in exactly one split.
Bytes between valid records that are not a record are damage; they belong to the split of the record before
them. Nothing is written, and a broker may have the store open.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from mqgateway.engine.disk import Disk, File
from mqgateway.engine.names import is_system_topic
from mqgateway.engine.raft.files.entry import HEAD_SIZE, Head
from mqgateway.engine.raft.files.entry import examine as examine_entry
from mqgateway.engine.raft.files.properties import read_noted
from mqgateway.engine.raft.files.recovery import find_end
from mqgateway.engine.store.file_queue import FilePool, FileQueue
from mqgateway.engine.store.record import (
    BLANK_MAGIC,
    BLANK_SIZE,
    MAGIC,
    MAGIC_V2,
    START,
    Invalid,
    decode,
    examine,
)
from mqgateway.engine.upkeep.layout import LEDGER, LEDGER_DATA, LEDGER_INDEX
from mqgateway.pipeline.errors import BadOption, PipelineError
from mqgateway.pipeline.rows import Rows, rows_of

log = logging.getLogger(__name__)

CHUNK = 4 << 20
LOG_FOLDER = "commitlog"
_OPEN_FILES = 8
_FIND_MAGIC = re.compile(
    b"|".join(re.escape(magic.to_bytes(4, "big", signed=True)) for magic in (MAGIC, MAGIC_V2))
)


class Split(NamedTuple):
    """Bytes [begin, end) of a file; `start` is the file's first offset in the log. In the log of a DLedger
    member, `lead` bytes before each record belong to it: the head of its entry. That log ends at byte `limit`
    of the file at the latest."""

    path: str
    start: int
    begin: int
    end: int
    lead: int = 0
    limit: int = 0


class LogDirectory(NamedTuple):
    """A folder of a log's files in the store `root`, and the number of bytes before each record there."""

    root: str
    path: str
    lead: int = 0


class FoundRecord(NamedTuple):
    """A valid record: its position in the log and its bytes."""

    position: int
    data: bytes


class DamagedBytes(NamedTuple):
    """Bytes [position, position + size) of the log that are not records, and the problem of the first."""

    position: int
    size: int
    what: str


def log_folders(disk: Disk, store: str) -> list[LogDirectory]:
    """Return the log folders of a store: the commit log, and the logs of DLedger members. Raises
    `BadOption`."""
    store = store.rstrip("/") or "/"
    for root in (store, f"{store}/store"):
        found = [LogDirectory(root, f"{root}/{LOG_FOLDER}")]
        members = [name for name in disk.subdirs(root) if name.startswith(LEDGER)]
        found += [LogDirectory(root, f"{root}/{name}/{LEDGER_DATA}", HEAD_SIZE) for name in members]
        found = [folder for folder in found if _has_files(disk, folder.path)]
        if found:
            return found
    if _has_files(disk, store):
        return [LogDirectory(store.rpartition("/")[0], store)]
    raise BadOption("storeDir", store, "there are no commit-log files", "give the broker's storePathRootDir")


def _has_files(disk: Disk, folder: str) -> bool:
    return any(_is_log_file(name) for name in disk.listdir(folder))


def splits(disk: Disk, folder: LogDirectory, split_bytes: int) -> list[Split]:
    """Return the splits of all files of a folder, each of about `split_bytes`, without bytes never
    written."""
    found: list[Split] = []
    log_end = _ledger_end(disk, folder.path) if folder.lead else None
    for name in filter(_is_log_file, disk.listdir(folder.path)):
        path = f"{folder.path}/{name}"
        file = disk.open(path)
        try:
            limit = file.used()
        finally:
            file.close()
        if log_end is not None:
            limit = max(0, min(limit, log_end - int(name)))
        count = max(1, round(limit / split_bytes))
        cuts = [limit * number // count for number in range(count + 1)]
        found += [
            Split(path, int(name), begin, end, folder.lead, limit if folder.lead else 0)
            for begin, end in pairwise(cuts)
            if begin < end
        ]
    return found


def _ledger_end(disk: Disk, folder: str) -> int:
    """Return the end of a member's log: a truncation leaves old entries behind it."""
    member = folder.rpartition("/")[0]
    data, index = _queue_of(disk, folder), _queue_of(disk, f"{member}/{LEDGER_INDEX}")
    return find_end(data, index, read_noted(disk, member).end)


def _queue_of(disk: Disk, folder: str) -> FileQueue:
    names = [name for name in disk.listdir(folder) if _is_log_file(name)]
    size = disk.size(f"{folder}/{names[0]}") if names else 1
    queue = FileQueue(FilePool(disk, _OPEN_FILES), folder, size)
    queue.starts = [int(name) for name in names]
    return queue


def scan(disk: Disk, split: Split, check_crc: bool) -> Iterator[FoundRecord | DamagedBytes]:
    """Yield the records and the damage of a split, in order."""
    file = disk.open(split.path)
    try:
        reader = _Reader(file, split, check_crc)
        at = split.begin
        if at:
            at, _ = reader.search(at)
            if at >= split.end:
                return
        while True:
            found = reader.record(at)
            if isinstance(found, bytes):
                if at >= split.end:
                    return
                yield FoundRecord(split.start + at + split.lead, found)
                at += split.lead + len(found)
                continue
            if not found.what:
                return
            following, is_zeros = reader.search(at + 1)
            if not is_zeros:
                yield DamagedBytes(split.start + at, following - at, found.what)
            at = following
    finally:
        file.close()


class _Reader:
    """Bytes of one file, read in large chunks."""

    def __init__(self, file: File, split: Split, check_crc: bool) -> None:
        self._file = file
        self._start = split.start
        self._lead = split.lead
        self._limit = split.limit or max(file.used(), split.end)
        self._check_crc = check_crc
        self._data = b""
        self._at = 0

    def record(self, at: int) -> bytes | Invalid:
        """Return the record at a byte of the file; `Invalid("")` at the regular end of the file."""
        if self._lead:
            head = self._head(at)
            if isinstance(head, Invalid):
                return head
            at += self._lead
        offset = self._have(at, BLANK_SIZE)
        if len(self._data) - offset < BLANK_SIZE:
            return Invalid("")
        size, magic = START.unpack_from(self._data, offset)
        if magic == BLANK_MAGIC:
            return Invalid("")
        if size > len(self._data) - offset and size <= self._limit - at:
            offset = self._have(at, size)
        found = examine(self._data, offset, self._start + at, self._check_crc)
        if isinstance(found, Invalid):
            return found
        return bytes(self._data[offset : offset + found])

    def _head(self, at: int) -> Head | Invalid:
        """Return the head of the entry at a byte of the file, as `record`."""
        offset = self._have(at, HEAD_SIZE)
        if len(self._data) - offset < BLANK_SIZE:
            return Invalid("")
        head = examine_entry(self._data, offset, self._start + at)
        return Invalid("") if head is None else head

    def search(self, at: int) -> tuple[int, bool]:
        """Return the next byte from `at` at which a valid record begins, or else the end, and True if only
        zeros precede it."""
        is_zeros = at == 0 or self._is_zero(at - 1)
        while at < self._limit:
            offset = self._have(at, min(CHUNK, self._limit - at))
            chunk = self._data[offset:]
            for match in _FIND_MAGIC.finditer(chunk):
                before = match.start() - 4 - self._lead
                begin = at + before
                if before >= 0 and isinstance(self.record(begin), bytes):
                    between = chunk[:before]
                    return begin, is_zeros and not any(between)
            is_zeros = is_zeros and not any(chunk)
            if len(chunk) <= BLANK_SIZE + self._lead:
                break
            at += len(chunk) - BLANK_SIZE - self._lead + 1
        return self._limit, is_zeros

    def _is_zero(self, at: int) -> bool:
        offset = self._have(at, 1)
        return self._data[offset] == 0

    def _have(self, at: int, size: int) -> int:
        """Load bytes from `at`, as far as there are, and return their index in the buffer."""
        if not self._at <= at or at + size > self._at + len(self._data):
            wanted = min(max(size, CHUNK), self._limit - at)
            self._data = self._file.read(at, wanted)
            self._at = at
        return at - self._at


class Counts:
    """Counts of a split: rows, damaged ranges and their bytes."""

    def __init__(self) -> None:
        self.rows = self.damages = self.damaged_bytes = 0


class Selection(NamedTuple):
    """Records to be returned, and the handling of damage."""

    topics: frozenset[str]
    system_topics: bool
    skip_corrupt: bool
    corrupt_rows: bool

    def has(self, topic: str) -> bool:
        """Return True if records of a topic are selected."""
        if self.topics:
            return topic in self.topics
        return self.system_topics or not is_system_topic(topic)


def add_found(rows: Rows, found: FoundRecord | DamagedBytes, selection: Selection, counts: Counts) -> None:
    """Add a record or damage as a row, if it is selected. Raises `PipelineError` for damage unless it is to
    be skipped."""
    if isinstance(found, DamagedBytes):
        what = f"{found.size} bytes at {found.position} of the log are not a record: {found.what}"
        if not selection.skip_corrupt:
            raise PipelineError(f"{what}; to pass over such places, set the option skipCorrupt to true")
        log.warning("%s", what)
        counts.damages += 1
        counts.damaged_bytes += found.size
        if selection.corrupt_rows:
            host = bytes(8)
            head = (found.size, 0, 0, -1, 0, -1, found.position, 0, 0, host, 0, host, 0, 0, 0)
            rows.add(head, b"", b"")
            rows.topics.append(b"")
            rows.notes.append(found.what)
        return
    stored = decode(found.data)
    if not selection.has(stored.topic):
        return
    for row in rows_of(found.data, stored):
        counts.rows += 1
        rows.add(*row)
        rows.topics.append(stored.topic.encode())
        rows.notes.append(None)


def _is_log_file(name: str) -> bool:
    return len(name) == 20 and name.isascii() and name.isdigit()
