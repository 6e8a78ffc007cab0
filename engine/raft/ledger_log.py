"""The log of a broker in a DLedger group, as its store has it: entries, each with a record in it.

The member (`raft.member`) is handed `entries`, and the store this. What the broker puts is appended by the
member, as the leader's; what a leader pushes the store is told of, so that it is dispatched once it is
confirmed: that is, when the group has committed it. What is cut was confirmed by nobody. A record's physical
offset is its own place, 48 bytes behind the entry's. The member syncs it. Standard: `DLedgerCommitLog`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk, File
from mqgateway.engine.errors import CorruptFile, LogBusy, StoreUnavailable
from mqgateway.engine.message import Message, SysFlag
from mqgateway.engine.raft.files.entry import BLANK_SIZE, ENTRIES, HEAD_SIZE
from mqgateway.engine.raft.files.file_log import FileLog, Unsynced
from mqgateway.engine.raft.log import NO_INDEX, Entry
from mqgateway.engine.raft.quorum import AppendRefused, Opening
from mqgateway.engine.store.file_queue import FilePool, FileQueue
from mqgateway.engine.store.log import Log
from mqgateway.engine.store.log_on_files import LogOnFiles
from mqgateway.engine.store.message_store import MessageStore
from mqgateway.engine.store.record import encode, examine, record_size, sys_flag_for, topic_field

OPENING_TOPIC = "rmq_sys_dledger_term"
"""The topic of the record that opens a term, which is in no queue."""


class Appender(Protocol):
    """Who leads the group, or does not, and appends."""

    def check(self) -> None:
        """Raises `AppendRefused` while nothing is taken."""

    def append(self, body: bytes) -> None:
        """Append an entry. Raises `AppendRefused`."""


class LedgerLog(LogOnFiles):
    """See `Log`; `entries` are there once it is loaded, and `appender` must be given before anything is put.

    `committed` is up to where the group has committed it. Entries lie in `data_folder`, which is in the
    member's folder where it is not given; in `older` there must be no files of a commit log.
    """

    entries: BrokerEntries
    appender: Appender

    __slots__ = (
        "_disk",
        "_folder",
        "_older",
        "appender",
        "committed",
        "entries",
        "on_anew",
        "on_cut",
        "on_record",
        "on_synced",
    )

    def __init__(
        self, disk: Disk, folder: str, file_size: int, newest: int, data_folder: str = "", older: str = ""
    ) -> None:
        files = FileQueue(FilePool(disk), data_folder or f"{folder}/data", file_size, ENTRIES)
        super().__init__(files, newest, _committed)
        self._start = NO_INDEX
        self._disk = disk
        self._folder = folder
        self._older = older
        self.syncs_itself = True
        self.committed = 0
        self.on_record: Callable[[int], None] = _nobody
        self.on_cut: Callable[[int], None] = _nobody
        self.on_anew: Callable[[], None] = lambda: None
        self.on_synced: Callable[[], None] = lambda: None

    def serve(self, store: MessageStore) -> None:
        """Tell this store what others do to the log."""
        self.on_record, self.on_cut = store.raw.take, store.raw.retreat
        self.on_anew, self.on_synced = store.begin_anew, store.log_synced

    def load(self, clean: bool) -> None:
        """Open the entries: what is behind them is cleared, and records from there on that were not noted as
        committed are not settled. Raises `StoreUnavailable` where there is another log."""
        if self._older and any(name.isdigit() for name in self._disk.listdir(self._older)):
            what = f"{self._older} holds the log that this broker had before it was in a DLedger group"
            raise StoreUnavailable(f"{what}: give the group a new folder (storePathRootDir)")
        self.entries = BrokerEntries(self, self._disk, self._folder, clean)
        self.end_offset = self.entries.end_position
        self.committed = self.settled_offset = self.entries.end_of(self.entries.committed_index)[0]

    def drop_first_file(self) -> None:
        """Give up the oldest file, and what of the index is only about it."""
        try:
            self.entries.drop_files(1)
        except CorruptFile as error:
            raise OSError(str(error)) from error

    def cut(self, offset: int) -> None:
        """End where the last entry does that ends at `offset` or before it."""
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
        """Where the next record will lie; see `Log`."""
        try:
            self.appender.check()
        except AppendRefused as refused:
            raise LogBusy(f"the group's log takes nothing now: {refused}") from None
        return self.entries.place(size) + HEAD_SIZE

    def write(self, data: bytes) -> None:
        """Append an entry with a record."""
        try:
            self.appender.append(data)
        except AppendRefused as refused:
            raise OSError(f"the group's log cannot be written: {refused}") from None

    def write_raw(self, data: bytes) -> None:
        """Never asked for: no master sends its log."""
        raise OSError("a DLedger log takes entries, not bytes")

    def repair_tail(self) -> File:
        """Never asked for: entries clear what a failed write left."""
        raise AssertionError

    def tail_repaired(self) -> None:
        """As `repair_tail`."""
        raise AssertionError

    def reopen(self) -> None:
        """Open the files anew."""
        self.files.pool.clear()


def _nobody(_offset: int) -> None:
    return


def _committed(log: Log) -> int:
    assert isinstance(log, LedgerLog)
    return log.committed


class BrokerEntries(FileLog):
    """The entries of a broker's log, `owner`, which hears of what is done to them."""

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
        """See `FileLog`; raises as that does, and the owner has heard of it all the same."""
        try:
            super().cut(index)
        finally:
            self._ends_at(self.end_position)

    def begin_anew(self, index: int, position: int) -> None:
        """See `FileLog`."""
        super().begin_anew(index, position)
        owner = self._owner
        owner.end_offset = owner.committed = owner.flushed_offset = position
        owner.on_anew()

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

    def note_synced(self, done: Unsynced) -> None:
        """See `FileLog`."""
        super().note_synced(done)
        self._owner.flushed_offset = max(self._owner.flushed_offset, self.synced_position)
        self._owner.on_synced()


def _is_record(body: bytes, position: int) -> bool:
    return examine(body, 0, position, True) == len(body)


def opening(clock: Clock, host: bytes) -> Opening:
    """What a leader opens its term with: a record that is rolled back before it was anything, so that no
    broker puts it into a queue. `host` is the broker's address as records hold it."""
    message = Message(OPENING_TOPIC, 0, b"", {}, 0, host, host, sys_flag=SysFlag.TRANSACTION_ROLLBACK)
    topic, flag = topic_field(OPENING_TOPIC, True), sys_flag_for(message)
    size = record_size(flag, 0, len(topic[1]), 0)

    def body(position: int) -> bytes:
        message.born_timestamp = now = clock.millis()
        return encode(message, b"", b"", topic, size, flag, 0, 0, position + HEAD_SIZE, now)

    return Opening(size, body)
