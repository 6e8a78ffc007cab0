"""The commit log: the records of all topics in one sequence. It is the source of truth for all derived files.

A record never crosses a file border. If it does not fit with 8 bytes to spare, the file ends with a blank and
the record begins the next file. An append is `reserve(size)`, which returns the record's offset, then
`write(data)`, which moves `end_offset`. A failed write moves nothing, but leaves a dirty tail. The tail must
be zeroed durably (`repair_tail`) before the next write: a later power cut could mix old and new bytes.
RocketMQ: `CommitLog`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mqgateway.engine.disk import Disk, File
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.store.file_queue import FilePool, FileQueue, clear_tail
from mqgateway.engine.store.log import Agreement, ConfirmPolicy, confirm_policy, written
from mqgateway.engine.store.log_on_files import LogOnFiles
from mqgateway.engine.store.record import BLANK_SIZE, blank

_NEWEST_SHARE: Final = 32
"""Share (1/n) of the machine's memory that is assumed to hold the newest bytes: docs/decisions/0006."""


class CommitLog(LogOnFiles):
    """Appends and reads bytes; see `Log`. `policy` defines the confirm offset."""

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
        """Find the files. After an unclean stop, short files are extended to their length."""
        self.files.load(repair=not clean)

    def cut(self, offset: int) -> None:
        """Truncate the log at `offset`, where the next record is written."""
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
        """Reopen the files after the disk replaced them. Raises `OSError`."""
        self.files.pool.clear()
        if self._file is not None:
            self._file = self.files.file(self._start)

    @property
    def record_size_max(self) -> int:
        """Size of the largest record that fits in a file."""
        return self.file_size - BLANK_SIZE

    def reserve(self, size: int) -> int:
        """Return the offset for a record of `size` bytes, or for the records of one batch together.

        Rolls to the next file if needed. Raises `OSError` if that cannot be created.
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
            # The name of the last file is not synced yet: after a power cut the next one must not exist
            # without it.
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
        """Write at the reserved offset. Raises `OSError`; then nothing has moved."""
        file = self._file
        assert file is not None
        try:
            file.write(self.end_offset - self._start, data)
        except OSError as error:
            self._leave_dirty(error)
            raise
        self.end_offset += len(data)

    def write_raw(self, data: bytes) -> None:
        """Write bytes copied from another log, which end in the file they begin in. Raises as `write`."""
        if self.end_offset == self._end:
            self._roll()
        self.write(data)

    def _leave_dirty(self, error: OSError) -> None:
        self.dirty_tail = error
        self._end = self.end_offset  # so that the next record needs a new file, and is refused
        for callback in self._dirty_tail_watchers:
            callback()

    def repair_tail(self) -> File:
        """Zero the tail left by a failed write; the caller syncs the file, then calls `tail_repaired`.

        Raises `OSError`. May run on another thread, as nothing is written meanwhile.
        """
        assert self._file is not None
        clear_tail(self._file, self.end_offset - self._start, self.file_size)
        return self._file

    def tail_repaired(self) -> None:
        """Accept records again."""
        self.dirty_tail = None
        self._end = self._start + self.file_size


def newest_bytes(options: StoreOptions, memory: int) -> int:
    """Return the number of newest log bytes that are assumed to be in memory, given the machine's memory."""
    return memory // _NEWEST_SHARE if options.newest_log_bytes < 0 else options.newest_log_bytes


def commit_log_of(
    options: StoreOptions,
    disk: Disk,
    root: str,
    memory: int,
    remove: Callable[[str], None],
    agreement: Agreement | None,
) -> CommitLog:
    """Return the commit log of a store in a directory, on a machine with `memory` bytes. `remove` deletes old
    files. Without an `agreement` records are confirmed as the settings say."""
    return CommitLog(
        FilePool(disk, remove=remove),
        options.store_path_commit_log or f"{root}/commitlog",
        options.mapped_file_size_commit_log,
        newest_bytes(options, memory),
        agreement or confirm_policy(options),
    )
