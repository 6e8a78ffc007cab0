"""Commit-log files read without a broker: how they are split, and the records and damage of a split.

A split is bytes [begin, end) of one file. A record belongs to the split that its first byte lies in; who
begins in the middle of a file searches for the first place where a record is valid, which the record's own
physical offset makes certain. So splits need no look at the file when they are made, and every record is in
exactly one. What lies between valid records and is none of them is damage; it belongs to the split of the
record before it. Nothing is written, and a broker may have the store open.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from mqgateway.engine.disk import Disk, File
from mqgateway.engine.message import is_system_topic
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
from mqgateway.pipeline.errors import BadOption, PipelineError
from mqgateway.pipeline.rows import Rows, rows_of

log = logging.getLogger(__name__)

CHUNK = 4 << 20
LOG_FOLDER = "commitlog"
_FIND_MAGIC = re.compile(
    b"|".join(re.escape(magic.to_bytes(4, "big", signed=True)) for magic in (MAGIC, MAGIC_V2))
)


class Split(NamedTuple):
    """Bytes [begin, end) of a file; `start` is the file's first offset in the log."""

    path: str
    start: int
    begin: int
    end: int


class Found(NamedTuple):
    """A valid record: its place in the log and its bytes."""

    position: int
    data: bytes


class Damage(NamedTuple):
    """Bytes [position, position + size) of the log that are no records, and what is wrong with the first."""

    position: int
    size: int
    what: str


def log_folder(disk: Disk, store: str) -> str:
    """The folder of the commit log of a store. Raises `BadOption`."""
    store = store.rstrip("/") or "/"
    for folder in (f"{store}/{LOG_FOLDER}", f"{store}/store/{LOG_FOLDER}", store):
        if any(_is_log_file(name) for name in disk.listdir(folder)):
            return folder
    raise BadOption("storeDir", store, "there are no commit-log files", "give the broker's storePathRootDir")


def splits(disk: Disk, folder: str, split_bytes: int) -> list[Split]:
    """All files of a log, cut into splits of about that size; what was never written is left out."""
    found = []
    for name in filter(_is_log_file, disk.listdir(folder)):
        path = f"{folder}/{name}"
        file = disk.open(path)
        try:
            limit = file.used()
        finally:
            file.close()
        count = max(1, round(limit / split_bytes))
        cuts = [limit * number // count for number in range(count + 1)]
        found += [Split(path, int(name), begin, end) for begin, end in pairwise(cuts) if begin < end]
    return found


def scan(disk: Disk, split: Split, check_crc: bool) -> Iterator[Found | Damage]:
    """The records and the damage of a split, in order."""
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
                yield Found(split.start + at, found)
                at += len(found)
                continue
            if not found.what:
                return
            following, is_zeros = reader.search(at + 1)
            if not is_zeros:
                yield Damage(split.start + at, following - at, found.what)
            at = following
    finally:
        file.close()


class _Reader:
    """Bytes of one file, read in large pieces."""

    def __init__(self, file: File, split: Split, check_crc: bool) -> None:
        self._file = file
        self._start = split.start
        self._limit = max(file.used(), split.end)
        self._check_crc = check_crc
        self._data = b""
        self._at = 0

    def record(self, at: int) -> bytes | Invalid:
        """The record at a byte of the file; `Invalid("")` where the file ends in good order."""
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

    def search(self, at: int) -> tuple[int, bool]:
        """The next byte from `at` on where a valid record begins, else the end; and whether there were only
        zeros before it."""
        is_zeros = at == 0 or self._is_zero(at - 1)
        while at < self._limit:
            offset = self._have(at, min(CHUNK, self._limit - at))
            piece = self._data[offset:]
            for match in _FIND_MAGIC.finditer(piece):
                begin = at + match.start() - 4
                if match.start() >= 4 and isinstance(self.record(begin), bytes):
                    between = piece[: match.start() - 4]
                    return begin, is_zeros and not any(between)
            is_zeros = is_zeros and not any(piece)
            if len(piece) <= BLANK_SIZE:
                break
            at += len(piece) - BLANK_SIZE + 1
        return self._limit, is_zeros

    def _is_zero(self, at: int) -> bool:
        offset = self._have(at, 1)
        return self._data[offset] == 0

    def _have(self, at: int, size: int) -> int:
        """Have bytes from `at` on in memory, as far as there are; where they begin in it."""
        if not self._at <= at or at + size > self._at + len(self._data):
            wanted = min(max(size, CHUNK), self._limit - at)
            self._data = self._file.read(at, wanted)
            self._at = at
        return at - self._at


class Counts:
    """What a split had: rows given, damaged places and their bytes."""

    def __init__(self) -> None:
        self.rows = self.damages = self.damaged_bytes = 0


class Selection(NamedTuple):
    """Which records are wanted, and what is to be done with damage."""

    topics: frozenset[str]
    system_topics: bool
    skip_corrupt: bool
    corrupt_rows: bool

    def has(self, topic: str) -> bool:
        """Whether records of a topic are wanted."""
        if self.topics:
            return topic in self.topics
        return self.system_topics or not is_system_topic(topic)


def add_found(rows: Rows, found: Found | Damage, selection: Selection, counts: Counts) -> None:
    """A record or damage as a row, if it is wanted. Raises `PipelineError` for damage not to be passed."""
    if isinstance(found, Damage):
        what = f"{found.size} bytes at {found.position} of the log are no record: {found.what}"
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
