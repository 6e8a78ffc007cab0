"""A log as the store sees it: consecutive records, each at its physical offset.

`CommitLog` is one. `MessageStore` is given its log, so that a log replicated between brokers can replace it.
A writer calls `reserve` for the offset of a record, which is part of the record, then `write`. A log has its
end (`end_offset`), the offset on stable storage (`flushed_offset`) and the confirm offset (`confirm_offset`):
readers see nothing after that. It is kept in files of one length, which the store syncs, recovers after a
crash and deletes when they expire.

A policy defines when a record is confirmed: when it is written, or when it is flushed. A log with replicas
that have to agree has its own policy. RocketMQ: `CommitLog`, `DLedgerCommitLog`, `getConfirmOffset`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from mypy_extensions import mypyc_attr

from mqgateway.engine.disk import File, Slices
from mqgateway.engine.options import FlushDiskType, StoreOptions
from mqgateway.engine.store.cold import FileRange
from mqgateway.engine.store.file_queue import FileQueue
from mqgateway.engine.store.record import BLANK_SIZE, START, STORE_TIME_HEAD_SIZE, store_timestamp
from mqgateway.engine.store.results import Record

ENDLESS: Final = 1 << 63
"""Greater than every offset."""
ConfirmPolicy = Callable[["Log"], int]
"""Returns the confirm offset of a log."""


@mypyc_attr(allow_interpreted_subclasses=True)  # a subclass is not compiled
class Log(Protocol):
    """Contract of any log; `tests/engine/store/test_log.py` checks it.

    - `end_offset`: the offset after the last record (the greatest physical offset).
    - `last_timestamp`: that record's store time in ms, maintained by the writer.
    - `flushed_offset`: the synced offset, maintained by the syncing component. A log that `syncs_itself`
      moves it, and is not synced by others while it is open.
    - `opened_at`: the end of what earlier processes wrote.
    - `policy`: defines the confirm offset.
    - `newest`: bytes at the end that are assumed to be in memory.
    - `settled_offset`: records from here on were not confirmed when the log was opened, as replicas must
      agree.
    - `dirty_tail`: the error of a failed write, while bytes of it remain after `end_offset`.
    """

    files: FileQueue
    file_size: int
    newest: int
    opened_at: int
    end_offset: int
    flushed_offset: int
    settled_offset: int
    syncs_itself: bool
    last_timestamp: int
    policy: ConfirmPolicy
    dirty_tail: OSError | None

    @property
    def min_offset(self) -> int:
        """The first offset in the log. RocketMQ: `getMinOffset`."""

    @property
    def confirm_offset(self) -> int:
        """The offset up to which records are confirmed and visible to readers.

        RocketMQ: `getConfirmOffset`.
        """

    @property
    def record_size_max(self) -> int:
        """Size of the largest record that it can store."""

    def load(self, clean: bool) -> None:
        """Find the files, before `cut` sets their end; `clean` is True after a clean stop.

        Raises `CorruptFile` and `OSError`.
        """

    def drop_first_file(self) -> None:
        """Drop the oldest file; there are others. Raises `OSError`."""

    def cut(self, offset: int) -> None:
        """Truncate the log at `offset`, where the next record is written. RocketMQ: `truncateDirtyFiles`."""

    def reserve(self, size: int) -> int:
        """Return the offset for a record of `size` bytes, or for the records of one batch together.

        Raises `OSError` if there is no space, and `LogBusy`.
        """

    def write(self, data: bytes) -> None:
        """Write at the reserved offset. Raises `OSError`; then nothing has moved."""

    def write_raw(self, data: bytes) -> None:
        """Write bytes copied from another log, which end in the file they begin in. Raises as `write`.

        RocketMQ: `appendData`.
        """

    def read(self, offset: int, size: int, may_wait: bool = True) -> bytes | None:
        """Return `size` bytes of one file; None if they are not (or no longer) in the log.

        Raises `OSError`, and `ColdRead` without `may_wait` if the disk is needed.
        """

    def read_each(self, places: Sequence[tuple[int, int, int]], may_wait: bool = True) -> list[bytes | None]:
        """Return `read` of each (anything, offset, size); suits scattered records."""

    def borrow_each(
        self, places: Sequence[tuple[int, int, int]], may_wait: bool = True
    ) -> list[Record | None]:
        """Return what `read_each` does, as views of memory if possible; see `Record` for their lifetime."""

    def read_joined(self, places: Sequence[tuple[int, int, int]], may_wait: bool = True) -> bytes | None:
        """Return the bytes of `read_each`, concatenated; None if a record is not in the log (any more)."""

    def window(self, offset: int) -> tuple[Slices, int, int] | None:
        """Return the mapped bytes around an offset, with their begin and end in the log; None if unknown."""

    def ranges(self, places: Sequence[tuple[int, int, int]]) -> list[FileRange]:
        """Return the file ranges of each (anything, offset, size), except those that are not in the log."""

    def watch_dirty_tails(self, callback: Callable[[], None]) -> None:
        """Call back when a failed write has left bytes of it after `end_offset`."""

    def repair_tail(self) -> File:
        """Zero the tail left by a failed write; the caller syncs the file, then calls `tail_repaired`.

        Raises `OSError`. May run on another thread, as nothing is written meanwhile.
        """

    def tail_repaired(self) -> None:
        """Accept records again."""

    def reopen(self) -> None:
        """Reopen the files after the disk replaced them. Raises `OSError`."""


def written(log: Log) -> int:
    """Confirm written records, which survive the end of this process."""
    return log.end_offset


def flushed(log: Log) -> int:
    """Confirm records on stable storage."""
    return log.flushed_offset


class Agreement:
    """Confirms what replicas agree on: the part before `limit` of what the policy `base` confirms.

    All of that if `limit` is None.
    """

    def __init__(self, base: ConfirmPolicy) -> None:
        self._base = base
        self.limit: int | None = None

    def __call__(self, log: Log) -> int:
        confirmed, limit = self._base(log), self.limit
        return confirmed if limit is None or limit > confirmed else limit


def agreed_limit(log: Log) -> int | None:
    """Return the offset from which on readers see nothing, even if queues have it: a start dispatches all of
    a log.
    """
    policy = log.policy
    return policy.limit if isinstance(policy, Agreement) else None


def confirm_policy(options: StoreOptions) -> ConfirmPolicy:
    """Return the policy for the settings."""
    return flushed if options.flush_disk_type is FlushDiskType.SYNC_FLUSH else written


def record_at(log: Log, offset: int, may_wait: bool = True) -> bytes | None:
    """Return the record that starts at an offset, or None. See `Log.read` for `may_wait`.

    The offset is assumed to be that of a record.
    """
    start = log.read(offset, START.size, may_wait)
    if start is None:
        return None
    size, _magic = START.unpack(start)
    record = log.read(offset, size, may_wait) if size > BLANK_SIZE else None
    if record is None or int.from_bytes(record[28:36], "big") != offset:
        return None
    return record


def oldest_store_time(log: Log) -> int:
    """Return the store time in ms of the first record in the log; -1 if there is none."""
    return store_time(log, log.min_offset + log.files.framing.lead)


def store_time(log: Log, offset: int, may_wait: bool = True) -> int:
    """Return the store time in ms of the record at an offset; -1 if there is none.

    See `Log.read` for `may_wait`.
    """
    head = log.read(offset, STORE_TIME_HEAD_SIZE, may_wait)
    return -1 if head is None else store_timestamp(head)
