"""The index: its files, and the messages that wait to be inserted, in groups.

RocketMQ: `IndexService`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime

from mqgateway.engine.disk import Disk
from mqgateway.engine.message import (
    PROPERTY_KEYS,
    PROPERTY_TAGS,
    PROPERTY_UNIQ_KEY,
)
from mqgateway.engine.store.cold import ColdRead
from mqgateway.engine.store.index_file import ENTRY_SIZE, HEADER_SIZE, Header, IndexFile, Pending
from mqgateway.engine.store.key_hashes import KeyHashes

log = logging.getLogger(__name__)


class ColdEntries(ColdRead):
    """Entries of a key are not in memory: those of some files, the last file first."""

    def __init__(
        self, cold: ColdRead, files: list[IndexFile], key_hash: int, begin: int, end: int, limit: int
    ) -> None:
        super().__init__(cold.position, cold.ranges)
        self._files = files
        self._query = key_hash, begin, end, limit

    def bring(self, *, ahead: bool = True) -> None:
        """Search for the entries, which are scattered, once for their pages only."""
        key_hash, begin, end, limit = self._query
        for file in reversed(self._files):
            if file.may_have(begin, end):
                limit -= len(file.find(key_hash, begin, end, limit))
            if file.begin_timestamp < begin or limit <= 0:
                break


class Index:
    """The files, oldest first, and entries that wait in `pending` to be inserted. Old files are deleted by
    `remove`."""

    def __init__(
        self, disk: Disk, directory: str, slot_count: int, entry_count: int, remove: Callable[[str], None]
    ) -> None:
        self.disk = disk
        self._remove = remove
        self.directory = directory
        self.slot_count = slot_count
        self.entry_count = entry_count
        self.files: list[IndexFile] = []
        self.pending: list[Pending] = []
        self.filled: list[IndexFile] = []
        self.hashes = KeyHashes()
        self.idle = True

    def load(self, clean: bool, safe_timestamp: int, below: int) -> None:
        """Load the files; a file of a wrong length is removed. After an unclean stop, files that may end past
        `safe_timestamp` (ms), the last one, and all that are not full are rebuilt from their entries, if
        their records are before `below`. The records after it are dispatched again."""
        paths = [f"{self.directory}/{name}" for name in self.disk.listdir(self.directory) if name.isdigit()]
        for path in paths:
            is_last = path == paths[-1]
            if not self._has_right_length(path, not clean):
                log.warning("%s has a wrong length and is removed", path)
                self.disk.unlink(path)
                continue
            file = IndexFile(self.disk, path, self.slot_count, self.entry_count)
            may_be_torn = is_last or not file.is_full or file.end_timestamp >= safe_timestamp
            if not clean and (may_be_torn or file.end_offset >= below):
                if file.begin_timestamp > 0 and file.begin_offset < below:
                    file.rebuild(below)
                else:
                    file.next_entry = 1
            if file.next_entry == 1:
                file.close_window()
                self.disk.unlink(path)
                continue
            self.files.append(file)
        for file in self.files[:-1]:
            file.close_window()

    def _has_right_length(self, path: str, repair: bool) -> bool:
        length = HEADER_SIZE + 4 * self.slot_count + ENTRY_SIZE * self.entry_count
        size = self.disk.size(path)
        if repair and HEADER_SIZE + 4 * self.slot_count < size < length:
            # A rebuild was interrupted.
            self.disk.open(path).truncate(length)
            return True
        return size == length

    @property
    def end_offset(self) -> int:
        """Physical offset of the newest message with entries; -1 if there is none."""
        return self.files[-1].end_offset if self.files else -1

    def note(self, topic: str, properties: dict[str, str], offset: int, timestamp: int) -> None:
        """Queue a message for insertion under its unique key, its keys and its tags. The hashes are computed
        at once, while the message is still in the processor's cache."""
        pending, of_key = self.pending, self.hashes.of_key
        unique = properties.get(PROPERTY_UNIQ_KEY)
        if unique:
            pending.append((of_key(topic, unique), offset, timestamp))
        keys = properties.get(PROPERTY_KEYS)
        if keys:
            for key in keys.split(" "):
                if key:
                    pending.append((of_key(topic, key), offset, timestamp))
        tags = properties.get(PROPERTY_TAGS)
        if tags:
            pending.append((self.hashes.of_tags(topic, tags), offset, timestamp))

    def apply(self, now: int) -> None:
        """Insert the pending entries. Raises `OSError`; then entries that were not inserted stay pending."""
        if not self.pending:
            return
        self.idle = False
        last, hashes = self.end_offset, self.pending
        if hashes[0][1] < last:  # they are in the order of the log
            hashes = [entry for entry in hashes if entry[1] >= last]
        while hashes:
            file = self.files[-1] if self.files and not self.files[-1].is_full else self._new_file(now)
            hashes = hashes[file.put(hashes) :]
        self.pending.clear()

    def _new_file(self, now: int) -> IndexFile:
        if self.files:
            self.files[-1].close_window()
            self.filled.append(self.files[-1])
        self.disk.makedirs(self.directory)
        name = self._name(now)
        while self.files and f"{self.directory}/{name}" <= self.files[-1].path:
            now += 1
            name = self._name(now)
        file = IndexFile(
            self.disk, f"{self.directory}/{name}", self.slot_count, self.entry_count, create=True
        )
        self.files.append(file)
        return file

    @staticmethod
    def _name(now: int) -> str:
        return datetime.fromtimestamp(now / 1000).strftime("%Y%m%d%H%M%S") + f"{now % 1000:03d}"

    def find(self, key_hash: int, begin: int, end: int, limit: int, may_wait: bool = True) -> list[int]:
        """Return physical offsets, newest first. RocketMQ: `IndexService.queryOffset`. Raises `ColdEntries`
        without `may_wait` if the disk is needed."""
        found: list[int] = []
        for number in range(len(self.files) - 1, -1, -1):
            file, rest = self.files[number], limit - len(found)
            if file.may_have(begin, end):
                try:
                    found += file.find(key_hash, begin, end, rest, may_wait)
                except ColdRead as cold:
                    raise ColdEntries(cold, self.files[: number + 1], key_hash, begin, end, rest) from None
            if file.begin_timestamp < begin or len(found) >= limit:
                break
        return found

    def forget_when_idle(self) -> None:
        """Release the window's pages if nothing was inserted since the last call."""
        if self.idle and self.files:
            self.files[-1].forget()
        self.idle = True

    def drop_before(self, min_physical_offset: int) -> int:
        """Pass files (never the last) whose records were all deleted to `remove`; return the number of files.
        RocketMQ: `IndexService.deleteExpiredFile`."""
        count = 0
        while count < len(self.files) - 1 and self.files[count].end_offset < min_physical_offset:
            count += 1
        for file in self.files[:count]:
            self._remove(file.path)
        self.filled = [file for file in self.filled if file not in self.files[:count]]
        del self.files[:count]
        return count

    def drop_after(self, offset: int) -> None:
        """Delete the files whose first message is after a physical offset, synchronously, the last one first.
        Raises `OSError`."""
        while self.files and self.files[-1].begin_offset > offset:
            file = self.files.pop()
            file.close_window()
            self.disk.unlink(file.path)

    def forget_from(self, offset: int) -> None:
        """Truncate the entries at and after a physical offset, as the log was. Raises `OSError`."""
        self.pending = [one for one in self.pending if one[1] < offset]
        self.drop_after(offset - 1)
        self.filled = [file for file in self.filled if file in self.files]
        if self.end_offset >= offset:
            self.files[-1].close_window()
            self.files[-1].rebuild(offset)

    def headers(self) -> list[tuple[IndexFile, Header]]:
        """Return the files filled since the last call, and the newest, with the headers to write. A header is
        to be written once a checkpoint covers it."""
        filled, self.filled = self.filled, []
        return [(file, file.header()) for file in [*filled, *self.files[-1:]]]

    def close(self) -> None:
        """Unmap the windows."""
        for file in self.files:
            file.close_window()
