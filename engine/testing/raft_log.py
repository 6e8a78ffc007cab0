"""A member's log in memory, for tests and simulations: with files that roll, syncs and power cuts.

Standard: `DLedgerMemoryStore`.
"""

from __future__ import annotations

import errno
from typing import NamedTuple

from mqgateway.engine.raft.log import BLANK_SIZE, HEADER_SIZE, NO_INDEX, Entry, LogMismatch, RaftLog


class _Unsynced(NamedTuple):
    log: MemoryRaftLog
    until: int

    def sync(self) -> None:
        """Nothing has to be waited for."""
        self.log.check()


class MemoryRaftLog(RaftLog):
    """Entries in a list. `sync` moves `synced_index`; `power_cut` forgets what was not synced. `failure`, an
    `OSError`, is raised by everything that writes."""

    def __init__(self, file_size: int = 1 << 30) -> None:
        self._file_size = file_size
        self._entries: list[Entry] = []
        self.begin_index = 0
        self.begin_position = 0
        self.end_position = 0
        self.synced_index = self._cut_to = NO_INDEX
        self.committed_index = NO_INDEX
        self.term = 0
        self.vote = ""
        self.failure: OSError | None = None

    @property
    def end_index(self) -> int:  # type: ignore[override]
        """See `RaftLog`."""
        return self.begin_index + len(self._entries) - 1

    @property
    def end_term(self) -> int:  # type: ignore[override]
        """See `RaftLog`."""
        return self._entries[-1].term if self._entries else -1

    def keep_vote(self, term: int, vote: str) -> None:
        self.check()
        self.term, self.vote = term, vote

    def note_committed(self, index: int) -> None:
        self.committed_index = index

    def save_progress(self) -> None:
        self.check()

    def unsynced(self) -> _Unsynced | None:
        if self.synced_index == self.end_index:
            return None
        self._cut_to = self.end_index
        return _Unsynced(self, self.end_index)

    def note_synced(self, done: _Unsynced) -> None:
        self.synced_index = max(self.synced_index, min(done.until, self._cut_to))

    def place(self, body_size: int) -> int:
        size = HEADER_SIZE + body_size
        if size + BLANK_SIZE > self._file_size:
            raise ValueError(f"an entry of {size} bytes fits in no file")
        self.check()
        left = self._file_size - self.end_position % self._file_size
        return self.end_position if size + BLANK_SIZE <= left else self.end_position + left

    def append(self, term: int, body: bytes) -> Entry:
        entry = Entry(self.end_index + 1, term, self.place(len(body)), body)
        self._add(entry)
        return entry

    def append_entry(self, entry: Entry) -> None:
        place = (self.end_index + 1, self.place(len(entry.body)))
        if (entry.index, entry.position) != place:
            raise LogMismatch(f"entry {entry.index} at {entry.position} is to come at {place}")
        self._add(entry)

    def _add(self, entry: Entry) -> None:
        self._entries.append(entry)
        self.end_position = entry.end

    def cut(self, index: int) -> None:
        self.check()
        assert self.begin_index - 1 <= index <= self.end_index
        del self._entries[index + 1 - self.begin_index :]
        self.end_position = self._entries[-1].end if self._entries else self.begin_position
        self.synced_index = min(self.synced_index, index)
        self._cut_to = min(self._cut_to, index)
        self.committed_index = min(self.committed_index, index)

    def reset(self, index: int, position: int) -> None:
        self.check()
        self._entries.clear()
        self.begin_index = index
        self.begin_position = self.end_position = position
        self.synced_index = self._cut_to = index - 1
        self.committed_index = min(self.committed_index, index - 1)

    def entry(self, index: int) -> Entry | None:
        place = index - self.begin_index
        return self._entries[place] if 0 <= place < len(self._entries) else None

    def entries(self, index: int, size_max: int) -> list[Entry]:
        found: list[Entry] = []
        place, left = index - self.begin_index, size_max
        while 0 <= place < len(self._entries):
            entry = self._entries[place]
            left -= entry.size
            if found and left < 0:
                break
            found.append(entry)
            place += 1
        return found

    def check(self) -> None:
        """Raises the `failure` there is."""
        if self.failure is not None:
            raise self.failure

    # What tests do with it.

    def sync(self) -> None:
        """Everything is on stable storage."""
        self.synced_index = self.end_index

    def power_cut(self) -> None:
        """Forget what is not on stable storage."""
        self.cut(self.synced_index)

    def fill_disk(self) -> None:
        """Let everything that writes fail."""
        self.failure = OSError(errno.ENOSPC, "no space left on the device")

    def delete_before(self, index: int) -> None:
        """Forget entries before `index`, which is there, as if their files were deleted."""
        del self._entries[: index - self.begin_index]
        self.begin_index, self.begin_position = index, self._entries[0].position
