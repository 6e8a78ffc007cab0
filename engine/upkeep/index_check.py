"""Check of index files against the log and against themselves.

Entries are in the order of the log, so both are read in parallel: each record's keys should have entries,
each entry should belong to a record. The chains are recomputed and compared on the way, and at a file's end
its slots and header. RocketMQ: `IndexFile`, `IndexService`.
"""

from __future__ import annotations

import sys
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from mqgateway.engine.message import SysFlag
from mqgateway.engine.store.index_file import ENTRY, ENTRY_SIZE, HEADER, HEADER_SIZE, SECONDS_MAX
from mqgateway.engine.store.key_hashes import KeyHashes
from mqgateway.engine.upkeep.findings import Findings, StorePart
from mqgateway.engine.upkeep.layout import REBUILD, Layout
from mqgateway.engine.upkeep.walk import Fields, Keys, hashes_of

_SCAN = 16384

_Entry = tuple[int, int, int, int]
"""Physical offset, hash, seconds and number."""
_END: _Entry = (1 << 63, 0, 0, 0)
"""After the last entry."""


def _seconds(millis: int) -> int:
    return max(0, min(millis // 1000, SECONDS_MAX))


class _Header(NamedTuple):
    begin_timestamp: int
    end_timestamp: int
    begin_offset: int
    end_offset: int
    used_slots: int
    next_entry: int


class _IndexFile:
    """One file and its shape."""

    def __init__(self, layout: Layout, name: str, slot_count: int, entry_count: int) -> None:
        self.path = f"{layout.index}/{name}"
        self.file = layout.disk.open(self.path)
        self.slot_count = slot_count
        self.entry_count = entry_count
        self.entries_at = HEADER_SIZE + 4 * slot_count
        self.header = _Header(*HEADER.unpack(self.file.read(0, HEADER_SIZE)))

    def place(self, number: int) -> int:
        """Return the byte position of an entry."""
        return self.entries_at + number * ENTRY_SIZE


class IndexCheck:
    """Checks all files of the index. `entries` is the number read."""

    def __init__(self, layout: Layout, findings: Findings, is_unclean: bool) -> None:
        self._layout = layout
        self._findings = findings
        self._is_unclean = is_unclean
        self._hashes = KeyHashes()
        self._files = self._find()
        self._stream = self._entries()
        self._is_damaged: Callable[[int], bool] = lambda _: False
        self._missing = 0
        self._missing_from = 0
        self._file: _IndexFile | None = None
        self._time_base = 0
        self._entry = _END
        self._stored = -1, 0
        self._last_place = layout.index, -1
        self.entries = 0

    @property
    def is_there(self) -> bool:
        """True if there is any index file."""
        return bool(self._files)

    def _find(self) -> list[tuple[str, int, int]]:
        """Return name, slots and entries of each file."""
        layout, names = self._layout, self._layout.index_files()
        for name in layout.disk.listdir(layout.index):
            if name not in names:
                path = f"{layout.index}/{name}"
                self._findings.note(
                    StorePart.INDEX, path, -1, "is not a file name of the store and is ignored"
                )
        found = []
        for name in names:
            path = f"{layout.index}/{name}"
            size = layout.disk.size(path)
            shape = layout.index_shape(size)
            if shape is None:
                what = f"has {size} bytes, which fits neither the settings nor the usual shape"
                advice = f"give the broker's file with --config if it sets maxHashSlotNum; else {REBUILD}"
                self._findings.error(StorePart.INDEX, path, -1, what, advice)
            else:
                found.append((name, *shape))
        return found

    def start(self, log_start: int, is_damaged: Callable[[int], bool]) -> None:
        """Begin, before the first record; entries of deleted records are skipped."""
        self._is_damaged = is_damaged
        self._entry = next(self._stream, _END)
        while self._entry[0] < log_start:
            self._entry = next(self._stream, _END)

    def record(self, fields: Fields, keys: Keys, position: int) -> None:
        """Check the next record of the log, with its keys."""
        is_indexed = fields[2] & SysFlag.TRANSACTION_MASK != SysFlag.TRANSACTION_ROLLBACK
        topic = fields[4].decode("utf-8", "replace")
        hashes = hashes_of(self._hashes, topic, keys) if is_indexed else []
        entry = self._entry
        if entry[0] < position:
            self._skip_to(position)
            entry = self._entry
        if entry[0] != position:
            if is_indexed and (keys[1] or keys[2]):
                if not self._missing:
                    self._missing_from = position
                self._missing += 1
            return
        if self._missing:
            self._end_missing(is_last=False)
        file = self._file
        assert file is not None
        self._last_place = file.path, file.place(entry[3])
        self._stored = position, fields[3]
        passed = (fields[3] - file.header.begin_timestamp) // 1000
        found = []
        while entry[0] == position:
            found.append(entry[1])
            if entry[2] != passed:
                self._check_seconds(entry, fields[3])
            entry = next(self._stream, _END)
        self._entry = entry
        if found != hashes:
            self._compare(found, hashes, keys[0], position)

    def _compare(self, found: list[int], hashes: list[int], tags: bytes | None, position: int) -> None:
        """Compare entries; versions before 5.5 have none for tags, and a repeated dispatch may have added
        keys twice.
        """
        lost = Counter(hashes[:-1] if tags else hashes) - Counter(found)
        strange = [value for value in found if value not in hashes]
        if strange or lost:
            path, at = self._last_place
            what = (
                f"the record at {position}: {len(lost)} keys without entry, {len(strange)} entries of no key"
            )
            self._findings.error(StorePart.INDEX, path, at, what, REBUILD)

    def _check_seconds(self, entry: _Entry, store_timestamp: int) -> None:
        file = self._file
        assert file is not None
        _, _, seconds, number = entry
        begin = file.header.begin_timestamp
        if seconds == _seconds(store_timestamp - begin):
            return
        # RocketMQ counts a file's first entry from the end of the previous file, which may be gone.
        if number == 1 and (not self._time_base or seconds == _seconds(store_timestamp - self._time_base)):
            return
        what = f"entry {number} is {seconds} s after {begin}, its record was stored at {store_timestamp}"
        self._findings.error(StorePart.INDEX, file.path, file.place(number) + 12, what, REBUILD)

    def _skip_to(self, position: int) -> None:
        while self._entry[0] < position:
            if not self._is_damaged(self._entry[0]):
                self._stray()
            self._entry = next(self._stream, _END)

    def _stray(self) -> None:
        file, (offset, _, _, number) = self._file, self._entry
        assert file is not None
        what = f"entry {number} has offset {offset}, where no record begins"
        self._findings.error(StorePart.INDEX, file.path, file.place(number) + 4, what, REBUILD)

    def _end_missing(self, *, is_last: bool) -> None:
        count, self._missing = self._missing, 0
        if not count or not self.is_there:
            return
        repaired = is_last and self._is_unclean
        self._findings.add(
            not repaired,
            StorePart.INDEX,
            self._layout.index,
            -1,
            f"{count} records with keys, from {self._missing_from} of the log on, have no entry",
            "the next start enters them" if repaired else "queries by key do not find them; " + REBUILD,
        )

    def finish(self, log_end: int) -> None:
        """Check what remains after the last record."""
        self._end_missing(is_last=True)
        while self._entry is not _END:
            if not (self._is_unclean and self._entry[0] >= log_end):
                self._stray()
            self._entry = next(self._stream, _END)

    def _entries(self) -> Iterator[_Entry]:
        """Yield each entry, and check the chains."""
        last = 0
        for number, (name, slots, entries) in enumerate(self._files):
            file = self._file = _IndexFile(self._layout, name, slots, entries)
            is_repaired = self._is_unclean and number == len(self._files) - 1
            yield from self._file_entries(file, is_repaired)
            self._time_base = file.header.end_timestamp
            if file.header.begin_offset < last:
                self._wrong(file, 16, "the file begins before the end of the one before it", False)
            last = file.header.end_offset
            file.file.close()

    def _file_entries(self, file: _IndexFile, is_repaired: bool) -> Iterator[_Entry]:
        header = file.header
        if not 0 < header.next_entry <= file.entry_count:
            self._wrong(file, 36, f"the next entry is {header.next_entry} of {file.entry_count}", is_repaired)
        end = min(max(header.next_entry, 1), file.entry_count)
        slots = array("i", bytes(4 * file.slot_count))
        number, used, previous_offset = 1, 0, -1
        offset = 0
        while number < end:
            data = file.file.read(file.place(number), min(_SCAN, end - number) * ENTRY_SIZE)
            if len(data) < ENTRY_SIZE:
                break
            for key_hash, offset, seconds, previous in ENTRY.iter_unpack(
                data[: len(data) // ENTRY_SIZE * ENTRY_SIZE]
            ):
                slot = key_hash % file.slot_count
                expected = slots[slot]
                if previous != expected or key_hash < 0 or offset < previous_offset:
                    self._wrong_entry(file, number, (key_hash, offset, previous), expected, previous_offset)
                used += expected == 0
                slots[slot] = number
                yield offset, key_hash, seconds, number
                if number == 1 and self._stored[0] == offset:
                    self._check_time(file, 0, header.begin_timestamp, is_repaired)
                previous_offset = offset
                number += 1
        self.entries += end - 1
        self._check_header(file, used, number > 1, offset, is_repaired)
        self._check_slots(file, slots, is_repaired)

    def _wrong_entry(
        self, file: _IndexFile, number: int, entry: tuple[int, int, int], expected: int, last_offset: int
    ) -> None:
        key_hash, offset, previous = entry
        if key_hash < 0:
            what = f"entry {number} has the hash {key_hash}"
        elif previous != expected:
            what = f"entry {number} says that {previous} is before it in its chain, it is {expected}"
        else:
            what = f"entry {number} has offset {offset}, after one with {last_offset}"
        self._findings.error(StorePart.INDEX, file.path, file.place(number), what, REBUILD)

    def _check_header(
        self, file: _IndexFile, used: int, has_entries: bool, offset: int, is_repaired: bool
    ) -> None:
        header = file.header
        # Old versions of RocketMQ's broker count an entry's slot even if it was used already.
        if header.used_slots not in (used, header.next_entry - 1):
            self._wrong(file, 32, f"{header.used_slots} slots are said to be used, {used} are", is_repaired)
        if not has_entries:
            return
        first = ENTRY.unpack(file.file.read(file.place(1), ENTRY_SIZE))
        if header.begin_offset != first[1]:
            what = f"the begin offset is {header.begin_offset}, the first entry's {first[1]}"
            self._wrong(file, 16, what, is_repaired)
        if header.end_offset != offset:
            what = f"the end offset is {header.end_offset}, the last entry's {offset}"
            self._wrong(file, 24, what, is_repaired)
        if self._stored[0] == offset:
            self._check_time(file, 8, header.end_timestamp, is_repaired)

    def _check_time(self, file: _IndexFile, at: int, time: int, is_repaired: bool) -> None:
        """Compare a time of the header with that of the record whose entry was just compared."""
        if time != self._stored[1]:
            name = "end" if at else "begin"
            what = f"the {name} time is {time}, the {'last' if at else 'first'} record's {self._stored[1]}"
            self._wrong(file, at, what, is_repaired)

    def _check_slots(self, file: _IndexFile, slots: array[int], is_repaired: bool) -> None:
        if sys.byteorder == "little":
            slots.byteswap()
        view = memoryview(slots).cast("B")
        wrong, first = 0, -1
        for at in range(0, len(view), _SCAN):
            expected = view[at : at + _SCAN]
            found = file.file.read(HEADER_SIZE + at, len(expected))
            if found != expected:
                for n in range(0, len(expected), 4):
                    if found[n : n + 4] != expected[n : n + 4]:
                        wrong += 1
                        first = at + n if first < 0 else first
        if wrong:
            what = f"{wrong} slots do not name the last entry of their chain, the first is {first // 4}"
            self._wrong(file, HEADER_SIZE + first, what, is_repaired)

    def _wrong(self, file: _IndexFile, at: int, what: str, is_repaired: bool) -> None:
        advice = "the next start rebuilds this file" if is_repaired else REBUILD
        self._findings.add(not is_repaired, StorePart.INDEX, file.path, at, what, advice)
