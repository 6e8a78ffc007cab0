"""One file of the index: the records with a key, by the hash of `topic#key` (`key_hashes`).

    header = begin-timestamp i8 [0]  end-timestamp i8 [8]  begin-offset i8 [16]  end-offset i8 [24]
             used-slots i4 [32]  next-entry i4 [36]                                   (40 bytes)
    slots  = slot-count * i4: number of the latest entry of the slot, 0 if none
    entries = entry-count * (key-hash i4, physical-offset i8, seconds since begin i4, previous entry i4)

Entry 0 is never used. An entry's slot is key-hash mod slot-count; entries of a slot form a chain to older
ones. RocketMQ's file has 5,000,000 slots and 20,000,000 entries: 420,000,040 bytes, sparse.

Slots are accessed at random, so header and slots of the newest file are mapped into memory (20 MB at most,
released when idle). Entries are appended with one write per group; older files are read where needed. The
entries alone are the truth: slots are rebuilt from them after an unclean stop. The header on disk is updated
after each checkpoint and covers no more than that: RocketMQ's broker, when it opens the store after an
unclean stop, discards a file whose header goes beyond the checkpoint. RocketMQ: `IndexFile`.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Iterator
from mmap import mmap
from typing import Final

from mqgateway.engine.disk import Disk, File, Window
from mqgateway.engine.extension import native
from mqgateway.engine.store.cold import ColdRead

HEADER: Final = struct.Struct(">qqqqii")
HEADER_SIZE: Final = HEADER.size
SLOT: Final = struct.Struct(">i")
ENTRY: Final = struct.Struct(">iqii")
ENTRY_SIZE: Final = ENTRY.size

SECONDS_MAX: Final = 0x7FFFFFFF
INDEX_GROUP: Final = 1024
"""Entries written to the index together."""
_SCAN_ENTRIES: Final = 8192


Pending = tuple[int, int, int]
"""An entry to insert: hash, physical offset, store time in ms."""


def entries_of(
    window: mmap | memoryview, slot_count: int, first: int, begin: int, taken: list[Pending]
) -> tuple[bytes, int]:
    """Link entries into the slots of a window; return their bytes and the number of newly used slots. They
    get the numbers from `first` on, and their times count from `begin`."""
    read_slot, write_slot, pack = SLOT.unpack_from, SLOT.pack_into, ENTRY.pack
    entries: list[bytes] = []
    count, new_slots = first, 0
    for key_hash, offset, timestamp in taken:
        at = HEADER_SIZE + key_hash % slot_count * 4
        previous = read_slot(window, at)[0]
        if not 0 < previous < count:
            previous = 0
            new_slots += 1
        seconds = (timestamp - begin) // 1000
        if not 0 <= seconds <= SECONDS_MAX:
            seconds = 0 if seconds < 0 else SECONDS_MAX
        entries.append(pack(key_hash, offset, seconds, previous))
        write_slot(window, at, count)
        count += 1
    return b"".join(entries), new_slots


Header = tuple[int, int, int, int, int, int]
"""Times and physical offsets of the first and the last entry, used slots, number of the next entry."""


class IndexFile:
    """One index file. `open_window` comes before entries are put; reading needs none."""

    def __init__(
        self, disk: Disk, path: str, slot_count: int, entry_count: int, create: bool = False
    ) -> None:
        self.path = path
        self.slot_count = slot_count
        self.entry_count = entry_count
        self.begin_timestamp: int
        self.end_timestamp: int
        self.begin_offset: int
        self.end_offset: int
        self.used_slots: int
        self.next_entry: int
        self.entries_at = HEADER_SIZE + 4 * slot_count
        self._disk = disk
        self.file: File = disk.open(path, create)
        if create:
            self.file.truncate(self.entries_at + ENTRY_SIZE * entry_count)
        self._window: Window | None = None
        (
            self.begin_timestamp,
            self.end_timestamp,
            self.begin_offset,
            self.end_offset,
            self.used_slots,
            self.next_entry,
        ) = HEADER.unpack(self.file.read(0, HEADER_SIZE).ljust(HEADER_SIZE, b"\0"))
        self.next_entry = max(1, self.next_entry)

    @property
    def is_full(self) -> bool:
        """True if no further entry fits."""
        return self.next_entry >= self.entry_count

    def open_window(self) -> None:
        """Map header and slots writable into memory."""
        if self._window is None:
            self._window = self.file.window(self.entries_at)

    def close_window(self) -> None:
        """Unmap the window, when the file is full or the store stops."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def forget(self) -> None:
        """Release the window's resident pages."""
        if self._window is not None:
            self._window.forget()

    def put(self, hashes: list[tuple[int, int, int]]) -> int:
        """Append (hash, physical offset, store time ms) until the file is full; return the number taken.
        Raises `OSError` if the entries cannot be written; then the file is unchanged."""
        self.open_window()
        assert self._window is not None
        buffer = self._window.buffer
        slot_count, first = self.slot_count, self.next_entry
        taken = hashes[: self.entry_count - first]
        if not taken:
            return 0
        begin = self.begin_timestamp if first > 1 else taken[0][2]
        entered = entries_of if native is None else native.index_entries
        entries, new_slots = entered(buffer, slot_count, first, begin, taken)
        try:
            if first == 1:
                # Times in the file are relative to the first one: without it the entries could not be read.
                self.write_header((begin, begin, taken[0][1], taken[0][1], 0, 1))
            self.file.write(self.entries_at + first * ENTRY_SIZE, entries)
        except OSError:
            for at in range(len(entries) - ENTRY_SIZE, -1, -ENTRY_SIZE):
                key_hash, _, _, previous = ENTRY.unpack_from(entries, at)
                SLOT.pack_into(buffer, HEADER_SIZE + key_hash % slot_count * 4, previous)
            raise
        if first == 1:
            self.begin_timestamp = begin
            self.begin_offset = taken[0][1]
        self.end_timestamp = taken[-1][2]
        self.end_offset = taken[-1][1]
        self.used_slots += new_slots
        self.next_entry = first + len(taken)
        return len(taken)

    def count_at_end(self) -> int:
        """Return the number of last entries that belong to the newest message."""
        count = 0
        while count < self.next_entry - 1:
            at = self.entries_at + (self.next_entry - 1 - count) * ENTRY_SIZE
            if ENTRY.unpack(self.file.read(at, ENTRY_SIZE))[1] != self.end_offset:
                break
            count += 1
        return count

    def entries(self) -> Iterator[tuple[int, int]]:
        """Yield hash and physical offset of each entry, in the order of the log."""
        data = self.file.read(self.entries_at + ENTRY_SIZE, (self.next_entry - 1) * ENTRY_SIZE)
        for key_hash, offset, _, _ in ENTRY.iter_unpack(data):
            yield key_hash, offset

    def header(self) -> Header:
        """Return the current content of the header."""
        times, offsets = (self.begin_timestamp, self.end_timestamp), (self.begin_offset, self.end_offset)
        return *times, *offsets, self.used_slots, self.next_entry

    def write_header(self, header: Header) -> None:
        """Write a content that `header` returned. Raises `OSError`."""
        self.file.write(0, HEADER.pack(*header))

    def may_have(self, begin: int, end: int) -> bool:
        """Return True if the file may have entries in [begin, end] ms.

        RocketMQ: `IndexFile.isTimeMatched`.
        """
        return begin <= self.end_timestamp and end >= self.begin_timestamp

    def _read(self, offset: int, size: int, may_wait: bool) -> bytes:
        if may_wait:
            return self.file.read(offset, size)
        data = self.file.read_ready(offset, size)
        if data is None:
            raise ColdRead(offset, [(self.file, offset, size)])
        return data

    def find(self, key_hash: int, begin: int, end: int, limit: int, may_wait: bool = True) -> list[int]:
        """Return physical offsets of the newest entries with this hash and a time in [begin, end] (seconds
        precision). Raises `ColdRead` without `may_wait` for bytes that are not in memory."""
        found: list[int] = []
        data = self._read(HEADER_SIZE + key_hash % self.slot_count * 4, 4, may_wait)
        number = SLOT.unpack(data)[0]
        while 0 < number < self.next_entry and len(found) < limit:
            entry = self._read(self.entries_at + number * ENTRY_SIZE, ENTRY_SIZE, may_wait)
            read_hash, offset, seconds, previous = ENTRY.unpack(entry)
            if seconds < 0:
                break
            time = self.begin_timestamp + seconds * 1000
            if read_hash == key_hash and begin <= time <= end:
                found.append(offset)
            if previous >= number or time < begin:
                break
            number = previous
        return found

    def _chains(self, below: int) -> tuple[array[int], int, int, int]:
        """Scan the entries that are valid and whose records are before `below`, and repair their chains.
        Returns the slots, next number, last offset and last seconds."""
        slots, slot_count = array("i", bytes(4 * self.slot_count)), self.slot_count
        number, last_offset, last_seconds = 1, 0, 0
        while number < self.entry_count:
            first = number
            at = self.entries_at + first * ENTRY_SIZE
            data = self.file.read(at, min(_SCAN_ENTRIES, self.entry_count - first) * ENTRY_SIZE)
            mended: list[tuple[int, int]] = []
            for key_hash, offset, seconds, previous in ENTRY.iter_unpack(data):
                if not last_offset <= offset < below or key_hash < 0 or seconds < 0:
                    break
                if not (offset or key_hash) and number > 1:
                    break
                slot = key_hash % slot_count
                if previous != slots[slot]:
                    mended.append((number, slots[slot]))
                slots[slot] = number
                last_offset, last_seconds = offset, seconds
                number += 1
            if mended:
                entries = bytearray(data)
                for mine, previous in mended:
                    SLOT.pack_into(entries, (mine - first + 1) * ENTRY_SIZE - SLOT.size, previous)
                self.file.write(at, entries[: (number - first) * ENTRY_SIZE])
            if number - first < len(data) // ENTRY_SIZE or not data:
                break
        return slots, number, last_offset, last_seconds

    def rebuild(self, below: int) -> None:
        """Truncate the entries whose records are at or after a physical offset, and rebuild slots and
        header.
        """
        slots, number, last_offset, last_seconds = self._chains(below)
        used = self.slot_count - slots.count(0)
        if sys.byteorder == "little":
            slots.byteswap()
        # Entries that were lost must not reappear behind new ones.
        self.file.truncate(self.entries_at + number * ENTRY_SIZE)
        self.file.truncate(self.entries_at + self.entry_count * ENTRY_SIZE)
        self.next_entry = number
        self.used_slots = used
        self.end_offset = last_offset
        self.end_timestamp = self.begin_timestamp + last_seconds * 1000
        self.open_window()
        assert self._window is not None
        self._window.buffer[HEADER_SIZE : self.entries_at] = slots.tobytes()
        self.write_header(self.header())
