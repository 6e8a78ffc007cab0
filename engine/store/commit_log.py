"""The commit log: every record of every topic, one after another. The truth; all else is derived from it.

A record never crosses a file border: where it does not fit with 8 bytes to spare, the file ends with a
blank and the record opens the next file. Appending is `reserve(size)`, which gives the record's place, then
`write(data)`, which moves `position`. A write that fails moves nothing; what it left behind must be made
zero again, for good (`wash`), before anything else is written there: a later power cut could mix the two.
Standard: `CommitLog`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mqgateway.engine.disk import File, Slices
from mqgateway.engine.store.cold import ColdRead, Piece
from mqgateway.engine.store.file_queue import FilePool, FileQueue, clear_tail
from mqgateway.engine.store.record import BLANK_SIZE, START, STORE_TIME_HEAD_SIZE, blank, store_timestamp


def _nothing() -> None:
    return


class CommitLog:
    """Appends and reads bytes.

    `position` is the offset after the last record (the greatest physical offset), `last_timestamp` that
    record's store time in ms, kept by who writes it; `durable` is up to where who syncs has come, `opened_at`
    up to where others have written. The
    `newest` bytes are taken to be in memory. `stain` is what went wrong while a failed write is
    not washed away; `on_stain` is told.
    """

    __slots__ = (
        "_end",
        "_file",
        "_start",
        "durable",
        "file_size",
        "files",
        "last_timestamp",
        "newest",
        "on_stain",
        "opened_at",
        "position",
        "stain",
    )

    def __init__(self, pool: FilePool, directory: str, file_size: int, newest: int = 0) -> None:
        self.files = FileQueue(pool, directory, file_size)
        self.newest = newest
        self.file_size = file_size
        self.position = 0
        self.durable = self.opened_at = 0
        self.last_timestamp = 0
        self.stain: OSError | None = None
        self.on_stain: Callable[[], None] = _nothing
        self._file: File | None = None
        self._start = 0
        self._end = 0

    def open_at(self, position: int) -> None:
        """Go on writing at `position`; what lies after it is forgotten."""
        self.files.cut(position)
        self.position = self.opened_at = position
        if self.files.starts and position < self.files.end:
            self._start = self.files.starts[-1]
            self._file = self.files.file(self._start)
            self._end = self._start + self.file_size
        else:
            self._start = self._end = position
            self._file = None

    def reopen(self) -> None:
        """Open the files anew: the disk gave others in their place. Raises `OSError`."""
        self.files.pool.clear()
        if self._file is not None:
            self._file = self.files.file(self._start)

    @property
    def min_offset(self) -> int:
        """The first offset still there. Standard: `getMinPhyOffset`."""
        return self.files.starts[0] if self.files.starts else self.position

    @property
    def record_size_max(self) -> int:
        """The largest record that any file can hold."""
        return self.file_size - BLANK_SIZE

    def reserve(self, size: int) -> int:
        """Where a record (or the records of one batch, together) of `size` bytes will lie.

        Rolls to the next file if needed; `OSError` when that cannot be made.
        """
        if self.position + size + BLANK_SIZE > self._end:
            self._roll()
        return self.position

    def _roll(self) -> None:
        if self.stain:
            raise self.stain
        start = self._end if self.position < self._end else self.position
        starts = self.files.starts
        if starts and self.durable <= starts[-1]:
            # Nobody has synced the name of the last file yet: a power cut must not leave the next one alone.
            self.files.disk.sync_dir(self.files.directory)
        file = self.files.create(start)
        if self.position < self._end:
            assert self._file is not None
            try:
                self._file.write(self.position - self._start, blank(self._end - self.position))
            except OSError as error:
                self._stained(error)
                raise
        self._file = file
        self._start = self.position = start
        self._end = start + self.file_size

    def write(self, data: bytes) -> None:
        """Write at the reserved position. Raises `OSError`, and then nothing has moved."""
        file = self._file
        assert file is not None
        try:
            file.write(self.position - self._start, data)
        except OSError as error:
            self._stained(error)
            raise
        self.position += len(data)

    def write_raw(self, data: bytes) -> None:
        """Write bytes of another's log, which end in the file they begin in; raises as `write`."""
        if self.position == self._end:
            self._roll()
        self.write(data)

    def _stained(self, error: OSError) -> None:
        self.stain = error
        self._end = self.position  # so that the next record asks for room, and is refused
        self.on_stain()

    def wash(self) -> File:
        """Make what a failed write left behind zeros; the file must be synced, then `washed` follows.

        Raises `OSError`. May run elsewhere, as nothing is written meanwhile.
        """
        assert self._file is not None
        clear_tail(self._file, self.position - self._start, self.file_size)
        return self._file

    def washed(self) -> None:
        """Take records again."""
        self.stain = None
        self._end = self._start + self.file_size

    def read(self, offset: int, size: int) -> bytes | None:
        """`size` bytes of one file, or None when they are not (or no longer) in the log."""
        if offset + size > self.position or offset < 0:
            return None
        start = offset - offset % self.file_size
        if start == self._start:
            file = self._file
            assert file is not None
        elif not self.files.starts or start < self.files.starts[0] or offset + size > start + self.file_size:
            return None
        else:
            file = self.files.file(start)
        if self.files.pool.may_wait or offset >= self.position - self.newest:
            data = file.read(offset - start, size)
            return data if len(data) == size else None
        ready = file.read_ready(offset - start, size)
        if ready is None:
            raise ColdRead(offset, [(file, offset - start, size)])
        return ready

    def read_each(self, places: Sequence[tuple[int, int, int]]) -> list[bytes | None]:
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
                found.append(self.read(offset, size))
            except ColdRead:
                raise ColdRead(offset, self.pieces(places[number:])) from None
        return found

    def _window(self, offset: int) -> tuple[Slices, int, int] | None:
        """What is in memory around an offset, and where in the log that begins and ends."""
        files = self.files
        start = offset - offset % self.file_size
        if not 0 <= offset < self.position or start not in files.starts:
            return None
        length = min(self.position - start, self.file_size)
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

    def record_at(self, offset: int) -> bytes | None:
        """The record that starts at an offset, or None. The offset is believed to be a record's."""
        start = self.read(offset, START.size)
        if start is None:
            return None
        size, _magic = START.unpack(start)
        record = self.read(offset, size) if size > BLANK_SIZE else None
        if record is None or int.from_bytes(record[28:36], "big") != offset:
            return None
        return record

    def store_time(self, offset: int) -> int:
        """Store time in ms of the record at an offset; -1 when there is none."""
        head = self.read(offset, STORE_TIME_HEAD_SIZE)
        return -1 if head is None else store_timestamp(head)

    def next_file(self, offset: int) -> int:
        """Where the file after the one with `offset` starts. Standard: `rollNextFile`."""
        return offset + self.file_size - offset % self.file_size

    def files_between(self, begin: int, end: int) -> list[File]:
        """The open files that hold bytes of [begin, end)."""
        first = self.files.start_of(begin)
        return [self.files.file(start) for start in self.files.starts if first <= start < end]
