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

import logging
import os
import struct
import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Final

from mqgateway.engine.disk import Disk, make_directories
from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.store.batch_records import offsets_of
from mqgateway.engine.store.cold import ColdRead
from mqgateway.engine.store.record import HEAD_SIZE, START, examine, store_timestamp

log = logging.getLogger(__name__)

INTERVAL: Final = 16 << 10
READ_SIZE: Final = 64 << 10
"""Bytes that are read together."""
MAGIC: Final = 0x4D514350
SYNC_SIZE: Final = 8 << 20
"""Bytes after which a new file is synced, so that no sync takes long."""
BESIDE: Final = ".new"
NONE: Final = -1

_POSITION: Final = struct.Struct(">28xq")
_ENTRY: Final = struct.Struct(">qqq")
_TAIL: Final = struct.Struct(">qqqi")
_CHECK: Final = struct.Struct(">Ii")
_TAIL_SIZE: Final = _TAIL.size + _CHECK.size


class CompactedPart:
    """A file that was opened. Its records have `size` bytes, and cover the queue offsets from `begin` to
    `end`; there may be none. `damaged` are the positions of those that were found damaged."""

    def __init__(self, disk: Disk, path: str) -> None:
        """Open the file and read its index. Raises `CorruptFile` and `OSError`."""
        self.path = path
        self._file = disk.open(path)
        self._offsets = array("q")
        self._positions = array("q")
        self._times = array("q")
        self.damaged: set[int] = set()
        self.begin, self.end, self.size = self._load()

    def _load(self) -> tuple[int, int, int]:
        path = self.path
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

    def records(self, offset: int = 0, may_wait: bool = True) -> Iterator[bytes]:
        """Yield the records from the one on that has the queue offset, or the first after it, without those
        that are damaged. Raises `OSError`, and without `may_wait` `ColdRead`."""
        for record in self._records_from(self._position(self._entry_of(offset)), may_wait):
            if offsets_of(record)[1] > offset:
                yield record

    def offset_at(self, time: int, may_wait: bool = True) -> int:
        """Return the queue offset of the first record that was stored at a time in ms or later, `end` if
        there is none. Raises as `records`."""
        entry = max(0, bisect_left(self._times, time) - 1)
        for record in self._records_from(self._position(entry), may_wait):
            if store_timestamp(record) >= time:
                return offsets_of(record)[0]
        return self.end

    def last_before(self, offset: int, may_wait: bool = True) -> int:
        """Return the queue offset of the last record that begins before an offset, `begin` if there is none.
        Raises as `records`."""
        last = self.begin
        for record in self._records_from(self._position(self._entry_of(offset - 1)), may_wait):
            base = offsets_of(record)[0]
            if base >= offset:
                break
            last = base
        return last

    def size_from(self, offset: int) -> int:
        """Return the bytes of the records from a queue offset on, and up to `INTERVAL` and a record more."""
        return self.size - self._position(self._entry_of(offset))

    def offset_with(self, size: int) -> int:
        """Return a queue offset from which on the records have at least `size` bytes, `INTERVAL` and a record
        more at most; `begin` if all have less."""
        entry = bisect_right(self._positions, self.size - size) - 1
        return self.begin if entry < 0 else self._offsets[entry]

    def newest_position(self, may_wait: bool = True) -> int:
        """Return the position in the log of the last record; -1 if there is none. Raises as `records`."""
        newest = NONE
        for record in self._records_from(self._position(len(self._positions) - 1), may_wait):
            newest = int(_POSITION.unpack_from(record)[0])
        return newest

    def _entry_of(self, offset: int) -> int:
        return max(0, bisect_right(self._offsets, offset) - 1)

    def _position(self, entry: int) -> int:
        return self._positions[entry] if self._positions else self.size

    def _read(self, position: int, size: int, may_wait: bool) -> bytes:
        if may_wait:
            return self._file.read(position, size)
        data = self._file.read_ready(position, size)
        if data is None:
            raise ColdRead(position, [(self._file, position, size)])
        return data

    def _records_from(self, position: int, may_wait: bool) -> Iterator[bytes]:
        """Yield the records from a position in the file on, without those that are damaged."""
        while position < self.size:
            data = self._read(position, min(READ_SIZE, self.size - position), may_wait)
            at, size = 0, self._record_size(data, position)
            if size > len(data):
                data = self._read(position, size, may_wait)
            while size and at + size <= len(data):
                record = data[at : at + size]
                if _is_sound(record):
                    yield record
                else:
                    self._report(position + at)
                at += size
                rest = data[at : at + START.size]
                size = self._record_size(rest, position + at) if len(rest) == START.size else 0
            position = position + at if at else self._behind_damage(position)

    def _record_size(self, data: bytes, position: int) -> int:
        """Return the size of a record from its first bytes, 0 if that cannot be right."""
        size = int(START.unpack_from(data)[0]) if len(data) >= START.size else 0
        return size if HEAD_SIZE <= size <= self.size - position else 0

    def _behind_damage(self, position: int) -> int:
        """Return where to continue after a record whose size is not known: at the next one of the index."""
        self._report(position)
        entry = bisect_right(self._positions, position)
        return self._positions[entry] if entry < len(self._positions) else self.size

    def _report(self, position: int) -> None:
        """Log, once, that a record is damaged."""
        if position not in self.damaged:
            self.damaged.add(position)
            log.error("%s at byte %d: damaged record is not delivered", self.path, position)


def _is_sound(record: bytes) -> bool:
    position = int(_POSITION.unpack_from(record)[0])
    return examine(record, 0, position, True) == len(record)


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
        self._written = self._synced = 0

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
            if self._written - self._synced >= SYNC_SIZE:
                self._file.sync()
                self._synced = self._written

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
