"""A log in files of one length, each named by its start offset.

Names have 20 digits. Files are created at full length (sparse), so that RocketMQ's store opens them. Nothing
is mapped for writing: reads and writes name their offset. Open files are cached in a `FilePool`, so that a
hundred thousand queues do not need a hundred thousand descriptors. RocketMQ: `MappedFileQueue`,
`DefaultMappedFile`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from itertools import pairwise
from typing import Final

from mqgateway.engine.disk import Disk, File
from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.store.cold import ColdRead
from mqgateway.engine.store.framing import BARE, Framing
from mqgateway.engine.store.read_windows import ReadWindows

_GAPS_MAX: Final = 10_000
"""Maximum of missing files; beyond it a file's name is taken to be wrong."""


def file_name(start: int) -> str:
    """Return the name of the file that starts at an offset."""
    return f"{start:020d}"


class FilePool:
    """LRU cache of open files. An evicted file closes with its last reference.

    `unsynced` collects directories with new files, whose names must be made durable. `remove` is called with
    the path of an old file that is no longer read; by default the file is deleted at once. `windows` are the
    mapped ranges of these files.
    """

    def __init__(self, disk: Disk, limit: int = 512, remove: Callable[[str], None] | None = None) -> None:
        self.disk = disk
        self.unsynced: set[str] = set()
        self.remove = disk.unlink if remove is None else remove
        self.windows = ReadWindows()
        self._limit = limit
        self._files: OrderedDict[tuple[str, int], File] = OrderedDict()

    def get(self, directory: str, start: int) -> File:
        """Return the open file of a queue. Raises `OSError` if it cannot be opened."""
        key = (directory, start)
        file = self._files.get(key)
        if file is not None:
            self._files.move_to_end(key)
            return file
        return self.put(directory, start, self.disk.open(f"{directory}/{file_name(start)}"))

    def put(self, directory: str, start: int, file: File) -> File:
        """Cache a file that was just opened."""
        self._files[directory, start] = file
        if len(self._files) > self._limit:
            self._files.popitem(last=False)
        return file

    def forget(self, directory: str, start: int) -> None:
        """Evict a file before it is deleted."""
        self._files.pop((directory, start), None)
        self.windows.forget(directory, start)

    def note_directory(self, directory: str) -> None:
        """Note that a directory, and perhaps the two above it, may be new."""
        for _ in range(3):
            directory = directory.rpartition("/")[0]
            if directory:
                self.unsynced.add(directory)

    def clear(self) -> None:
        """Evict all files."""
        self._files.clear()
        self.windows.clear()


class FileQueue:
    """The files of one log: `starts` are their start offsets, ascending; `framing` describes its records."""

    __slots__ = ("directory", "disk", "file_size", "framing", "pool", "starts")

    def __init__(self, pool: FilePool, directory: str, file_size: int, framing: Framing = BARE) -> None:
        self.disk = pool.disk
        self.pool = pool
        self.directory = directory
        self.file_size = file_size
        self.framing = framing
        self.starts: list[int] = []

    def look(self) -> list[tuple[int, int]]:
        """Return start and size of each file with a valid name, ascending; nothing is changed."""
        names = [name for name in self.disk.listdir(self.directory) if len(name) == 20 and name.isdigit()]
        return [(int(name), self.disk.size(f"{self.directory}/{name}")) for name in names]

    def examine(self, repair: bool = False) -> list[int]:
        """Return the starts of the files that `load` would use, gaps or not; nothing is changed.

        Raises `CorruptFile` for a file of a wrong length. An empty last file is left out. With `repair`,
        short or empty files are accepted, as `load` extends them.
        """
        found = self.look()
        if found and found[-1][1] == 0:
            found.pop()
        for start, size in found:
            can_be_mended = repair and size < self.file_size and start % self.file_size == 0
            if (size != self.file_size or start % self.file_size) and not can_be_mended:
                raise self._wrong_length(start, size)
        return [start for start, _ in found]

    def _wrong_length(self, start: int, size: int) -> CorruptFile:
        what = f"the file has {size} bytes, the settings say {self.file_size}"
        return CorruptFile(f"{self.directory}/{file_name(start)}", size, what)

    def load(self, repair: bool = False) -> None:
        """Load the files. Raises `CorruptFile` for a missing file or a wrong length; then nothing is changed.

        An empty last file is removed. With `repair`, after an unclean stop, a short file, as left by a failed
        write, is extended to its length. RocketMQ: `MappedFileQueue.doLoad`.
        """
        starts = self.examine(repair)
        for start in self.missing(starts):
            raise CorruptFile(f"{self.directory}/{file_name(start)}", 0, "the file is missing")
        for start, size in self.look():
            path = f"{self.directory}/{file_name(start)}"
            if start not in starts:
                self.disk.unlink(path)
                self.pool.unsynced.add(self.directory)
            elif size < self.file_size:
                self.disk.open(path).truncate(self.file_size)
        self.starts = starts

    def load_derived(
        self, repair: bool, on_damage: Callable[[CorruptFile], None], unit_size: int = 1
    ) -> tuple[int, int] | None:
        """Load files that are derived from the log; return the range with lost data, or None.

        The range is the first lost offset, and the start of the first file after all of it. Missing, short or
        empty files read as zeros from there on, as does a partial unit (of `unit_size` bytes). An empty last
        file is removed. `on_damage` is called before anything is changed and may raise the error it is given.
        It is not called for a short last file after an unclean stop (`repair`). Raises `CorruptFile` for a
        file that is too long.
        """
        found = self.look()
        for start, size in found:
            if size > self.file_size or start % self.file_size:
                raise self._wrong_length(start, size)
        starts = [start for start, size in found if size or start != found[-1][0]]
        gaps = self.missing(starts)
        if len(gaps) > _GAPS_MAX:
            raise CorruptFile(f"{self.directory}/{file_name(gaps[0])}", 0, f"{len(gaps)} files are missing")
        short = {start: size for start, size in found if size < self.file_size}
        holes = sorted([*gaps, *(start for start in short if start in starts)])
        if holes and not (repair and holes == starts[-1:]):
            on_damage(self._wrong_length(holes[0], short.get(holes[0], 0)))
        for start in (start for start in short if start not in starts):
            self.disk.unlink(f"{self.directory}/{file_name(start)}")
            self.pool.unsynced.add(self.directory)
        for start in holes:
            file = self.disk.open(f"{self.directory}/{file_name(start)}", create=True)
            file.truncate(file.size() // unit_size * unit_size)
            file.truncate(self.file_size)
        self.starts = sorted([*starts, *gaps])
        if not holes:
            return None
        return holes[0] + short.get(holes[0], 0) // unit_size * unit_size, holes[-1] + self.file_size

    def drop_before(self, start: int) -> None:
        """Delete the files before the one that starts at `start`, synchronously."""
        while self.starts and self.starts[0] < start:
            first = self.starts.pop(0)
            self.pool.forget(self.directory, first)
            self.disk.unlink(f"{self.directory}/{file_name(first)}")
            self.disk.sync_dir(self.directory)

    def missing(self, starts: list[int]) -> list[int]:
        """Return the starts of the files missing between `starts`."""
        size = self.file_size
        return [start for one, next_one in pairwise(starts) for start in range(one + size, next_one, size)]

    @property
    def end(self) -> int:
        """The offset after the last file; 0 without files."""
        return self.starts[-1] + self.file_size if self.starts else 0

    def used(self) -> int:
        """Return an offset after which there are only zeros; see `File.used`."""
        return self.starts[-1] + self.file(self.starts[-1]).used() if self.starts else 0

    def start_of(self, offset: int) -> int:
        """Return the start of the file that contains this offset, whether it exists or not."""
        return offset - offset % self.file_size

    def create(self, start: int) -> File:
        """Create the file that starts at `start`, at full length; it becomes the last one."""
        if not self.starts:
            self.disk.makedirs(self.directory)
            self.pool.note_directory(self.directory)
        self.pool.unsynced.add(self.directory)
        file = make_file(self.disk, self.directory, start, self.file_size)
        if not self.starts or start > self.starts[-1]:
            self.starts.append(start)
        return self.pool.put(self.directory, start, file)

    def adopt(self, start: int) -> None:
        """Take over a first file that was created elsewhere, with its directory."""
        self.pool.note_directory(self.directory)
        self.pool.unsynced.add(self.directory)
        self.starts.append(start)

    def path(self, start: int) -> str:
        """Return the path of the file that starts at `start`, whether it exists or not."""
        return f"{self.directory}/{file_name(start)}"

    def file(self, start: int) -> File:
        """Return the open file that starts at `start`."""
        return self.pool.get(self.directory, start)

    def between(self, begin: int, end: int) -> list[File]:
        """Return the open files that contain bytes of [begin, end)."""
        first = self.start_of(begin)
        return [self.file(start) for start in self.starts if first <= start < end]

    def read(self, offset: int, size: int, may_wait: bool = True) -> bytes:
        """Return `size` bytes from `offset`, across file borders; fewer if there are no files.

        Raises `ColdRead` without `may_wait` for bytes that are not in memory.
        """
        if not self.starts or offset < self.starts[0]:
            return b""
        start = self.start_of(offset)
        if offset + size <= start + self.file_size:
            return self._read(start, offset - start, size, may_wait) if start <= self.starts[-1] else b""
        parts = []
        while size > 0 and start <= self.starts[-1]:
            part = self._read(start, offset - start, min(size, start + self.file_size - offset), may_wait)
            parts.append(part)
            size -= len(part)
            start += self.file_size
            offset = start
        return b"".join(parts)

    def _read(self, start: int, at: int, size: int, may_wait: bool) -> bytes:
        file = self.file(start)
        if may_wait:
            return file.read(at, size)
        data = file.read_ready(at, size)
        if data is None:
            raise ColdRead(start + at, [(file, at, size)])
        return data

    def write(self, offset: int, data: bytes | bytearray) -> None:
        """Write across file borders, creating files as needed."""
        done = 0
        while done < len(data):
            start = self.start_of(offset + done)
            file = self.file(start) if self.starts and start <= self.starts[-1] else self.create(start)
            count = min(len(data) - done, start + self.file_size - offset - done)
            file.write(offset + done - start, data[done : done + count])
            done += count

    def cut(self, offset: int) -> None:
        """Truncate at `offset`: later files are deleted, the rest of the file reads as zeros.

        Zeros matter: old bytes after the end could pass for records once new ones have filled the gap.
        """
        while self.starts and self.starts[-1] >= offset:
            if self.starts[-1] == offset and len(self.starts) == 1:
                break
            self.remove_last()
        if self.starts and offset < self.end:
            clear_tail(self.file(self.starts[-1]), offset - self.starts[-1], self.file_size)

    def remove_last(self) -> None:
        """Delete the last file durably.

        Its name is gone before that of the one before it may be deleted: a power cut leaves no gap.
        """
        start = self.starts.pop()
        self.pool.forget(self.directory, start)
        self.disk.unlink(f"{self.directory}/{file_name(start)}")
        self.disk.sync_dir(self.directory)

    def drop_first(self, count: int) -> None:
        """Drop the oldest `count` files: the pool's `remove` is called, which may delete them later."""
        for _ in range(count):
            start = self.starts.pop(0)
            self.pool.forget(self.directory, start)
            self.pool.remove(f"{self.directory}/{file_name(start)}")

    def destroy(self) -> None:
        """Delete the files and the directory."""
        for start in self.starts:
            self.pool.forget(self.directory, start)
        self.starts.clear()
        self.disk.rmtree(self.directory)
        self.pool.note_directory(self.directory)

    def count_while(self, expired: Callable[[int], bool]) -> int:
        """Return the number of oldest, expired files, never the last; `expired` gets a file's start."""
        count = 0
        while count < len(self.starts) - 1 and expired(self.starts[count]):
            count += 1
        return count


def make_file(disk: Disk, directory: str, start: int, size: int) -> File:
    """Return a log's file that starts at an offset, at full length, in an existing directory.

    An existing file is only opened. Raises `OSError`.
    """
    file = disk.open(f"{directory}/{file_name(start)}", create=True)
    file.truncate(size)
    return file


def clear_tail(file: File, length: int, file_size: int) -> None:
    """Zero all bytes after `length`."""
    file.truncate(length)
    file.truncate(file_size)
