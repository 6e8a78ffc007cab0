"""The log of a broker in a DLedger group, as its store has it: entries, each with a record in it.

The member (`raft.member`) uses `entries`, and the store this. Puts of the broker are appended by the member,
which then leads. The store is notified of a leader's pushes, so that they are dispatched once they are
confirmed, that is, committed by the group. Truncated entries were never confirmed. A record's physical offset
is its own position, 48 bytes after the entry's. The member syncs the log. RocketMQ: `DLedgerCommitLog`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk, File
from mqgateway.engine.errors import CorruptFile, LogBusy, StoreUnavailable
from mqgateway.engine.message import Message, SysFlag
from mqgateway.engine.raft.files.entry import BLANK_SIZE, ENTRIES, HEAD_SIZE
from mqgateway.engine.raft.files.file_log import FileLog, UnsyncedEntries
from mqgateway.engine.raft.log import NO_INDEX, Entry
from mqgateway.engine.raft.quorum import AppendRefused, TermOpening
from mqgateway.engine.store.file_queue import FilePool, FileQueue
from mqgateway.engine.store.log import Log
from mqgateway.engine.store.log_on_files import LogOnFiles
from mqgateway.engine.store.message_store import MessageStore
from mqgateway.engine.store.record import encode, examine, record_size, sys_flag_for, topic_field

OPENING_TOPIC = "rmq_sys_dledger_term"
"""The topic of the record that opens a term, which is in no queue."""


class Appender(Protocol):
    """Appends to the group's log while this member leads."""

    def check(self) -> None:
        """Raise `AppendRefused` if entries are refused."""

    def append(self, body: bytes) -> None:
        """Append an entry. Raises `AppendRefused`."""


class LedgerLog(LogOnFiles):
    """See `Log`; `entries` exist once it is loaded. The log is made before its store, so that `serve` must be
    called before the first put.

    `committed` is the position up to which the group has committed it. Entries are in `data_folder`, by
    default in the member's folder; `older` must not contain files of a commit log.
    """

    entries: BrokerEntries
    _appender: Appender

    __slots__ = (
        "_appender",
        "_disk",
        "_folder",
        "_older",
        "committed",
        "entries",
        "on_cut",
        "on_record",
        "on_reset",
        "on_synced",
    )

    def __init__(
        self,
        disk: Disk,
        folder: str,
        file_size: int,
        newest: int,
        data_folder: str = "",
        older: str = "",
        remove: Callable[[str], None] | None = None,
    ) -> None:
        files = FileQueue(FilePool(disk, remove=remove), data_folder or f"{folder}/data", file_size, ENTRIES)
        super().__init__(files, newest, _committed)
        self._start = NO_INDEX
        self._disk = disk
        self._folder = folder
        self._older = older
        self.syncs_itself = True
        self.committed = 0
        self.on_record: Callable[[int], None] = _ignore
        self.on_cut: Callable[[int], None] = _ignore
        self.on_reset: Callable[[], None] = lambda: None
        self.on_synced: Callable[[], None] = lambda: None

    def serve(self, store: MessageStore, appender: Appender) -> None:
        """Notify this store of changes to the log, and append its records by `appender`."""
        self._appender = appender
        self.on_record, self.on_cut = store.raw.take, store.raw.rewind
        self.on_reset, self.on_synced = store.reset, store.log_synced

    def load(self, clean: bool) -> None:
        """Open the entries: bytes after them are cleared, and records from there on that were not noted as
        committed are not settled. Raises `StoreUnavailable` if there is another log.
        """
        if self._older and any(name.isdigit() for name in self._disk.listdir(self._older)):
            what = f"{self._older} holds the log that this broker had before it was in a DLedger group"
            raise StoreUnavailable(f"{what}: give the group a new folder (storePathRootDir)")
        self.entries = BrokerEntries(self, self._disk, self._folder, clean)
        self.end_offset = self.entries.end_position
        self.committed = self.settled_offset = self.entries.end_of(self.entries.committed_index)[0]

    def drop_first_file(self) -> None:
        """Drop the oldest file, and the index files that cover only it."""
        try:
            self.entries.drop_files(1)
        except CorruptFile as error:
            raise OSError(str(error)) from error

    def cut(self, offset: int) -> None:
        """Truncate after the last entry that ends at `offset` or before it."""
        entries = self.entries
        if offset < entries.end_position:
            FileLog.cut(entries, entries.last_before(offset))
            self.committed = min(self.committed, entries.end_position)
        self.end_offset = self.opened_at = entries.end_position
        self.flushed_offset = min(self.flushed_offset, self.end_offset)

    @property
    def record_size_max(self) -> int:
        """The largest record that any file can hold."""
        return self.file_size - HEAD_SIZE - BLANK_SIZE

    def reserve(self, size: int) -> int:
        """Return the position of the next record; see `Log`."""
        try:
            self._appender.check()
        except AppendRefused as refused:
            raise LogBusy(f"the group's log takes nothing now: {refused}") from None
        return self.entries.place(size) + HEAD_SIZE

    def write(self, data: bytes) -> None:
        """Append an entry with a record."""
        try:
            self._appender.append(data)
        except AppendRefused as refused:
            raise OSError(f"the group's log cannot be written: {refused}") from None

    def write_raw(self, data: bytes) -> None:
        """Never called: no master sends its log."""
        raise OSError("a DLedger log takes entries, not bytes")

    def repair_tail(self) -> File:
        """Never called: entries clear the rest of a failed write."""
        raise AssertionError

    def tail_repaired(self) -> None:
        """Never called, as `repair_tail`."""
        raise AssertionError

    def reopen(self) -> None:
        """Open the files again."""
        self.files.pool.clear()


def _ignore(_offset: int) -> None:
    return


def _committed(log: Log) -> int:
    assert isinstance(log, LedgerLog)
    return log.committed


class BrokerEntries(FileLog):
    """The entries of a broker's log, `owner`, which is notified of changes."""

    def __init__(self, owner: LedgerLog, disk: Disk, folder: str, clean: bool) -> None:
        self._owner = owner
        super().__init__(disk, folder, owner.file_size, is_whole=_is_record, data=owner.files, clean=clean)

    def append(self, term: int, body: bytes) -> Entry:
        """See `FileLog`."""
        entry = super().append(term, body)
        self._owner.end_offset = self.end_position
        return entry

    def append_entry(self, entry: Entry) -> None:
        """See `FileLog`."""
        super().append_entry(entry)
        self._owner.end_offset = self.end_position
        self._owner.on_record(entry.position + HEAD_SIZE)

    def cut(self, index: int) -> None:
        """See `FileLog`; the owner is notified even if that raises."""
        try:
            super().cut(index)
        finally:
            self._ends_at(self.end_position)

    def reset(self, index: int, position: int) -> None:
        """See `FileLog`."""
        super().reset(index, position)
        owner = self._owner
        owner.end_offset = owner.committed = owner.flushed_offset = position
        owner.on_reset()

    def _ends_at(self, position: int) -> None:
        owner = self._owner
        owner.end_offset = position
        owner.committed = min(owner.committed, position)
        owner.flushed_offset = min(owner.flushed_offset, self.synced_position)
        owner.on_cut(position)

    def note_committed(self, index: int) -> None:
        """See `FileLog`."""
        super().note_committed(index)
        self._owner.committed, _ = self.end_of(self.committed_index)

    def note_synced(self, done: UnsyncedEntries) -> None:
        """See `FileLog`."""
        super().note_synced(done)
        self._owner.flushed_offset = max(self._owner.flushed_offset, self.synced_position)
        self._owner.on_synced()


def _is_record(body: bytes, position: int) -> bool:
    return examine(body, 0, position, True) == len(body)


def opening(clock: Clock, host: bytes) -> TermOpening:
    """Return the opening of a leader's term: a record of a rolled-back transaction, so that no broker puts it
    into a queue. `host` is the broker's address as records hold it.
    """
    message = Message(OPENING_TOPIC, 0, b"", {}, 0, host, host, sys_flag=SysFlag.TRANSACTION_ROLLBACK)
    topic, flag = topic_field(OPENING_TOPIC, True), sys_flag_for(message)
    size = record_size(flag, 0, len(topic[1]), 0)

    def body(position: int) -> bytes:
        message.born_timestamp = now = clock.millis()
        return encode(message, b"", b"", topic, size, flag, 0, 0, position + HEAD_SIZE, now)

    return TermOpening(size, body)
