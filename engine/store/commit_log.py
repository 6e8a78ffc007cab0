"""The commit log: every record of every topic, one after another. The truth; all else is derived from it.

A record never crosses a file border: where it does not fit with 8 bytes to spare, the file ends with a
blank and the record opens the next file. Appending is `reserve(size)`, which gives the record's place, then
`write(data)`, which moves `end_offset`. A write that fails moves nothing; what it left behind, a dirty tail,
must be made zero again, for good (`repair_tail`), before anything else is written there: a later power cut
could mix the two. Standard: `CommitLog`.
"""

from __future__ import annotations

from typing import Final

from mqgateway.engine.disk import Disk, File
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.store.file_queue import FilePool, FileQueue, clear_tail
from mqgateway.engine.store.log import ConfirmPolicy, confirm_policy, written
from mqgateway.engine.store.log_on_files import LogOnFiles
from mqgateway.engine.store.record import BLANK_SIZE, blank

_NEWEST_SHARE: Final = 32
"""The part of the machine's memory that is taken to hold the newest of the log: docs/decisions/0006."""


class CommitLog(LogOnFiles):
    """Appends and reads bytes; see `Log`. `policy` says how far they are confirmed."""

    __slots__ = ("_end",)

    def __init__(
        self,
        pool: FilePool,
        directory: str,
        file_size: int,
        newest: int = 0,
        policy: ConfirmPolicy = written,
    ) -> None:
        super().__init__(FileQueue(pool, directory, file_size), newest, policy)
        self._end = 0

    def load(self, clean: bool) -> None:
        """Find the files; after an unclean stop those that were cut short get their length back."""
        self.files.load(repair=not clean)

    def cut(self, offset: int) -> None:
        """Go on writing at `offset`; what lies after it is forgotten."""
        self.files.cut(offset)
        self.end_offset = self.opened_at = offset
        self.flushed_offset = min(self.flushed_offset, offset)
        if self.files.starts and offset < self.files.end:
            self._start = self.files.starts[-1]
            self._file = self.files.file(self._start)
            self._end = self._start + self.file_size
        else:
            self._start = self._end = offset
            self._file = None

    def reopen(self) -> None:
        """Open the files anew: the disk gave others in their place. Raises `OSError`."""
        self.files.pool.clear()
        if self._file is not None:
            self._file = self.files.file(self._start)

    @property
    def record_size_max(self) -> int:
        """The largest record that any file can hold."""
        return self.file_size - BLANK_SIZE

    def reserve(self, size: int) -> int:
        """Where a record (or the records of one batch, together) of `size` bytes will lie.

        Rolls to the next file if needed; `OSError` when that cannot be made.
        """
        if self.end_offset + size + BLANK_SIZE > self._end:
            self._roll()
        return self.end_offset

    def _roll(self) -> None:
        if self.dirty_tail:
            raise self.dirty_tail
        start = self._end if self.end_offset < self._end else self.end_offset
        starts = self.files.starts
        if starts and self.flushed_offset <= starts[-1]:
            # Nobody has synced the name of the last file yet: a power cut must not leave the next one alone.
            self.files.disk.sync_dir(self.files.directory)
        file = self.files.create(start)
        if self.end_offset < self._end:
            assert self._file is not None
            try:
                self._file.write(self.end_offset - self._start, blank(self._end - self.end_offset))
            except OSError as error:
                self._leave_dirty(error)
                raise
        self._file = file
        self._start = self.end_offset = start
        self._end = start + self.file_size

    def write(self, data: bytes) -> None:
        """Write at the reserved position. Raises `OSError`, and then nothing has moved."""
        file = self._file
        assert file is not None
        try:
            file.write(self.end_offset - self._start, data)
        except OSError as error:
            self._leave_dirty(error)
            raise
        self.end_offset += len(data)

    def write_raw(self, data: bytes) -> None:
        """Write bytes of another's log, which end in the file they begin in; raises as `write`."""
        if self.end_offset == self._end:
            self._roll()
        self.write(data)

    def _leave_dirty(self, error: OSError) -> None:
        self.dirty_tail = error
        self._end = self.end_offset  # so that the next record asks for room, and is refused
        self.on_dirty_tail()

    def repair_tail(self) -> File:
        """Make what a failed write left behind zeros; the file must be synced, then `tail_repaired` follows.

        Raises `OSError`. May run elsewhere, as nothing is written meanwhile.
        """
        assert self._file is not None
        clear_tail(self._file, self.end_offset - self._start, self.file_size)
        return self._file

    def tail_repaired(self) -> None:
        """Take records again."""
        self.dirty_tail = None
        self._end = self._start + self.file_size


def newest_bytes(options: StoreOptions, memory: int) -> int:
    """How many of a log's last bytes are taken to be in memory, on a machine with so many bytes of it."""
    return memory // _NEWEST_SHARE if options.newest_log_bytes < 0 else options.newest_log_bytes


def commit_log_of(options: StoreOptions, disk: Disk, root: str, memory: int) -> CommitLog:
    """The commit log of a store in a folder, on a machine with so many bytes of memory."""
    return CommitLog(
        FilePool(disk),
        options.store_path_commit_log or f"{root}/commitlog",
        options.mapped_file_size_commit_log,
        newest_bytes(options, memory),
        confirm_policy(options),
    )
