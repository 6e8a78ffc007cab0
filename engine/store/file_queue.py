"""A log kept in files of one length, each named by the offset at which it starts.

Names have 20 digits; files are made at full length (sparse), so that a store of the standard opens them.
Nothing is mapped: reads and writes say their offset. Open files are kept in a `FilePool`, so that a hundred
thousand queues do not hold a hundred thousand descriptors. Standard: `MappedFileQueue`,
`DefaultMappedFile`.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable

from mqgateway.engine.disk import Disk, File
from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.store.cold import ColdRead
from mqgateway.engine.store.read_windows import ReadWindows

log = logging.getLogger(__name__)


def file_name(start: int) -> str:
    """The name of the file that starts at an offset."""
    return f"{start:020d}"


class FilePool:
    """The most recently used open files; the others are dropped, and close when nobody holds them.

    `unsynced` collects directories in which files were made, for whoever makes the names durable; `remove`
    is given the path of an old file that nobody reads any more. While `may_wait` is false, reading what is
    not in memory raises `ColdRead`. `windows` are the parts of these files that are seen as memory.
    """

    def __init__(self, disk: Disk, limit: int = 512) -> None:
        self.disk = disk
        self.unsynced: set[str] = set()
        self.remove: Callable[[str], None] = disk.unlink
        self.may_wait = True
        self.windows = ReadWindows()
        self._limit = limit
        self._files: OrderedDict[tuple[str, int], File] = OrderedDict()

    def get(self, directory: str, start: int) -> File:
        """The open file of a queue; raises `OSError` when it cannot be opened."""
        key = (directory, start)
        file = self._files.get(key)
        if file is not None:
            self._files.move_to_end(key)
            return file
        return self.put(directory, start, self.disk.open(f"{directory}/{file_name(start)}"))

    def put(self, directory: str, start: int, file: File) -> File:
        """Remember a file that was just opened."""
        self._files[directory, start] = file
        if len(self._files) > self._limit:
            self._files.popitem(last=False)
        return file

    def forget(self, directory: str, start: int) -> None:
        """Drop a file, as it is about to go."""
        self._files.pop((directory, start), None)
        self.windows.forget(directory, start)

    def note_directory(self, directory: str) -> None:
        """Note that a directory, and perhaps the two above it, may be new."""
        for _ in range(3):
            directory = directory.rpartition("/")[0]
            if directory:
                self.unsynced.add(directory)

    def clear(self) -> None:
        """Drop all files."""
        self._files.clear()
        self.windows.clear()


class FileQueue:
    """The files of one log. `starts` are their first offsets, ascending."""

    __slots__ = ("directory", "disk", "file_size", "pool", "starts")

    def __init__(self, pool: FilePool, directory: str, file_size: int) -> None:
        self.disk = pool.disk
        self.pool = pool
        self.directory = directory
        self.file_size = file_size
        self.starts: list[int] = []

    def load(self, repair: bool = False, known: int = 0) -> None:
        """Find the files. An empty last one is removed; a gap or any other wrong length raises `CorruptFile`.

        With `repair`, after an unclean stop, a gap or an empty file ends the log and later files go:
        nothing in them was ever reported as durable; a file cut short, as by a write that failed, gets its
        length back. But what lies before a gap goes, as files that were being removed, where the file after
        it starts at or before `known`, an offset that was durable. Standard: `MappedFileQueue.doLoad`.
        """
        names = [name for name in self.disk.listdir(self.directory) if len(name) == 20 and name.isdigit()]
        for number, name in enumerate(names):
            path = f"{self.directory}/{name}"
            size = self.disk.size(path)
            gap = bool(self.starts) and int(name) != self.end
            if gap and int(name) <= known:
                log.warning("%s: files before %s are left over and removed", self.directory, name)
                while self.starts:
                    self.remove_last()
                gap = False
            if (size == 0 and name == names[-1]) or (repair and (gap or size == 0)):
                for later in names[number:]:
                    self.disk.unlink(f"{self.directory}/{later}")
                self.pool.unsynced.add(self.directory)
                return
            if repair and size < self.file_size and int(name) % self.file_size == 0:
                self.disk.open(path).truncate(self.file_size)
            elif size != self.file_size:
                raise CorruptFile(path, size, f"the file has {size} bytes, the settings say {self.file_size}")
            if gap:
                raise CorruptFile(path, 0, f"the file before it, {file_name(self.end)}, is missing")
            self.starts.append(int(name))

    @property
    def end(self) -> int:
        """First offset after the last file; 0 without files."""
        return self.starts[-1] + self.file_size if self.starts else 0

    def used(self) -> int:
        """An offset after which there are only zeros; see `File.used`."""
        return self.starts[-1] + self.file(self.starts[-1]).used() if self.starts else 0

    def start_of(self, offset: int) -> int:
        """Where the file with this offset starts, whether it exists or not."""
        return offset - offset % self.file_size

    def create(self, start: int) -> File:
        """Make the file that starts at `start`, at full length; it becomes the last one."""
        if not self.starts:
            self.disk.makedirs(self.directory)
            self.pool.note_directory(self.directory)
        self.pool.unsynced.add(self.directory)
        file = self.disk.open(f"{self.directory}/{file_name(start)}", create=True)
        file.truncate(self.file_size)
        if not self.starts or start > self.starts[-1]:
            self.starts.append(start)
        return self.pool.put(self.directory, start, file)

    def file(self, start: int) -> File:
        """The open file that starts at `start`."""
        return self.pool.get(self.directory, start)

    def read(self, offset: int, size: int) -> bytes:
        """`size` bytes from `offset`, over file borders; fewer where there are no files."""
        if not self.starts or offset < self.starts[0]:
            return b""
        start = self.start_of(offset)
        if offset + size <= start + self.file_size:
            return self._read(start, offset - start, size) if start <= self.starts[-1] else b""
        parts = []
        while size > 0 and start <= self.starts[-1]:
            part = self._read(start, offset - start, min(size, start + self.file_size - offset))
            parts.append(part)
            size -= len(part)
            start += self.file_size
            offset = start
        return b"".join(parts)

    def _read(self, start: int, at: int, size: int) -> bytes:
        file = self.file(start)
        if self.pool.may_wait:
            return file.read(at, size)
        data = file.read_ready(at, size)
        if data is None:
            raise ColdRead(start + at, [(file, at, size)])
        return data

    def write(self, offset: int, data: bytes | bytearray) -> None:
        """Write over file borders, making files as needed."""
        done = 0
        while done < len(data):
            start = self.start_of(offset + done)
            file = self.file(start) if self.starts and start <= self.starts[-1] else self.create(start)
            count = min(len(data) - done, start + self.file_size - offset - done)
            file.write(offset + done - start, data[done : done + count])
            done += count

    def cut(self, offset: int) -> None:
        """Forget everything from `offset` on: later files go, the rest of the file reads as zeros.

        Zeros matter: old bytes after the end could pass for records once new ones have filled the gap.
        """
        while self.starts and self.starts[-1] >= offset:
            if self.starts[-1] == offset and len(self.starts) == 1:
                break
            self.remove_last()
        if self.starts and offset < self.end:
            clear_tail(self.file(self.starts[-1]), offset - self.starts[-1], self.file_size)

    def remove_last(self) -> None:
        """Delete the last file."""
        start = self.starts.pop()
        self._delete(start)

    def drop_first(self, count: int) -> None:
        """Give up the oldest `count` files: the pool's `remove` is told, which may delete them later."""
        for _ in range(count):
            start = self.starts.pop(0)
            self.pool.forget(self.directory, start)
            self.pool.remove(f"{self.directory}/{file_name(start)}")

    def _delete(self, start: int) -> None:
        self.pool.forget(self.directory, start)
        self.disk.unlink(f"{self.directory}/{file_name(start)}")
        self.pool.unsynced.add(self.directory)

    def destroy(self) -> None:
        """Delete the files and the directory."""
        for start in self.starts:
            self.pool.forget(self.directory, start)
        self.starts.clear()
        self.disk.rmtree(self.directory)
        self.pool.note_directory(self.directory)

    def count_while(self, expired: Callable[[int], bool]) -> int:
        """How many of the oldest files, never the last, are expired; `expired` is given a file's start."""
        count = 0
        while count < len(self.starts) - 1 and expired(self.starts[count]):
            count += 1
        return count


def clear_tail(file: File, length: int, file_size: int) -> None:
    """Make everything after `length` zero again."""
    file.truncate(length)
    file.truncate(file_size)
