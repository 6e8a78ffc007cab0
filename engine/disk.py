"""The only door to files.

Everything the engine reads or writes goes through a `Disk`. `RealDisk` is the operating system;
`engine.testing.crash_disk` has a double for tests, which loses power and fails as it is told.

Offsets are explicit (pread and pwrite): no file has a position, so a file may be read while it is written.
Every failure is an `OSError`. A `File` closes when its last reference goes, which is why a file may be
dropped here while a worker still syncs it there.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import mmap
import os
import shutil
from collections.abc import Iterable
from typing import Final, Protocol

_NO_WAIT: int | None = getattr(os, "RWF_NOWAIT", None)
_LIBC: Final = ctypes.CDLL(None, use_errno=True)


FILE_MODE: Final = 0o600
FOLDER_MODE: Final = 0o700
"""What new files and folders may be used for, unless the umask says less: messages are nobody else's."""

PART_UNIT: Final = mmap.ALLOCATIONGRANULARITY
"""Where parts of a file may begin, in bytes."""


class Window(Protocol):
    """A part of a file seen as memory: `buffer` is read and written in place."""

    @property
    def buffer(self) -> mmap.mmap | memoryview:
        """The bytes; big-endian words are put and taken with `struct`."""

    def forget(self) -> None:
        """Give the resident pages back to the system; the content stays."""

    def close(self) -> None:
        """End the window; the buffer must not be used any more."""


class Slices(Protocol):
    """What gives bytes for a slice."""

    def __getitem__(self, where: slice, /) -> bytes: ...


class Part(Protocol):
    """A part of a file seen as memory, to be read as long as it is there."""

    @property
    def buffer(self) -> Slices:
        """The bytes as they are now; the part ends with the last reference to it."""

    def is_ready(self, size: int) -> bool:
        """Whether the first `size` bytes are in memory, so that reading them waits for nothing."""


class FileSystem(Protocol):
    """A file system as a whole: for when thousands of files are to be synced."""

    def sync(self) -> None:
        """Return when all content and all names are on stable storage; failures since it was opened raise."""

    def close(self) -> None:
        """Close it."""


class File(Protocol):
    """An open file."""

    def read(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset`; fewer only at the end of the file."""

    def read_ready(self, offset: int, size: int) -> bytes | None:
        """Exactly `size` bytes from `offset`, or None when the disk would have to be waited for."""

    def part(self, offset: int, size: int) -> Part | None:
        """A part of the file as memory, from a multiple of `PART_UNIT` on; None where that cannot be had."""

    def read_ahead(self, offset: int, size: int) -> None:
        """Ask the system to have bytes in memory soon."""

    def write(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        """Write all of `data` at `offset`, or raise."""

    def sync(self) -> None:
        """Return when the content is on stable storage."""

    def size(self) -> int:
        """Length in bytes."""

    def used(self) -> int:
        """An offset from which on there are only zeros, as near to the last other byte as can be told without
        reading.
        """

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

    def subdirs(self, path: str) -> list[str]:
        """Names of the directories in a directory, sorted; an absent directory is an empty one."""

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

    def file_system(self, path: str) -> FileSystem:
        """The file system that a directory lies in."""

    def read_bytes(self, path: str) -> bytes:
        """The whole content of a file."""

    def lock(self, path: str) -> File:
        """Open and lock a file against other processes until it is closed; `BlockingIOError` if it is
        taken.
        """

    def usage(self, path: str) -> tuple[int, int]:
        """Bytes that can be had in all and bytes free of the file system that holds `path`."""

    def capacity(self, path: str) -> tuple[int, int]:
        """Bytes of that whole file system and its free ones, with the room kept for the administrator."""

    def mode(self, path: str) -> int:
        """Who may do what with a file or directory, as nine bits."""

    def resolve(self, path: str) -> str:
        """Return the file that a path leads to through symbolic links."""

    def imitate(self, path: str, model: str) -> None:
        """Give a file the mode and the owner of another one."""

    def read_only(self) -> Disk:
        """The same files for who only looks at them: they need not be writable."""


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


def open_to_others(disk: Disk, folder: str, files: Iterable[str]) -> str:
    """The first of a folder's files that not only its owner may read; empty when there is none.

    A folder that others may not enter hides all it holds.
    """
    if not disk.mode(folder) & 0o011:
        return ""
    return next((path for path in files if disk.exists(path) and disk.mode(path) & 0o044), "")


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


class _RealPart:
    def __init__(self, fd: int, offset: int, size: int) -> None:
        self.buffer = mmap.mmap(fd, size, offset=offset)
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(self.buffer))
        self._pages = ctypes.create_string_buffer(-(-size // mmap.PAGESIZE))

    def is_ready(self, size: int) -> bool:
        pages = -(-size // mmap.PAGESIZE)
        address = ctypes.c_void_p(self._address)
        return _LIBC.mincore(address, ctypes.c_size_t(size), self._pages) == 0 and (
            self._pages.raw.count(1, 0, pages) == pages
        )


class RealFile:
    """A file of the operating system. Errors name its path."""

    __slots__ = ("_fd", "_path")

    def __init__(self, fd: int, path: str) -> None:
        self._fd = fd
        self._path = path

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

    def part(self, offset: int, size: int) -> Part | None:
        if not hasattr(_LIBC, "mincore"):
            return None  # nothing tells whether it would wait
        try:
            return _RealPart(self._fd, offset, size)
        except OSError:  # opened for reading only, or there is no more room to map
            return None

    def read_ahead(self, offset: int, size: int) -> None:
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self._fd, offset, size, os.POSIX_FADV_WILLNEED)

    def write(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        try:
            done = os.pwrite(self._fd, data, offset)
            while done < len(data):
                more = os.pwrite(self._fd, memoryview(data)[done:], offset + done)
                if more == 0:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                done += more
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._path) from None

    def sync(self) -> None:
        try:
            os.fdatasync(self._fd)
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._path) from None

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def used(self) -> int:
        size = self.size()
        if not hasattr(os, "SEEK_HOLE"):
            return size
        hole = os.lseek(self._fd, 0, os.SEEK_HOLE) if size else 0
        while hole < size:
            try:
                data = os.lseek(self._fd, hole, os.SEEK_DATA)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
                return hole
            hole = os.lseek(self._fd, data, os.SEEK_HOLE)
        return size

    def truncate(self, size: int) -> None:
        try:
            os.ftruncate(self._fd, size)
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._path) from None

    def window(self, size: int) -> Window:
        # Real room, as writing to a hole through memory on a full disk would end the process.
        try:
            os.posix_fallocate(self._fd, 0, size)
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._path) from None
        return _RealWindow(self._fd, size)

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        self.close()


class RealFileSystem:
    """A file system of the operating system, by one of its directories."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._syncfs = getattr(_LIBC, "syncfs", None)

    def sync(self) -> None:
        if self._syncfs is None:
            os.sync()
        elif self._syncfs(self._fd) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


class RealDisk:
    """The operating system's files."""

    def open(self, path: str, create: bool = False) -> File:
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        return RealFile(os.open(path, flags, FILE_MODE), path)

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def is_dir(self, path: str) -> bool:
        return os.path.isdir(path)

    def size(self, path: str) -> int:
        return os.stat(path).st_size

    def modified(self, path: str) -> int:
        return os.stat(path).st_mtime_ns // 1_000_000

    def subdirs(self, path: str) -> list[str]:
        try:
            with os.scandir(path) as entries:
                return sorted(entry.name for entry in entries if entry.is_dir())
        except FileNotFoundError:
            return []

    def listdir(self, path: str) -> list[str]:
        try:
            return sorted(os.listdir(path))
        except FileNotFoundError:
            return []

    def makedirs(self, path: str) -> None:
        # From the inside out, as most of the way is there; not by `os.makedirs`, which gives the mode to the
        # last one only.
        try:
            self._mkdir(path)
        except FileNotFoundError:
            parent = os.path.dirname(path)
            if parent in ("", path):
                raise
            self.makedirs(parent)
            self._mkdir(path)

    def _mkdir(self, path: str) -> None:
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, FOLDER_MODE)

    def rename(self, old: str, new: str) -> None:
        os.replace(old, new)

    def link(self, old: str, new: str) -> None:
        """Give a file a second name. Raises `OSError`, as across file systems."""
        os.link(old, new)

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

    def file_system(self, path: str) -> FileSystem:
        return RealFileSystem(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))

    def read_bytes(self, path: str) -> bytes:
        file = RealFile(os.open(path, os.O_RDONLY | os.O_CLOEXEC), path)
        try:
            return file.read(0, file.size())
        finally:
            file.close()

    def lock(self, path: str) -> File:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        try:
            # The first byte, with the kind of lock that Java's FileChannel.tryLock takes.
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0, os.SEEK_SET)
        except OSError:
            os.close(fd)
            raise
        return RealFile(fd, path)

    def usage(self, path: str) -> tuple[int, int]:
        stat = os.statvfs(path)
        # As df counts: room kept for the administrator is neither used nor free.
        used = stat.f_blocks - stat.f_bfree
        return stat.f_frsize * (used + stat.f_bavail), stat.f_frsize * stat.f_bavail

    def capacity(self, path: str) -> tuple[int, int]:
        stat = os.statvfs(path)
        return stat.f_frsize * stat.f_blocks, stat.f_frsize * stat.f_bfree

    def mode(self, path: str) -> int:
        return os.stat(path).st_mode & 0o777

    def resolve(self, path: str) -> str:
        return os.path.realpath(path)

    def imitate(self, path: str, model: str) -> None:
        own, other = os.stat(path), os.stat(model)
        if (own.st_uid, own.st_gid) != (other.st_uid, other.st_gid):
            os.chown(path, other.st_uid, other.st_gid)
        os.chmod(path, other.st_mode & 0o7777)

    def read_only(self) -> Disk:
        return ReadOnlyDisk()


class ReadOnlyDisk(RealDisk):
    """The operating system's files for who only looks at them: they need not be writable, and stay as they
    are."""

    def open(self, path: str, create: bool = False) -> File:
        if create:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
        return RealFile(os.open(path, os.O_RDONLY | os.O_CLOEXEC), path)

    def lock(self, path: str) -> File:
        """As any disk's, but several who look may have it at once."""
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.lockf(fd, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, 0, os.SEEK_SET)
        except OSError:
            os.close(fd)
            raise
        return RealFile(fd, path)

    def makedirs(self, path: str) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)

    def rename(self, old: str, new: str) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), old)

    def unlink(self, path: str) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)

    def rmtree(self, path: str) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
