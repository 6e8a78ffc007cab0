"""The only door to files.

Everything the engine reads or writes goes through a `Disk`. `RealDisk` is the operating system; `MemoryDisk`
is its double for tests: it remembers what was synced, so that `crash()` can give back a disk as a power cut
might have left it, and it can be told to fail.

Offsets are explicit (pread and pwrite): no file has a position, so a file may be read while it is written.
Every failure is an `OSError`. A `File` closes when its last reference goes, which is why a file may be
dropped here while a worker still syncs it there.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import random
import shutil
from collections.abc import Callable
from typing import Protocol

SECTOR = 512
"""Bytes that a disk writes whole or not at all (what `MemoryDisk.crash` keeps or loses together)."""

_NO_WAIT: int | None = getattr(os, "RWF_NOWAIT", None)


class Window(Protocol):
    """A part of a file seen as memory: `buffer` is read and written in place."""

    @property
    def buffer(self) -> mmap.mmap | memoryview:
        """The bytes; big-endian words are put and taken with `struct`."""

    def forget(self) -> None:
        """Give the resident pages back to the system; the content stays."""

    def close(self) -> None:
        """End the window; the buffer must not be used any more."""


class File(Protocol):
    """An open file."""

    def read(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset`; fewer only at the end of the file."""

    def read_ready(self, offset: int, size: int) -> bytes | None:
        """Exactly `size` bytes from `offset`, or None when the disk would have to be waited for."""

    def read_ahead(self, offset: int, size: int) -> None:
        """Ask the system to have bytes in memory soon."""

    def write(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        """Write all of `data` at `offset`, or raise."""

    def sync(self) -> None:
        """Return when the content is on stable storage."""

    def size(self) -> int:
        """Length in bytes."""

    def truncate(self, size: int) -> None:
        """Set the length; a longer one adds zeros without using room."""

    def window(self, size: int) -> Window:
        """The first `size` bytes of the file as memory."""

    def close(self) -> None:
        """Close at once; a second close does nothing."""


class Disk(Protocol):
    """A file system. Paths are strings; directories are separated by "/"."""

    def open(self, path: str, create: bool = False) -> File:
        """Open for reading and writing; with `create` an absent file is made, empty."""

    def exists(self, path: str) -> bool:
        """Whether a file or directory is there."""

    def is_dir(self, path: str) -> bool:
        """Whether a directory is there."""

    def size(self, path: str) -> int:
        """Length of a file in bytes."""

    def modified(self, path: str) -> int:
        """When the file was last written, in milliseconds since the epoch."""

    def listdir(self, path: str) -> list[str]:
        """Names in a directory, sorted; an absent directory is an empty one."""

    def makedirs(self, path: str) -> None:
        """Make a directory and the ones above it; one that exists is left alone."""

    def rename(self, old: str, new: str) -> None:
        """Rename a file, replacing `new` in one step."""

    def unlink(self, path: str) -> None:
        """Remove a file."""

    def rmtree(self, path: str) -> None:
        """Remove a directory with all it holds; an absent one is fine."""

    def sync_dir(self, path: str) -> None:
        """Make the names in a directory durable."""

    def read_bytes(self, path: str) -> bytes:
        """The whole content of a file."""

    def lock(self, path: str) -> File:
        """Open and lock a file against other processes until it is closed; `BlockingIOError` if it is
        taken.
        """

    def usage(self, path: str) -> tuple[int, int]:
        """Bytes that can be had in all and bytes free of the file system that holds `path`."""


def make_directories(disk: Disk, path: str) -> None:
    """Make a directory and the ones above it where missing, so that they outlive a power cut."""
    missing = []
    while path and not disk.is_dir(path):
        missing.append(path)
        path = os.path.dirname(path)
    if missing:
        disk.makedirs(missing[0])
    for made in missing:
        disk.sync_dir(os.path.dirname(made) or ".")


def total_memory() -> int:
    """Memory this process may use, in bytes: the machine's, or less where a container has a limit."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as limit:
            return min(total, int(limit.read()))
    except (OSError, ValueError):
        return total


class _RealWindow:
    def __init__(self, fd: int, size: int) -> None:
        self.buffer = mmap.mmap(fd, size)

    def forget(self) -> None:
        if hasattr(mmap, "MADV_DONTNEED"):
            self.buffer.madvise(mmap.MADV_DONTNEED)

    def close(self) -> None:
        self.buffer.close()


class RealFile:
    """A file of the operating system."""

    __slots__ = ("_fd",)

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def read(self, offset: int, size: int) -> bytes:
        data = os.pread(self._fd, size, offset)
        if len(data) == size or not data:
            return data
        parts = [data]
        got = len(data)
        while got < size:
            data = os.pread(self._fd, size - got, offset + got)
            if not data:
                break
            parts.append(data)
            got += len(data)
        return b"".join(parts)

    def read_ready(self, offset: int, size: int) -> bytes | None:
        if _NO_WAIT is None:
            return self.read(offset, size)
        buffer = bytearray(size)
        try:
            got = os.preadv(self._fd, (buffer,), offset, _NO_WAIT)
        except BlockingIOError:
            return None
        except OSError as error:
            if error.errno != errno.EOPNOTSUPP:
                raise
            return self.read(offset, size)  # a file system that cannot tell
        return bytes(buffer) if got == size else None

    def read_ahead(self, offset: int, size: int) -> None:
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self._fd, offset, size, os.POSIX_FADV_WILLNEED)

    def write(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        done = os.pwrite(self._fd, data, offset)
        while done < len(data):
            more = os.pwrite(self._fd, memoryview(data)[done:], offset + done)
            if more == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            done += more

    def sync(self) -> None:
        os.fdatasync(self._fd)

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def truncate(self, size: int) -> None:
        os.ftruncate(self._fd, size)

    def window(self, size: int) -> Window:
        # Real room, as writing to a hole through memory on a full disk would end the process.
        os.posix_fallocate(self._fd, 0, size)
        return _RealWindow(self._fd, size)

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        self.close()


class RealDisk:
    """The operating system's files."""

    def open(self, path: str, create: bool = False) -> File:
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        return RealFile(os.open(path, flags, 0o644))

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def is_dir(self, path: str) -> bool:
        return os.path.isdir(path)

    def size(self, path: str) -> int:
        return os.stat(path).st_size

    def modified(self, path: str) -> int:
        return os.stat(path).st_mtime_ns // 1_000_000

    def listdir(self, path: str) -> list[str]:
        try:
            return sorted(os.listdir(path))
        except FileNotFoundError:
            return []

    def makedirs(self, path: str) -> None:
        os.makedirs(path, exist_ok=True)

    def rename(self, old: str, new: str) -> None:
        os.replace(old, new)

    def unlink(self, path: str) -> None:
        os.unlink(path)

    def rmtree(self, path: str) -> None:
        if os.path.isdir(path):
            shutil.rmtree(path)

    def sync_dir(self, path: str) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def read_bytes(self, path: str) -> bytes:
        file = self.open(path)
        try:
            return file.read(0, file.size())
        finally:
            file.close()

    def lock(self, path: str) -> File:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            # The first byte, with the kind of lock that Java's FileChannel.tryLock takes.
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0, os.SEEK_SET)
        except OSError:
            os.close(fd)
            raise
        return RealFile(fd)

    def usage(self, path: str) -> tuple[int, int]:
        stat = os.statvfs(path)
        # As df counts: room kept for the administrator is neither used nor free.
        used = stat.f_blocks - stat.f_bfree
        return stat.f_frsize * (used + stat.f_bavail), stat.f_frsize * stat.f_bavail


class _Inode:
    """Content of a memory file: `data` now, `before` the sectors as they were when last synced."""

    __slots__ = ("before", "data", "modified", "size", "synced_size", "windowed")

    def __init__(self) -> None:
        self.data = bytearray()
        self.size = 0
        self.synced_size = 0
        self.before: dict[int, bytes] = {}
        self.windowed = 0
        self.modified = 0

    def sector(self, number: int) -> bytes:
        return bytes(self.data[number * SECTOR : (number + 1) * SECTOR]).ljust(SECTOR, b"\0")

    def touch(self, start: int, end: int) -> None:
        for number in range(start // SECTOR, -(-end // SECTOR)):
            if number not in self.before:
                self.before[number] = self.sector(number)

    def reach(self, end: int) -> None:
        if len(self.data) < end:
            self.data.extend(bytes(end - len(self.data)))

    def resize(self, size: int) -> None:
        if size < len(self.data):
            self.touch(size, len(self.data))
            del self.data[size:]
        self.size = size

    def sync(self) -> None:
        self.before.clear()
        self.synced_size = self.size
        if self.windowed:
            # What is written through a window is not seen: keep all of it as it is now.
            self.touch(0, self.windowed)

    def after_crash(self, choose: random.Random) -> _Inode:
        left = _Inode()
        left.size = left.synced_size = choose.choice((self.size, self.synced_size))
        left.data = bytearray(self.data)
        for number, old in self.before.items():
            if choose.random() < 0.5:
                left.reach((number + 1) * SECTOR)
                left.data[number * SECTOR : (number + 1) * SECTOR] = old
        del left.data[left.size :]
        left.modified = self.modified
        return left


class _MemoryWindow:
    def __init__(self, inode: _Inode, size: int) -> None:
        # All of it now: a buffer that is looked at cannot grow.
        inode.reach(inode.size)
        inode.windowed = max(inode.windowed, size)
        inode.touch(0, size)
        self.buffer = memoryview(inode.data)[:size]

    def forget(self) -> None:
        return

    def close(self) -> None:
        self.buffer.release()


class MemoryFile:
    """A file of a `MemoryDisk`."""

    def __init__(self, disk: MemoryDisk, path: str, inode: _Inode) -> None:
        self._disk = disk
        self._path = path
        self._inode = inode

    def read(self, offset: int, size: int) -> bytes:
        self._disk.check("read", self._path)
        end = min(offset + size, self._inode.size)
        return bytes(self._inode.data[offset:end]).ljust(max(0, end - offset), b"\0")

    def read_ready(self, offset: int, size: int) -> bytes | None:
        return self.read(offset, size)

    def read_ahead(self, offset: int, size: int) -> None:
        return

    def write(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        inode = self._inode
        end = offset + len(data)
        inode.touch(offset, end)
        inode.reach(end)
        try:
            self._disk.check("write", self._path)
        except OSError:
            # As a real disk may: a part is written before the error shows.
            inode.data[offset : offset + len(data) // 2] = data[: len(data) // 2]
            raise
        inode.data[offset:end] = data
        inode.size = max(inode.size, end)
        inode.modified = self._disk.millis()

    def sync(self) -> None:
        self._disk.check("sync", self._path)
        self._inode.sync()

    def size(self) -> int:
        return self._inode.size

    def truncate(self, size: int) -> None:
        self._disk.check("truncate", self._path)
        self._inode.resize(size)

    def window(self, size: int) -> Window:
        self._disk.check("window", self._path)
        return _MemoryWindow(self._inode, size)

    def close(self) -> None:
        self._disk.unlock(self._path, self)


class MemoryDisk:
    """A disk in memory, for tests.

    `fail_next(call, part_of_path, error_number, times)` makes calls fail; `crash(seed)` gives the disk that
    a power cut might leave: names whose directory was synced, sectors that were synced, and any part of the
    rest.
    """

    def __init__(self, total: int = 1 << 40, millis: Callable[[], int] = lambda: 0) -> None:
        self.total = total
        self.used: int | None = None
        self.millis = millis
        self.syncs = 0
        self._names: dict[str, _Inode] = {}
        self._durable: dict[str, _Inode] = {}
        self._journal: dict[str, list[tuple[str, _Inode | None]]] = {}
        self._dirs: set[str] = {"", "/"}
        self._locks: dict[str, MemoryFile] = {}
        self._faults: list[list[object]] = []

    def fail_next(self, call: str, part_of_path: str, error: int = errno.EIO, times: int = 1) -> None:
        """Let the next `times` calls of `call` (read, write, sync, truncate, open) on such paths fail."""
        self._faults.append([call, part_of_path, error, times])

    def check(self, call: str, path: str) -> None:
        """Raise if a failure was ordered for this call."""
        if call == "sync":
            self.syncs += 1
        for fault in self._faults:
            if fault[0] == call and str(fault[1]) in path and int(str(fault[3])) > 0:
                fault[3] = int(str(fault[3])) - 1
                number = int(str(fault[2]))
                raise OSError(number, os.strerror(number), path)

    def crash(self, seed: int = 0) -> MemoryDisk:
        """This disk after a power cut; the old one must not be used any more."""
        choose = random.Random(seed)
        left = MemoryDisk(self.total, self.millis)
        left.used = self.used
        left._dirs = set(self._dirs)
        names = dict(self._durable)
        for steps in self._journal.values():
            for path, inode in steps[: choose.randint(0, len(steps))]:
                if inode is None:
                    names.pop(path, None)
                else:
                    names[path] = inode
        left._names = {path: inode.after_crash(choose) for path, inode in sorted(names.items())}
        left._durable = dict(left._names)
        return left

    def kill(self) -> MemoryDisk:
        """This disk after the process died but the machine did not: everything written is there."""
        self._locks.clear()
        return self

    def _note(self, path: str, inode: _Inode | None) -> None:
        self._journal.setdefault(os.path.dirname(path), []).append((path, inode))

    def open(self, path: str, create: bool = False) -> File:
        self.check("open", path)
        inode = self._names.get(path)
        if inode is None:
            if not create:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
            if os.path.dirname(path) not in self._dirs:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.path.dirname(path))
            inode = self._names[path] = _Inode()
            inode.modified = self.millis()
            self._note(path, inode)
        return MemoryFile(self, path, inode)

    def _get(self, path: str) -> _Inode:
        try:
            return self._names[path]
        except KeyError:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from None

    def exists(self, path: str) -> bool:
        return path in self._names or path in self._dirs

    def is_dir(self, path: str) -> bool:
        return path in self._dirs

    def size(self, path: str) -> int:
        return self._get(path).size

    def modified(self, path: str) -> int:
        return self._get(path).modified

    def listdir(self, path: str) -> list[str]:
        prefix = path.rstrip("/") + "/"
        entries = (*self._names, *self._dirs)
        return sorted({p[len(prefix) :].split("/", 1)[0] for p in entries if p.startswith(prefix)} - {""})

    def makedirs(self, path: str) -> None:
        while path not in self._dirs:
            self._dirs.add(path)
            path = os.path.dirname(path)

    def rename(self, old: str, new: str) -> None:
        self.check("rename", old)
        inode = self._names.pop(old, None) or self._get(old)
        self._names[new] = inode
        self._note(new, inode)
        self._note(old, None)

    def unlink(self, path: str) -> None:
        self._get(path)
        del self._names[path]
        self._note(path, None)

    def rmtree(self, path: str) -> None:
        for name in [name for name in self._names if name.startswith(path + "/")]:
            self.unlink(name)
        self._dirs = {name for name in self._dirs if name != path and not name.startswith(path + "/")}

    def sync_dir(self, path: str) -> None:
        self.check("sync", path)
        for name, inode in self._journal.pop(path, ()):
            if inode is None:
                self._durable.pop(name, None)
            else:
                self._durable[name] = inode

    def read_bytes(self, path: str) -> bytes:
        return self.open(path).read(0, self._get(path).size)

    def lock(self, path: str) -> File:
        if path in self._locks:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN), path)
        file = self.open(path, create=True)
        assert isinstance(file, MemoryFile)
        self._locks[path] = file
        return file

    def unlock(self, path: str, file: MemoryFile) -> None:
        """Release a lock when the file that holds it is closed."""
        if self._locks.get(path) is file:
            del self._locks[path]

    def usage(self, path: str) -> tuple[int, int]:
        used = self.used if self.used is not None else sum(len(inode.data) for inode in self._names.values())
        return self.total, self.total - used
