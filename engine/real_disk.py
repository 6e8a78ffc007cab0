"""The operating system's files as a `Disk`; read-only as `ReadOnlyDisk`. Every failure is an `OSError`.

A `RealFile` closes when its last reference goes, which is why a file may be dropped on the event loop while a
worker still syncs it.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import mmap
import os
import shutil
from typing import Final

from mqgateway.engine.disk import FILE_MODE, FOLDER_MODE, Disk, File, FileSystem, MappedRegion, Window

_NO_WAIT: int | None = getattr(os, "RWF_NOWAIT", None)
_LIBC: Final = ctypes.CDLL(None, use_errno=True)


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

    def part(self, offset: int, size: int) -> MappedRegion | None:
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
