"""A log that lies in memory and is lost with the process: the least that the store needs of one."""

from collections.abc import Callable, Sequence

from mqgateway.engine.disk import Disk, File
from mqgateway.engine.store.cold import Piece
from mqgateway.engine.store.file_queue import FilePool, FileQueue
from mqgateway.engine.store.log import ENDLESS, ConfirmPolicy


class MemoryLog:
    """All records in one piece; the disk gets nothing of it."""

    def __init__(self, disk: Disk, policy: ConfirmPolicy, size_max: int = 1 << 20) -> None:
        self.files = FileQueue(FilePool(disk), "/none", size_max)
        self.file_size = size_max
        self.newest = size_max
        self.opened_at = self.end_offset = self.flushed_offset = self.last_timestamp = 0
        self.dirty_tail: OSError | None = None
        self.on_dirty_tail: Callable[[], None] = lambda: None
        self.policy = policy
        self.settled_offset, self.syncs_itself = ENDLESS, False
        self._data = bytearray()

    @property
    def min_offset(self) -> int:
        """Where the log begins."""
        return self.end_offset - len(self._data)

    @property
    def confirm_offset(self) -> int:
        """As the policy says."""
        return self.policy(self)

    @property
    def record_size_max(self) -> int:
        """As much as there is room for."""
        return self.file_size

    def load(self, clean: bool) -> None:
        """There are no files."""

    def drop_first_file(self) -> None:
        """Never asked for: there are none."""
        raise AssertionError

    def cut(self, offset: int) -> None:
        """Forget what lies after `offset`; an empty log goes on there."""
        del self._data[max(0, offset - self.min_offset) :]
        self.end_offset = self.opened_at = offset
        self.flushed_offset = min(self.flushed_offset, offset)

    def reserve(self, size: int) -> int:
        """The end: nothing but the memory is in the way."""
        if len(self._data) + size > self.file_size:
            raise OSError(f"there is no room for {size} bytes")
        return self.end_offset

    def write(self, data: bytes) -> None:
        """Append."""
        self._data += data
        self.end_offset += len(data)

    write_raw = write

    def read(self, offset: int, size: int, may_wait: bool = True) -> bytes | None:
        """A piece, if all of it is there."""
        at = offset - self.min_offset
        return bytes(self._data[at : at + size]) if 0 <= at <= len(self._data) - size else None

    def read_each(self, places: Sequence[tuple[int, int, int]], may_wait: bool = True) -> list[bytes | None]:
        """One after the other."""
        return [self.read(offset, size) for _, offset, size in places]

    borrow_each = read_each

    def read_joined(self, places: Sequence[tuple[int, int, int]], may_wait: bool = True) -> bytes | None:
        """All of them, if they are there."""
        found = [record for record in self.read_each(places) if record is not None]
        return b"".join(found) if len(found) == len(places) else None

    def pieces(self, places: Sequence[tuple[int, int, int]]) -> list[Piece]:
        """None: it is in no file."""
        return []

    def repair_tail(self) -> File:
        """Never asked for: no write fails."""
        raise AssertionError

    tail_repaired = repair_tail

    def reopen(self) -> None:
        """There are no files."""
