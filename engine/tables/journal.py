"""Journal of a table: the changes since it was written, in an append-only file beside it.

A table of a hundred thousand entries must not be rewritten for each change. So a change is appended here, at
once and at a cost of its own size. The table is rewritten at times (`engine.tables.journaled`), which begins
another journal.

    header   magic, number of the first change, length and CRC-32 of the table's file that the changes apply
to
    change   length, CRC-32 of the text, chained from that of the change before; text `[number, change]`

A journal is valid for that very file only: if another broker, or an administrator, has written the table
since, it is ignored. Reading ends at the first change that is torn or does not continue the one before.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any, NamedTuple

import orjson

from mqgateway.engine.disk import Disk, File
from mqgateway.engine.lenient_json import JsonError, dumps, loads

_HEADER = struct.Struct(">8sQQII")
_MAGIC = b"MQGWTJ1\n"
_FRAME = struct.Struct(">II")
_LENGTH_MAX = 1 << 28


class FileIdentity(NamedTuple):
    """Identity of the content of a table's file."""

    size: int
    crc: int


NO_FILE = FileIdentity(0, 0)
"""Identity of a table that was never written."""

Change = list[tuple[list[str], Any]]
"""A change: names from the table inwards, and the new value, None if it is removed."""


class Numbered(NamedTuple):
    """A change with its number; numbers are consecutive over all journals of a table."""

    number: int
    change: Change


class JournalContent(NamedTuple):
    """Content of a journal: its base, its first number, and the readable changes."""

    base: FileIdentity
    first: int
    changes: list[Numbered]

    @property
    def last(self) -> int:
        """Number of the last change; one less than `first` if there is none."""
        return self.first + len(self.changes) - 1


class Journal:
    """One file of changes. All methods raise `OSError`."""

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._first = 0
        self._file: File | None = None
        self._end = 0
        self._crc = 0
        self.path = path
        self.is_broken = False
        """True if a change is missing: it accepts no more until it begins again."""

    def read(self) -> JournalContent | None:
        """Return the content; None if there is no file, or not one of this format."""
        try:
            data = self._disk.read_bytes(self.path)
        except FileNotFoundError:
            return None
        if len(data) < _HEADER.size:
            return None
        magic, first, size, crc, check = _HEADER.unpack_from(data)
        if magic != _MAGIC or check != zlib.crc32(data[: _HEADER.size - 4]):
            return None
        return JournalContent(FileIdentity(size, crc), first, _changes(data, first))

    def begin(self, first: int) -> None:
        """Truncate the file for a change of this number; it is valid once it is bound to a file."""
        self._file = self._disk.open(self.path, create=True)
        self._file.truncate(0)
        self._first, self._end, self._crc = first, _HEADER.size, _seed(first)
        self.is_broken = False

    def bind(self, base: FileIdentity) -> None:
        """Write the identity of the content of the table's file that the changes apply to."""
        assert self._file is not None
        head = _HEADER.pack(_MAGIC, self._first, *base, 0)[:-4]
        self._file.write(0, head + zlib.crc32(head).to_bytes(4, "big"))

    def append(self, numbered: Numbered) -> None:
        """Append a change. On failure nothing is added."""
        assert self._file is not None
        text = _text(numbered)
        crc = zlib.crc32(text, self._crc)
        self._file.write(self._end, _FRAME.pack(len(text), crc) + text)
        self._end += _FRAME.size + len(text)
        self._crc = crc

    def sync(self) -> None:
        """Sync all appended changes to stable storage, but not the file's name."""
        if self._file is not None:
            self._file.sync()

    def remove(self) -> None:
        """Remove the file, if there is one."""
        if self._file is not None:
            self._file.close()
            self._file = None
        if self._disk.exists(self.path):
            self._disk.unlink(self.path)


def _text(numbered: Numbered) -> bytes:
    try:  # a tenth of the time
        return orjson.dumps([numbered.number, numbered.change])
    except TypeError:  # values that only the lenient form supports: large numbers, half surrogate pairs
        return dumps([numbered.number, [list(one) for one in numbered.change]])


def _seed(first: int) -> int:
    return zlib.crc32(first.to_bytes(8, "big"))


def _changes(data: bytes, first: int) -> list[Numbered]:
    """Return the changes after a header."""
    at, crc, number = _HEADER.size, _seed(first), first
    changes: list[Numbered] = []
    while at + _FRAME.size <= len(data):
        length, check = _FRAME.unpack_from(data, at)
        text = data[at + _FRAME.size : at + _FRAME.size + length]
        if not 0 < length <= _LENGTH_MAX or len(text) < length or zlib.crc32(text, crc) != check:
            break
        try:
            found, change = loads(text)
            pairs = [([str(name) for name in names], value) for names, value in change]
        except (JsonError, TypeError, ValueError):
            break
        if found != number:
            break
        changes.append(Numbered(number, pairs))
        at, crc, number = at + _FRAME.size + length, check, number + 1
    return changes


def apply(table: dict[Any, Any], change: Change) -> None:
    """Apply a change to a table; values on the path that are not tables are replaced by tables."""
    for names, value in change:
        *way, last = names
        inner = table
        for name in way:
            found = inner.get(name)
            if not isinstance(found, dict):
                found = inner[name] = {}
            inner = found
        if value is None:
            inner.pop(last, None)
        else:
            inner[last] = value
