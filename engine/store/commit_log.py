"""The commit log: every record of every topic, one after another. The truth; all else is derived from it.

A record never crosses a file border: where it does not fit with 8 bytes to spare, the file ends with a
blank and the record opens the next file. Appending is `reserve(size)`, which gives the record's place, then
`write(data)`, which moves `end_offset`. A write that fails moves nothing; what it left behind, a dirty tail,
must be made zero again, for good (`repair_tail`), before anything else is written there: a later power cut
could mix the two. Standard: `CommitLog`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mqgateway.engine.disk import Disk, File, Slices
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.store.cold import ColdRead, Piece
from mqgateway.engine.store.file_queue import FilePool, FileQueue, clear_tail
from mqgateway.engine.store.log import ConfirmPolicy, Log, confirm_policy, written
from mqgateway.engine.store.record import BLANK_SIZE, blank

_NEWEST_SHARE = 32
"""The part of the machine's memory that is taken to hold the newest of the log: docs/decisions/0006."""


def _nothing() -> None:
    return


class CommitLog(Log):
    """Appends and reads bytes; see `Log`. `policy` says how far they are confirmed."""

    __slots__ = (
        "_end",
        "_file",
        "_start",
        "dirty_tail",
        "end_offset",
        "file_size",
        "files",
        "flushed_offset",
        "last_timestamp",
        "newest",
        "on_dirty_tail",
        "opened_at",
        "policy",
    )

    def __init__(
        self,
        pool: FilePool,
        directory: str,
        file_size: int,
        newest: int = 0,
        policy: ConfirmPolicy = written,
    ) -> None:
        self.files = FileQueue(pool, directory, file_size)
        self.newest = newest
        self.file_size = file_size
        self.end_offset = 0
        self.flushed_offset = self.opened_at = 0
        self.last_timestamp = 0
        self.dirty_tail: OSError | None = None
        self.on_dirty_tail: Callable[[], None] = _nothing
        self.policy = policy
        self._file: File | None = None
        self._start = 0
        self._end = 0

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
    def min_offset(self) -> int:
        """The first offset still there. Standard: `getMinPhyOffset`."""
        return self.files.starts[0] if self.files.starts else self.end_offset

    @property
    def confirm_offset(self) -> int:
        """Up to where records are confirmed by the policy. Standard: `getConfirmOffset`."""
        return self.policy(self)

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

    def read(self, offset: int, size: int, may_wait: bool = True) -> bytes | None:
        """`size` bytes of one file, or None when they are not (or no longer) in the log."""
        if offset + size > self.end_offset or offset < 0:
            return None
        start = offset - offset % self.file_size
        if start == self._start:
            file = self._file
            assert file is not None
        elif not self.files.starts or start < self.files.starts[0] or offset + size > start + self.file_size:
            return None
        else:
            file = self.files.file(start)
        if may_wait or offset >= self.end_offset - self.newest:
            data = file.read(offset - start, size)
            return data if len(data) == size else None
        ready = file.read_ready(offset - start, size)
        if ready is None:
            raise ColdRead(offset, [(file, offset - start, size)])
        return ready

    def read_each(self, places: Sequence[tuple[int, int, int]], may_wait: bool = True) -> list[bytes | None]:
        """`read` for each (anything, offset, size): the way for records that lie apart."""
        found: list[bytes | None] = []
        buffer: Slices | None = None
        begin = end = 0
        for number, (_, offset, size) in enumerate(places):
            if buffer is None or not begin <= offset <= end - size:
                window = self._window(offset)
                if window is not None:
                    buffer, begin, end = window
            if buffer is not None and begin <= offset <= end - size:
                found.append(buffer[offset - begin : offset - begin + size])
                continue
            try:
                found.append(self.read(offset, size, may_wait))
            except ColdRead:
                raise ColdRead(offset, self.pieces(places[number:])) from None
        return found

    def _window(self, offset: int) -> tuple[Slices, int, int] | None:
        """What is in memory around an offset, and where in the log that begins and ends."""
        files = self.files
        start = offset - offset % self.file_size
        if not 0 <= offset < self.end_offset or start not in files.starts:
            return None
        length = min(self.end_offset - start, self.file_size)
        place, windows = (files.directory, start), files.pool.windows
        window = windows.get(place, files.file(start), offset - start, length, self.file_size)
        return None if window is None else (window[0], start + window[1], start + window[2])

    def pieces(self, places: Sequence[tuple[int, int, int]]) -> list[Piece]:
        """Where each (anything, offset, size) lies; those that are not in the log are left out."""
        starts, first = self.files.starts, self.min_offset
        return [
            (self.files.file(start), offset - start, size)
            for _, offset, size in places
            if first <= offset and (start := self.files.start_of(offset)) in starts
        ]


def commit_log_of(options: StoreOptions, disk: Disk, root: str, memory: int) -> CommitLog:
    """The commit log of a store in a folder, on a machine with so many bytes of memory."""
    newest = memory // _NEWEST_SHARE if options.newest_log_bytes < 0 else options.newest_log_bytes
    return CommitLog(
        FilePool(disk),
        options.store_path_commit_log or f"{root}/commitlog",
        options.mapped_file_size_commit_log,
        newest,
        confirm_policy(options),
    )
