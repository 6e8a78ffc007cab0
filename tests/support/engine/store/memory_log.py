"""A log in memory, lost with the process: the minimum that the store needs of a log."""

from collections.abc import Callable, Sequence

from mqgateway.engine.disk import Disk, File
from mqgateway.engine.store.cold import FileRange
from mqgateway.engine.store.file_queue import FilePool, FileQueue
from mqgateway.engine.store.log import ENDLESS, ConfirmPolicy


class MemoryLog:
    """All records in one buffer; nothing is written to the disk."""

    def __init__(self, disk: Disk, policy: ConfirmPolicy, size_max: int = 1 << 20) -> None:
        self.files = FileQueue(FilePool(disk), "/none", size_max)
        self.file_size = size_max
        self.newest = size_max
        self.opened_at = self.end_offset = self.flushed_offset = self.last_timestamp = 0
        self.dirty_tail: OSError | None = None
        self.policy = policy
        self.settled_offset, self.syncs_itself = ENDLESS, False
        self._data = bytearray()

    @property
    def min_offset(self) -> int:
        """The log's first offset."""
        return self.end_offset - len(self._data)

    @property
    def confirm_offset(self) -> int:
        """The offset given by the policy."""
        return self.policy(self)

    @property
    def record_size_max(self) -> int:
        """The size of the whole log."""
        return self.file_size

    def load(self, clean: bool) -> None:
        """Do nothing: there are no files."""

    def drop_first_file(self) -> None:
        """Never called: there are no files."""
        raise AssertionError

    def cut(self, offset: int) -> None:
        """Truncate the log at `offset`; an empty log continues there."""
        del self._data[max(0, offset - self.min_offset) :]
        self.end_offset = self.opened_at = offset
        self.flushed_offset = min(self.flushed_offset, offset)

    def reserve(self, size: int) -> int:
        """Return the end of the log. Raises `OSError` if the memory is full."""
        if len(self._data) + size > self.file_size:
            raise OSError(f"there is no room for {size} bytes")
        return self.end_offset

    def write(self, data: bytes) -> None:
        """Append to the log."""
        self._data += data
        self.end_offset += len(data)

    write_raw = write

    def read(self, offset: int, size: int, may_wait: bool = True) -> bytes | None:
        """Return a range of bytes, None if it is not all there."""
        at = offset - self.min_offset
        return bytes(self._data[at : at + size]) if 0 <= at <= len(self._data) - size else None

    def read_each(self, places: Sequence[tuple[int, int, int]], may_wait: bool = True) -> list[bytes | None]:
        """Return the ranges one by one."""
        return [self.read(offset, size) for _, offset, size in places]

    borrow_each = read_each

    def read_joined(self, places: Sequence[tuple[int, int, int]], may_wait: bool = True) -> bytes | None:
        """Return all ranges joined, None if one is missing."""
        found = [record for record in self.read_each(places) if record is not None]
        return b"".join(found) if len(found) == len(places) else None

    def ranges(self, places: Sequence[tuple[int, int, int]]) -> list[FileRange]:
        """Return nothing: no bytes are in files."""
        return []

    def watch_dirty_tails(self, callback: Callable[[], None]) -> None:
        """Never call back: no write fails."""

    def repair_tail(self) -> File:
        """Never called: no write fails."""
        raise AssertionError

    tail_repaired = repair_tail

    def reopen(self) -> None:
        """Do nothing: there are no files."""
