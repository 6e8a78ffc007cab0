"""What a member of a group keeps: entries one behind another, its term and vote, how far it is committed.

A member is handed a `RaftLog`. `engine.testing.raft_log` has one for tests; `files` keeps the standard's
files. All of them hold to `tests/engine/raft/test_log.py`.

An entry has an index (0 for the first one ever, then one more each) and lies at a position, in bytes: its
header of 48 bytes, then its body. Positions are part of what members agree on, so every log rolls its files
at the same place: an entry that would leave less than 8 bytes of its file begins the next one, and what it
left is a blank. Standard: `DLedgerStore`, `DLedgerEntry`, `MemberState.persistTerm`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from mqgateway.engine.errors import EngineError

HEADER_SIZE = 48
"""Bytes of an entry before its body."""
BLANK_SIZE = 8
"""Bytes that have to be left behind an entry in its file: a blank's."""
MAGIC = 1
"""Says that an entry is one."""
NO_INDEX = -1
"""In place of the index of an entry, when there is none."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry; `position` is where its header begins. What is not here (CRCs) is always 0."""

    index: int
    term: int
    position: int
    body: bytes
    magic: int = MAGIC
    channel: int = 0

    @property
    def size(self) -> int:
        """Bytes it takes in the log."""
        return HEADER_SIZE + len(self.body)

    @property
    def end(self) -> int:
        """The position behind it."""
        return self.position + self.size


class LogMismatch(EngineError):
    """An entry is not the one that comes next: its index or position is another."""


class SyncWork(Protocol):
    """What has to reach stable storage."""

    def sync(self) -> None:
        """Wait for the disk; may run elsewhere. Raises `OSError`."""


class RaftLog(Protocol):
    """A log of entries. All attributes are to be read only; a new log has `end_index` -1, `end_term` -1.

    `begin_index` is the first entry's index; it grows when old files are deleted. In an empty log it is
    that of the next entry, `end_index` is one less, and `end_term` -1. `begin_position` is where the first
    one begins, `end_position` where the last one ends (the next may begin later, with a file).
    `synced_index` is up to where entries are on stable storage: whoever syncs moves it, and `cut` takes it
    back. `term` and `vote` ("" for none) are what `keep_vote` kept last; `committed_index` what
    `note_committed` did, or what of it was found at the start, never more than `end_index`.
    """

    begin_index: int
    begin_position: int
    end_index: int
    end_term: int
    end_position: int
    synced_index: int
    committed_index: int
    term: int
    vote: str

    def keep_vote(self, term: int, vote: str) -> None:
        """Keep term and vote; they are on stable storage when this returns. Raises `OSError`, and then they
        are what they were."""

    def note_committed(self, index: int) -> None:
        """Entries up to here are committed. Kept now and then only: a crash may take it back."""

    def save_progress(self) -> None:
        """Write down what `note_committed` was told last. Raises `OSError`."""

    def unsynced(self) -> SyncWork | None:
        """What is not on stable storage yet, to be synced; None when all is."""

    def note_synced(self, done: Any) -> None:
        """What `unsynced` gave was synced: `synced_index` moves, but for what was cut meanwhile."""

    def place(self, body_size: int) -> int:
        """Where the next entry will lie, if its body has so many bytes: made known before `append`, as the
        body may have to say so. Raises `OSError` when there is no room, `ValueError` for more than a file
        can hold."""

    def append(self, term: int, body: bytes) -> Entry:
        """Write an entry of one's own at its place. Raises as `place`, and `OSError`; then nothing has
        moved."""

    def append_entry(self, entry: Entry) -> None:
        """Write a leader's entry. Raises `LogMismatch`, and as `append`; then nothing has moved."""

    def cut(self, index: int) -> None:
        """Forget every entry behind `index`, which is from `begin_index` - 1 up to `end_index`.
        `committed_index` is `index` at most afterwards. Raises `OSError`."""

    def begin_anew(self, index: int, position: int) -> None:
        """Forget all entries; the next one has this index, and lies at this position, the first of a file
        or not. Raises `OSError`."""

    def entry(self, index: int) -> Entry | None:
        """The entry with an index; None when it is not there (any more). Raises `OSError`, and `StoreError`
        for one that is damaged."""

    def entries(self, index: int, size_max: int) -> list[Entry]:
        """Entries from `index` on, as many as fit in `size_max` bytes with their headers, but at least the
        first; [] when that is not there. Raises as `entry`."""
