"""Scan of the whole log, past damage.

It goes from each record to the next, as `record.py` defines them. At an invalid one, the next valid one is
searched for: by the magic, and the record's own physical offset, which no other bytes have. The bytes between
are damage. If none follows, the log ends there.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterator
from zlib import crc32

from mqgateway.engine.message import (
    PROPERTY_CRC32,
    PROPERTY_KEYS,
    PROPERTY_TAGS,
    PROPERTY_UNIQ_KEY,
    SysFlag,
)
from mqgateway.engine.store.file_queue import FileQueue
from mqgateway.engine.store.key_hashes import KeyHashes
from mqgateway.engine.store.record import BLANK_MAGIC, BLANK_SIZE, MAGIC, START, Invalid, examine
from mqgateway.engine.upkeep.findings import Findings, StorePart
from mqgateway.engine.upkeep.layout import RESTORE, place

CHUNK = 4 << 20
_ZEROS = bytes(CHUNK)
MAGIC_START = MAGIC.to_bytes(4, "big", signed=True)[:3]
_BLANK_WORD = BLANK_MAGIC.to_bytes(4, "big", signed=True)
_CRC_PROPERTY = PROPERTY_CRC32.encode() + b"\x01"
_CRC_SIZE = len(_CRC_PROPERTY) + 11
_FIXED = struct.Struct(">12xi4xq8xi8x")
_I8 = struct.Struct(">q")
_TAGS, _UNIQUE, _KEYS = PROPERTY_TAGS.encode(), PROPERTY_UNIQ_KEY.encode(), PROPERTY_KEYS.encode()
_find_keys = re.compile(rb"(?:\A|\x02)(%b|%b|%b)\x01([^\x02]+)" % (_TAGS, _UNIQUE, _KEYS)).findall
_V6_BORN, _V6_STORE = SysFlag.BORN_HOST_V6, SysFlag.STORE_HOST_V6
_V6 = _V6_BORN | _V6_STORE

Fields = tuple[int, int, int, int, bytes, bytes]
"""The fields of a valid record that checks need: queue id, queue offset, sys flag, store time in ms, topic
and properties.
"""

Keys = tuple[bytes | None, bytes | None, bytes | None]
"""The properties used for derived files: tags, unique key and keys."""


def fields_of(data: bytes, at: int, size: int) -> Fields:
    """Return the fields of the valid record at `at`."""
    queue_id, queue_offset, sys_flag = _FIXED.unpack_from(data, at)
    timestamp_at = at + 56
    body_length_at = at + 84
    if sys_flag & _V6:
        timestamp_at += 12 if sys_flag & _V6_BORN else 0
        body_length_at += (12 if sys_flag & _V6_BORN else 0) + (12 if sys_flag & _V6_STORE else 0)
    topic_at = body_length_at + 4 + int.from_bytes(data[body_length_at : body_length_at + 4], "big")
    if data[at + 7] == 0xA7:
        topic_length = data[topic_at]
        topic_at += 1
    else:
        topic_length = data[topic_at] << 8 | data[topic_at + 1]
        topic_at += 2
    properties_at = topic_at + topic_length
    return (
        queue_id,
        queue_offset,
        sys_flag,
        _I8.unpack_from(data, timestamp_at)[0],
        data[topic_at:properties_at],
        data[properties_at + 2 : at + size],
    )


def keys_of(properties: bytes) -> Keys:
    """Return tags, unique key and keys of a record; of a repeated name the last value."""
    found = dict(_find_keys(properties))
    return found.get(_TAGS), found.get(_UNIQUE), found.get(_KEYS)


def hashes_of(hashes: KeyHashes, topic: str, keys: Keys) -> list[int]:
    """Return the hashes of a record's keys that its index entries have, in the order of `Index.note`."""
    tags, unique, others = keys
    found = [hashes.of_key(topic, unique.decode("utf-8", "replace"))] if unique else []
    if others:
        found += [hashes.of_key(topic, key) for key in others.decode("utf-8", "replace").split(" ") if key]
    if tags:
        found.append(hashes.of_tags(topic, tags.decode("utf-8", "replace")))
    return found


class LogWalk:
    """One pass over the log.

    Afterwards `end` is its end and `ended_by` the reason, `damaged` the ranges before that without a valid
    record, and `has_rest` is True if anything but zeros follows the end. `is_past_end` is called with the
    position of a valid record after damage, and returns True if it is an old one after the log's end.
    `progress` is called at times with the bytes read and the bytes to read. It starts at `begin`, a record's
    position in the first file, or with that file. `take` is called with the bytes read, the index in them of
    what follows a record or begins a part of the log, and its position. It returns the size of the valid
    records that it has processed from there on, which are not yielded.
    """

    def __init__(
        self,
        files: FileQueue,
        findings: Findings,
        is_past_end: Callable[[int], bool],
        progress: Callable[[int, int], None] | None = None,
        begin: int = 0,
        take: Callable[[bytes, int, int], int] | None = None,
    ) -> None:
        self._files = files
        self._take = take
        self._findings = findings
        self._is_past_end = is_past_end
        self._progress = progress
        self._at = self.end = max(begin, files.starts[0]) if files.starts else 0
        self.ended_by = ""
        self.has_rest = False
        self.damaged: list[tuple[int, int]] = []

    def records(self) -> Iterator[tuple[bytes, int, int, int]]:
        """Yield for each record the bytes read, its index in them, its position in the log and its size."""
        for start in self._files.starts:
            if start > self._at:
                self.damaged.append((self._at, start))
            yield from self._file(start, start + self._files.file_size)
            if self.ended_by:
                return
        self.ended_by = "there are no more files"

    def _file(self, start: int, file_end: int) -> Iterator[tuple[bytes, int, int, int]]:
        self._at = max(start, self._at)
        while reason := (yield from self._run(file_end)):
            self.has_rest = self._files.read(self._at, 1) != b"\0"
            found = self._search(self._at + 1, file_end)
            if found is None:
                later = (
                    self._search(s, s + self._files.file_size) for s in self._files.starts if s >= file_end
                )
                found = next((place for place in later if place is not None), None)
            if found is None or self._is_past_end(found):
                self.ended_by = reason
                return
            found = min(found, file_end)
            self._report(self._at, found, reason)
            self._at = found
        self._at = self.end = file_end

    def _run(self, file_end: int) -> Generator[tuple[bytes, int, int, int], None, str]:
        """Yield consecutive records; return "" at the end of the file or a blank, else the fault."""
        files, wanted = self._files, CHUNK
        lead, examine_at, take = self._lead(self._at), self._examine, self._take
        while (begin := self._at) < file_end:
            data = files.read(begin, min(wanted, file_end - begin))
            if self._progress is not None:
                self._progress(begin - files.starts[0], files.end - files.starts[0])
            view, at, position = memoryview(data), 0, begin
            while True:
                while take is not None and (taken := take(data, at, position)):
                    at += taken
                    position += taken
                    self._at = self.end = position
                size = examine_at(view, at, position)
                if not isinstance(size, int):
                    break
                if size == 0:
                    size = self._blank_size(data, at, position)
                    if size == file_end - position:
                        return ""
                    return f"the blank has a size of {size}, but {file_end - position} bytes are left"
                end = at + size
                if data[end - _CRC_SIZE : end - 11] == _CRC_PROPERTY and not _crc_holds(
                    view[at + lead : end]
                ):
                    return "the record does not match its CRC property"
                self._at = self.end = position + size
                yield data, at + lead, position + lead, size - lead
                at, position = end, self._at
            if at:
                # The record may only be cut off by the end of the chunk.
                wanted = CHUNK
                continue
            wanted = self._size_in(data, position)
            if not CHUNK == len(data) < wanted <= file_end - begin:
                return size.what
        return ""

    def _search(self, position: int, file_end: int) -> int | None:
        """Return the start of the next valid record or blank of a file."""
        start = self._files.start_of(file_end - 1)
        used = start + self._files.file(start).used()
        overlap = self._lead(start) + START.size - 1
        while position < used:
            data = self._files.read(position, min(CHUNK, used - position))
            if data != _ZEROS[: len(data)]:
                self.has_rest = True
                for at in self._starts(data, position):
                    if at >= 0 and self._is_record(position + at, file_end):
                        return position + at
            if position + len(data) >= used or len(data) <= overlap:
                break
            position += len(data) - overlap
        return None

    def _lead(self, position: int) -> int:
        """Return the number of bytes before each record there that belong to it."""
        return 0

    def _examine(self, view: memoryview, at: int, position: int) -> int | Invalid:
        """Return the size of the record at `at` with its lead; 0 for a blank; else its fault."""
        return examine(view, at, position, True)

    def _blank_size(self, data: bytes, at: int, position: int) -> int:
        return int(START.unpack_from(data, at)[0])

    def _size_in(self, data: bytes, position: int) -> int:
        """Return the size claimed by the record that begins with `data`."""
        return int.from_bytes(data[:4], "big")

    def _starts(self, data: bytes, position: int) -> list[int]:
        """Return possible starts of records and blanks in some bytes, by their magic."""
        return sorted(at - 4 for at in (*places_of(data, MAGIC_START), *places_of(data, _BLANK_WORD)))

    def _is_record(self, position: int, file_end: int) -> bool:
        """Return True if a valid record or blank starts at a position."""
        size, magic = START.unpack(self._files.read(position, START.size))
        if magic == BLANK_MAGIC:
            return bool(size == file_end - position)
        if not BLANK_SIZE < size <= file_end - position:
            return False
        return isinstance(examine(self._files.read(position, size), 0, position, True), int)

    def _report(self, begin: int, end: int, reason: str) -> None:
        self.damaged.append((begin, end))
        path, at = place(self._files, begin)
        self._findings.error(
            StorePart.LOG,
            path,
            at,
            f"{reason}; no record can be read in the {end - begin} bytes from {begin} to {end} of the log",
            RESTORE + ". Do not start a broker on an unclean store before: it would end the log here",
        )

    def end_place(self) -> tuple[str, int]:
        """Return the file and byte at which the log ends."""
        last = self._files.starts[-1]
        if self.end >= last + self._files.file_size:
            return place(self._files, self.end - 1)[0], self._files.file_size
        return place(self._files, self.end)

    def is_damaged(self, position: int) -> bool:
        """Return True if a position is in a damaged range found so far."""
        at = bisect_right(self.damaged, (position, 1 << 63)) - 1
        return at >= 0 and self.damaged[at][0] <= position < self.damaged[at][1]


def places_of(data: bytes, word: bytes) -> Iterator[int]:
    """Yield the positions of a word in some bytes."""
    at = data.find(word)
    while at >= 0:
        yield at
        at = data.find(word, at + 1)


def _crc_holds(record: memoryview) -> bool:
    """Return True if the CRC in a record's last property (digits reversed) is right.

    RocketMQ: `MessageDecoder.createCrc32`.
    """
    digits = bytes(record[-11:-1])[::-1]
    return digits.isdigit() and int(digits) == crc32(record[:-_CRC_SIZE]) & 0x7FFFFFFF
