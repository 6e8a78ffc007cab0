"""A log as the store sees it: records one behind another, each at its physical offset.

`CommitLog` is one; `MessageStore` is handed it, so that another, which many brokers agree on, can stand in
its place. Who writes asks `reserve` for the place of a record, which is part of the record, then `write`s it.
A log tells how far it goes (`end_offset`), how far it is on stable storage (`flushed_offset`) and how far it
is confirmed (`confirm_offset`): readers see nothing behind that. It is kept in files of one length; others
sync them, look through them after a crash and delete the old ones.

What confirms a record is a policy: that it is written, or flushed; a log with replicas that have to agree has
one of its own. Standard: `CommitLog`, `DLedgerCommitLog`, `getConfirmOffset`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from mypy_extensions import mypyc_attr

from mqgateway.engine.disk import File, Slices
from mqgateway.engine.options import FlushDiskType, StoreOptions
from mqgateway.engine.store.cold import Piece
from mqgateway.engine.store.file_queue import FileQueue
from mqgateway.engine.store.record import BLANK_SIZE, START, STORE_TIME_HEAD_SIZE, store_timestamp
from mqgateway.engine.store.results import Record

ENDLESS: Final = 1 << 63
"""Behind every offset."""
ConfirmPolicy = Callable[["Log"], int]
"""Up to where a log is confirmed."""


@mypyc_attr(allow_interpreted_subclasses=True)  # one that is not compiled is among them
class Log(Protocol):
    """What any log can do; `tests/engine/store/test_log.py` says what each has to hold to.

    `end_offset` is the offset after the last record (the greatest physical offset), `last_timestamp` that
    record's store time in ms, kept by who writes it; `flushed_offset` is up to where who syncs has come,
    `opened_at` up to where others have written, `policy` what confirms a record. The `newest` bytes are
    taken to be in memory. Records from `settled_offset` on were not confirmed when the log was opened, as
    others have to agree on them. One that `syncs_itself` moves `flushed_offset`, and nobody else syncs it
    while it is open. `dirty_tail` is what went wrong while a failed write has left something behind
    `end_offset`; `on_dirty_tail` is told.
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
    on_dirty_tail: Callable[[], None]

    @property
    def min_offset(self) -> int:
        """The first offset still there. Standard: `getMinOffset`."""

    @property
    def confirm_offset(self) -> int:
        """Up to where records are confirmed, and may be seen. Standard: `getConfirmOffset`."""

    @property
    def record_size_max(self) -> int:
        """The largest record that it can hold."""

    def load(self, clean: bool) -> None:
        """Find the files, before `cut` says where they end; `clean` is whether the last stop was. Raises
        `CorruptFile` and `OSError`."""

    def drop_first_file(self) -> None:
        """Give up the oldest file; there are others. Raises `OSError`."""

    def cut(self, offset: int) -> None:
        """Go on writing at `offset`; what lies after it is forgotten. Standard: `truncateDirtyFiles`."""

    def reserve(self, size: int) -> int:
        """Where a record (or the records of one batch, together) of `size` bytes will lie. Raises `OSError`
        when there is no room, and `LogBusy`."""

    def write(self, data: bytes) -> None:
        """Write at the reserved place. Raises `OSError`, and then nothing has moved."""

    def write_raw(self, data: bytes) -> None:
        """Write bytes of another's log, which end in the file they begin in; raises as `write`. Standard:
        `appendData`."""

    def read(self, offset: int, size: int, may_wait: bool = True) -> bytes | None:
        """`size` bytes of one file, or None when they are not (or no longer) in the log. Raises `OSError`,
        and `ColdRead` for who may not wait for the disk."""

    def read_each(self, places: Sequence[tuple[int, int, int]], may_wait: bool = True) -> list[bytes | None]:
        """`read` for each (anything, offset, size): the way for records that lie apart."""

    def borrow_each(
        self, places: Sequence[tuple[int, int, int]], may_wait: bool = True
    ) -> list[Record | None]:
        """What `read_each` gives, as views where that is in memory; see `Record` for how long they last."""

    def read_joined(self, places: Sequence[tuple[int, int, int]], may_wait: bool = True) -> bytes | None:
        """What `read_each` gives, back to back; None when something is not (or no longer) in the log."""

    def window(self, offset: int) -> tuple[Slices, int, int] | None:
        """What is in memory around an offset, and where in the log that begins and ends; None where that is
        not known."""

    def pieces(self, places: Sequence[tuple[int, int, int]]) -> list[Piece]:
        """Where each (anything, offset, size) lies in files; those that are not in the log are left out."""

    def repair_tail(self) -> File:
        """Make what a failed write left behind zeros; the file must be synced, then `tail_repaired` follows.

        Raises `OSError`. May run elsewhere, as nothing is written meanwhile.
        """

    def tail_repaired(self) -> None:
        """Take records again."""

    def reopen(self) -> None:
        """Open the files anew: the disk gave others in their place. Raises `OSError`."""


def written(log: Log) -> int:
    """What is written is confirmed: it outlives this process."""
    return log.end_offset


def flushed(log: Log) -> int:
    """What is on stable storage is confirmed."""
    return log.flushed_offset


class Agreement:
    """What replicas agree on is confirmed: what is before `limit`, of what the policy `base` confirms;
    None: all of that."""

    def __init__(self, base: ConfirmPolicy) -> None:
        self._base = base
        self.limit: int | None = None

    def __call__(self, log: Log) -> int:
        confirmed, limit = self._base(log), self.limit
        return confirmed if limit is None or limit > confirmed else limit


def agreed_limit(log: Log) -> int | None:
    """What no reader may see from here on, although queues may have it: a start puts all of a log there."""
    policy = log.policy
    return policy.limit if isinstance(policy, Agreement) else None


def confirm_policy(options: StoreOptions) -> ConfirmPolicy:
    """The policy that the settings ask for."""
    return flushed if options.flush_disk_type is FlushDiskType.SYNC_FLUSH else written


def record_at(log: Log, offset: int, may_wait: bool = True) -> bytes | None:
    """The record that starts at an offset, or None. The offset is believed to be a record's. See `Log.read`
    for `may_wait`."""
    start = log.read(offset, START.size, may_wait)
    if start is None:
        return None
    size, _magic = START.unpack(start)
    record = log.read(offset, size, may_wait) if size > BLANK_SIZE else None
    if record is None or int.from_bytes(record[28:36], "big") != offset:
        return None
    return record


def oldest_store_time(log: Log) -> int:
    """Store time in ms of the first record still there; -1 when there is none."""
    return store_time(log, log.min_offset + log.files.framing.lead)


def store_time(log: Log, offset: int, may_wait: bool = True) -> int:
    """Store time in ms of the record at an offset; -1 when there is none. See `Log.read` for `may_wait`."""
    head = log.read(offset, STORE_TIME_HEAD_SIZE, may_wait)
    return -1 if head is None else store_timestamp(head)
