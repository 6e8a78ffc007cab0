"""The compacted part of a queue, in a file.

    file    = records index tail
    records = stored records (`store.record`) in the order of their offsets, each with its position in the log
    index   = (queue offset i8, position in this file i8, store time i8)*
    tail    = begin i8, end i8, size of the records i8, entries of the index i4,
              checksum u4 (CRC-32 of index and tail before it), magic i4

The part covers the queue offsets from `begin` to `end`. The index has the first record, and each that begins
`INTERVAL` bytes or more behind the last one it has. A file is valid if and only if the magic and the checksum
are right, and records, index and tail have its length together.

A new file is written beside the old one, synced, and renamed over it; then the directory is synced. So after
a crash there is one of them, whole. What is beside it is overwritten by the next one.
"""

from __future__ import annotations

import os
import struct
import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Final

from mqgateway.engine.cleaner.stored_records import offsets_of
from mqgateway.engine.disk import Disk, make_directories
from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.store.record import HEAD_SIZE, START, store_timestamp

INTERVAL: Final = 16 << 10
READ_SIZE: Final = 64 << 10
"""Bytes that are read together."""
MAGIC: Final = 0x4D514350
BESIDE: Final = ".new"

_ENTRY: Final = struct.Struct(">qqq")
_TAIL: Final = struct.Struct(">qqqi")
_CHECK: Final = struct.Struct(">Ii")
_TAIL_SIZE: Final = _TAIL.size + _CHECK.size


class CompactedPart:
    """A file that was opened. Its records have `size` bytes, and cover the queue offsets from `begin` to
    `end`; there may be none."""

    def __init__(self, disk: Disk, path: str) -> None:
        """Open the file and read its index. Raises `CorruptFile` and `OSError`."""
        self._path = path
        self._file = disk.open(path)
        self._offsets = array("q")
        self._positions = array("q")
        self._times = array("q")
        self.begin, self.end, self.size = self._load()

    def _load(self) -> tuple[int, int, int]:
        path = self._path
        length = self._file.size()
        tail = self._file.read(max(0, length - _TAIL_SIZE), _TAIL_SIZE)
        if len(tail) < _TAIL_SIZE:
            raise CorruptFile(path, length, "the file is shorter than its tail")
        begin, end, size, entries = _TAIL.unpack_from(tail)
        checksum, magic = _CHECK.unpack_from(tail, _TAIL.size)
        if magic != MAGIC or min(size, entries) < 0 or size + entries * _ENTRY.size + _TAIL_SIZE != length:
            raise CorruptFile(path, length - _TAIL_SIZE, "not the tail of a compacted part")
        index = self._file.read(size, entries * _ENTRY.size)
        if zlib.crc32(tail[: _TAIL.size], zlib.crc32(index)) != checksum:
            raise CorruptFile(path, size, "the checksum of the index is wrong")
        for offset, position, time in _ENTRY.iter_unpack(index):
            self._offsets.append(offset)
            self._positions.append(position)
            self._times.append(time)
        return begin, end, size

    def records(self, offset: int = 0) -> Iterator[bytes]:
        """Yield the records from the one on that has the queue offset, or the first after it. Raises
        `CorruptFile` and `OSError`."""
        entry = max(0, bisect_right(self._offsets, offset) - 1)
        position = self._positions[entry] if self._positions else self.size
        for record in self._records_from(position):
            if offsets_of(record)[1] > offset:
                yield record

    def offset_at(self, time: int) -> int:
        """Return the queue offset of the first record that was stored at a time in ms or later, `end` if
        there is none. Raises `CorruptFile` and `OSError`."""
        entry = max(0, bisect_left(self._times, time) - 1)
        for record in self._records_from(self._positions[entry] if self._positions else self.size):
            if store_timestamp(record) >= time:
                return offsets_of(record)[0]
        return self.end

    def _records_from(self, position: int) -> Iterator[bytes]:
        """Yield the records from a position in the file on."""
        while position < self.size:
            data = self._file.read(position, min(READ_SIZE, self.size - position))
            at, size = 0, self._record_size(data, position)
            if size > len(data):
                data = self._file.read(position, size)
            while size and at + size <= len(data):
                yield data[at : at + size]
                at += size
                rest = data[at : at + START.size]
                size = self._record_size(rest, position + at) if len(rest) == START.size else 0
            if not at:
                raise CorruptFile(self._path, position, "the file is shorter than its records")
            position += at

    def _record_size(self, data: bytes, position: int) -> int:
        """Return the size of a record from its first bytes. Raises `CorruptFile` if it cannot be right."""
        size = int(START.unpack_from(data)[0]) if len(data) >= START.size else 0
        if not HEAD_SIZE <= size <= self.size - position:
            raise CorruptFile(self._path, position, f"a record of {size} bytes")
        return size


class PartWriter:
    """Writes a new file beside the one at `path`."""

    def __init__(self, disk: Disk, path: str) -> None:
        """Begin the file. Raises `OSError`."""
        self._disk = disk
        self._path = path
        make_directories(disk, os.path.dirname(path))
        self._file = disk.open(path + BESIDE, create=True)
        self._file.truncate(0)
        self._index = bytearray()
        self._indexed = -INTERVAL
        self._buffer = bytearray()
        self._written = 0

    @property
    def size(self) -> int:
        """Return the bytes of the records."""
        return self._written + len(self._buffer)

    def add(self, record: bytes) -> None:
        """Append a record. Raises `OSError`."""
        position = self.size
        if position - self._indexed >= INTERVAL:
            self._index += _ENTRY.pack(offsets_of(record)[0], position, store_timestamp(record))
            self._indexed = position
        self._buffer += record
        if len(self._buffer) >= READ_SIZE:
            self._write_out()

    def finish(self, begin: int, end: int) -> None:
        """Put the file in place, for the queue offsets from `begin` to `end`. Raises `OSError`."""
        size = self.size
        tail = _TAIL.pack(begin, end, size, len(self._index) // _ENTRY.size)
        checksum = zlib.crc32(tail, zlib.crc32(self._index))
        self._buffer += self._index
        self._buffer += tail
        self._buffer += _CHECK.pack(checksum, MAGIC)
        self._write_out()
        self._file.sync()
        self._file.close()
        self._disk.rename(self._path + BESIDE, self._path)
        self._disk.sync_dir(os.path.dirname(self._path))

    def _write_out(self) -> None:
        self._file.write(self._written, self._buffer)
        self._written += len(self._buffer)
        self._buffer.clear()
