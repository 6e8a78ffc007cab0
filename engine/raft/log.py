"""The log of a member of a group: consecutive entries, its term and vote, its committed index.

A member uses a `RaftLog`. `engine.testing.raft_log` has one for tests; `files` has one in RocketMQ's files.
All of them pass `tests/engine/raft/test_log.py`.

An entry has an index (0 for the first one ever, then one more each) and a position, in bytes: its header of
48 bytes, then its body. Members agree on positions too, so every log starts its files at the same position:
an entry that would leave less than 8 bytes of its file begins the next one, and the rest is a blank.
RocketMQ: `DLedgerStore`, `DLedgerEntry`, `MemberState.persistTerm`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from mqgateway.engine.errors import EngineError

HEADER_SIZE = 48
"""Bytes of an entry before its body."""
BLANK_SIZE = 8
"""Minimum of bytes that must remain after an entry in its file: those of a blank."""
MAGIC = 1
"""Marks an entry."""
NO_INDEX = -1
"""Index if there is no entry."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry; `position` is that of its header. Fields that are not here (CRCs) are always 0."""

    index: int
    term: int
    position: int
    body: bytes
    magic: int = MAGIC
    channel: int = 0

    @property
    def size(self) -> int:
        """Bytes of the entry in the log."""
        return HEADER_SIZE + len(self.body)

    @property
    def end(self) -> int:
        """The position after it."""
        return self.position + self.size


class LogMismatch(EngineError):
    """An entry is not the next one: its index or position differs."""


class SyncWork(Protocol):
    """Files to sync."""

    def sync(self) -> None:
        """Wait for the disk; may run on another thread. Raises `OSError`."""


class RaftLog(Protocol):
    """A log of entries. All attributes are to be read only; a new log has `end_index` -1, `end_term` -1.

    `begin_index` is the first entry's index; it grows when old files are deleted. In an empty log it is that
    of the next entry, `end_index` is one less, and `end_term` -1. The first entry begins at `begin_position`,
    the last one ends at `end_position` (the next may begin later, with a file). Entries up to `synced_index`
    are on stable storage: `note_synced` moves it, and `cut` takes it back. `term` and `vote` ("" for none)
    are those of the last `keep_vote`; `committed_index` is that of `note_committed`, or its last saved value
    at the start, never more than `end_index`.
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
        """Store term and vote; they are on stable storage when this returns. Raises `OSError`, and then they
        are unchanged.
        """

    def note_committed(self, index: int) -> None:
        """Note that entries up to here are committed. Saved at times only: a crash may take it back."""

    def save_progress(self) -> None:
        """Write the last value of `note_committed`. Raises `OSError`."""

    def unsynced(self) -> SyncWork | None:
        """Return the work to sync; None if all is on stable storage."""

    def note_synced(self, done: Any) -> None:
        """Note that the work of `unsynced` was synced: `synced_index` moves, except for truncated entries."""

    def place(self, body_size: int) -> int:
        """Return the position of the next entry, if its body has this size. It is known before `append`, as
        the body may have to contain it. Raises `OSError` if there is no space, `ValueError` for more than
        a file can hold.
        """

    def append(self, term: int, body: bytes) -> Entry:
        """Write an own entry at its position. Raises as `place`, and `OSError`; then nothing has moved."""

    def append_entry(self, entry: Entry) -> None:
        """Write a leader's entry. Raises `LogMismatch`, and as `append`; then nothing has moved."""

    def cut(self, index: int) -> None:
        """Truncate every entry after `index`, which is from `begin_index` - 1 up to `end_index`.
        `committed_index` is `index` at most afterwards. Raises `OSError`.
        """

    def reset(self, index: int, position: int) -> None:
        """Drop all entries; the next one has this index and this position, at the start of a file or not.
        Raises `OSError`.
        """

    def entry(self, index: int) -> Entry | None:
        """Return the entry with an index; None if it is not in the log (any more). Raises `OSError`, and
        `StoreError` for a damaged one.
        """

    def entries(self, index: int, size_max: int) -> list[Entry]:
        """Return entries from `index` on, as many as fit in `size_max` bytes with their headers, but at least
        the first; [] if that is not in the log. Raises as `entry`.
        """
