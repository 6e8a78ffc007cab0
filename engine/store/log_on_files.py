"""The read side of a log in files, which does not depend on the writer.

`_file` is the open file that starts at `_start`, where records are being written; -1 if the subclass does not
use it. RocketMQ: `CommitLog.getMessage`, `DLedgerCommitLog.getMessage`.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Final

from mypy_extensions import mypyc_attr

from mqgateway.engine.disk import File, Slices
from mqgateway.engine.extension import native
from mqgateway.engine.store.cold import ColdRead, FileRange
from mqgateway.engine.store.file_queue import FileQueue
from mqgateway.engine.store.log import ENDLESS, ConfirmPolicy, Log
from mqgateway.engine.store.results import Record

_OFFSET: Final = itemgetter(1)
_SIZE: Final = itemgetter(2)


def gather(
    buffer: Slices, begin: int, end: int, places: Sequence[tuple[int, int, int]], number: int
) -> tuple[bytes, int]:
    """Return the concatenated bytes at `places`, starting at `number`, and their count.

    Stops at the first place that is not within [begin, end), the range of the buffer.
    """
    if native is not None:
        gathered = native.gather(buffer, begin, end, places, number)
        if gathered is not None:
            return gathered
    slices = []
    for _, offset, size in places[number:]:
        if not begin <= offset <= offset + size <= end:
            break
        slices.append(buffer[offset - begin : offset - begin + size])
    return b"".join(slices), len(slices)


@mypyc_attr(allow_interpreted_subclasses=True)  # a group's log is one, and is not compiled
class LogOnFiles(Log):
    """Reads records of `files`; the last `newest` bytes without a check that they are in memory.

    See `Log`.
    """

    __slots__ = (
        "_dirty_tail_watchers",
        "_file",
        "_start",
        "dirty_tail",
        "end_offset",
        "file_size",
        "files",
        "flushed_offset",
        "last_timestamp",
        "newest",
        "opened_at",
        "policy",
        "settled_offset",
        "syncs_itself",
    )

    def __init__(self, files: FileQueue, newest: int, policy: ConfirmPolicy) -> None:
        self.files = files
        self.newest = newest
        self.file_size = files.file_size
        self.end_offset = 0
        self.flushed_offset = self.opened_at = 0
        self.settled_offset = ENDLESS
        self.syncs_itself = False
        self.last_timestamp = 0
        self.dirty_tail: OSError | None = None
        self._dirty_tail_watchers: list[Callable[[], None]] = []
        self.policy = policy
        self._file: File | None = None
        self._start = 0

    def watch_dirty_tails(self, callback: Callable[[], None]) -> None:
        """See `Log`."""
        self._dirty_tail_watchers.append(callback)

    @property
    def min_offset(self) -> int:
        """The first offset in the log. RocketMQ: `getMinPhyOffset`."""
        return self.files.starts[0] if self.files.starts else self.end_offset

    @property
    def confirm_offset(self) -> int:
        """The offset up to which the policy confirms records. RocketMQ: `getConfirmOffset`."""
        return self.policy(self)

    def drop_first_file(self) -> None:
        """Drop the oldest file; there are others."""
        self.files.drop_first(1)

    def read(self, offset: int, size: int, may_wait: bool = True) -> bytes | None:
        """Return `size` bytes of one file; None if they are not (or no longer) in the log."""
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
        """Return `read` of each (anything, offset, size); suits scattered records."""
        found: list[bytes | None] = []
        buffer: Slices | None = None
        begin = end = 0
        if len(places) > 1:
            first, last = min(places, key=_OFFSET)[1], max(places, key=_OFFSET)[1]
            window = self.window(first)
            if window is not None:
                buffer, begin, end = window
                if begin <= first and last + max(places, key=_SIZE)[2] <= end:  # most are close together
                    slices = None if native is None else native.slices(buffer, begin, places)
                    if slices is not None:
                        return slices
                    return [buffer[offset - begin : offset - begin + size] for _, offset, size in places]
        for number, (_, offset, size) in enumerate(places):
            if buffer is None or not begin <= offset <= end - size:
                window = self.window(offset)
                if window is not None:
                    buffer, begin, end = window
            if buffer is not None and begin <= offset <= end - size:
                found.append(buffer[offset - begin : offset - begin + size])
            else:
                found.append(self._read_one(places, number, may_wait))
        return found

    def borrow_each(
        self, places: Sequence[tuple[int, int, int]], may_wait: bool = True
    ) -> list[Record | None]:
        """See `Log`."""
        found: list[Record | None] = []
        view: memoryview | None = None
        begin = end = 0
        for number, (_, offset, size) in enumerate(places):
            if not begin <= offset < end:
                view, begin, end = self._view(offset)
            if view is not None and begin <= offset <= end - size:
                found.append(view[offset - begin : offset - begin + size])
            else:
                found.append(self._read_one(places, number, may_wait))
        return found

    def _read_one(self, places: Sequence[tuple[int, int, int]], number: int, may_wait: bool) -> bytes | None:
        """Return `read` of one of several places; `ColdRead` has the ranges of it and of all after it."""
        _, offset, size = places[number]
        try:
            return self.read(offset, size, may_wait)
        except ColdRead:
            raise ColdRead(offset, self.ranges(places[number:])) from None

    def _view(self, offset: int) -> tuple[memoryview | None, int, int]:
        """Return the result of `window` as a view; None if it is not real memory."""
        window = self.window(offset)
        if window is None or not isinstance(window[0], mmap.mmap):
            return None, 0, 0
        return memoryview(window[0]), window[1], window[2]

    def read_joined(self, places: Sequence[tuple[int, int, int]], may_wait: bool = True) -> bytes | None:
        """Return the bytes of `read_each`, concatenated; None if a record is not in the log (any more)."""
        parts: list[bytes] = []
        number = 0
        while number < len(places):
            place = places[number]
            offset = place[1]
            window = self.window(offset)
            if window is not None:
                part, count = gather(window[0], window[1], window[2], places, number)
                if count:
                    parts.append(part)
                    number += count
                    continue
            # It crosses the end of a window, or is not known to be in memory.
            try:
                data = self.read(offset, place[2], may_wait)
            except ColdRead:
                raise ColdRead(offset, self.ranges(places[number:])) from None
            if data is None:
                return None
            parts.append(data)
            number += 1
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def window(self, offset: int) -> tuple[Slices, int, int] | None:
        """See `Log`."""
        files = self.files
        start = offset - offset % self.file_size
        if not 0 <= offset < self.end_offset or start not in files.starts:
            return None
        length = min(self.end_offset - start, self.file_size)
        place, windows = (files.directory, start), files.pool.windows
        window = windows.get(place, files.file(start), offset - start, length, self.file_size)
        return None if window is None else (window[0], start + window[1], start + window[2])

    def ranges(self, places: Sequence[tuple[int, int, int]]) -> list[FileRange]:
        """Return the file range of each (anything, offset, size), except those that are not in the log."""
        starts, first = self.files.starts, self.min_offset
        return [
            (self.files.file(start), offset - start, size)
            for _, offset, size in places
            if first <= offset and (start := self.files.start_of(offset)) in starts
        ]
