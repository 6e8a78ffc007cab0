"""A disk in memory that simulates power cuts, failures and bit rot on demand.

`CrashDisk` implements the interface of `engine.disk.Disk`. It keeps, for everything since the last sync,
the earlier state:

    file        the contents a sector had, oldest first; the lengths the file had
    directory   the names that were made, removed and changed

`crash(seed)` returns the disk that a power cut may leave: whatever was synced, and of the rest a part that
the seed chooses, sector by sector and name by name: any of the contents a sector had, any of the lengths,
any of the names. Sometimes names are kept in order, as journals of file systems do, sometimes not.

Calls are counted, watched, and fail on request: see `disk_faults`. An operation is watched while it is in
flight (written but not synced, or for a sync not yet synced), which is the moment to take a `crash`. A sync
that failed loses what it should have written for good: a later sync that succeeds does not bring it to the
disk, as with the kernel's page cache. `flip` changes a bit, `lose` takes a whole file away.
"""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Callable
from typing import NamedTuple, cast

from mqgateway.engine.disk import File, FileSystem, MappedRegion, Window
from mqgateway.engine.testing.disk_faults import DiskFaults, disk_error
from mqgateway.engine.testing.inode import Inode

_DIRECTORY = Inode()
"""Stands for any directory in the table of names."""


class _NameChange(NamedTuple):
    """A name that went, one that came, or (a rename) both in one step."""

    removed: str
    added: str
    inode: Inode

    def apply(self, names: dict[str, Inode]) -> None:
        if self.removed and names.get(self.removed) is self.inode:
            del names[self.removed]
        if self.added:
            names[self.added] = self.inode


class _CrashWindow:
    def __init__(self, inode: Inode, size: int) -> None:
        self.buffer = inode.open_window(size)

    def forget(self) -> None:
        return

    def close(self) -> None:
        self.buffer.release()


class _CrashPart:
    def __init__(self, file: CrashFile, offset: int, size: int) -> None:
        self._file = file
        self._offset = offset
        self._size = size

    @property
    def buffer(self) -> _CrashPart:
        return self

    def __getitem__(self, where: slice, /) -> bytes:
        begin, end, _ = where.indices(self._size)
        return self._file.read(self._offset + begin, end - begin)

    def is_ready(self, size: int) -> bool:
        return size <= self._size and self._file.is_ready(self._offset, size)


class CrashFile:
    """A file of a `CrashDisk`."""

    def __init__(self, disk: CrashDisk, path: str, inode: Inode) -> None:
        self._disk = disk
        self._path = path
        self._inode = inode

    def read(self, offset: int, size: int) -> bytes:
        self._disk.allow("read", self._path)
        end = min(offset + size, self._inode.size)
        return bytes(self._inode.data[offset:end]).ljust(max(0, end - offset), b"\0")

    def is_ready(self, offset: int, size: int) -> bool:
        """Return True if these bytes exist, in memory."""
        return offset + size <= self._inode.size

    def read_ready(self, offset: int, size: int) -> bytes | None:
        return self.read(offset, size) if self.is_ready(offset, size) else None

    def part(self, offset: int, size: int) -> MappedRegion | None:
        return _CrashPart(self, offset, size)

    def read_ahead(self, offset: int, size: int) -> None:
        return

    def write(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        inode, disk = self._inode, self._disk
        fault = disk.fault("write", self._path)
        inode.modified = disk.millis()
        inode.write(offset, data if fault is None else data[: int(len(data) * fault.part)])
        disk.step("write", self._path)
        if fault is not None:
            raise disk_error(fault.error, self._path)

    def sync(self) -> None:
        disk = self._disk
        disk.syncs += 1
        fault = disk.fault("sync", self._path)
        disk.step("sync", self._path)
        if fault is not None:
            self._inode.lose_sync()
            raise disk_error(fault.error, self._path)
        self._inode.sync()

    def size(self) -> int:
        return self._inode.size

    def used(self) -> int:
        return min(self._inode.size, len(self._inode.data))

    def truncate(self, size: int) -> None:
        self._disk.allow("truncate", self._path)
        self._inode.resize(size)
        self._disk.step("truncate", self._path)

    def window(self, size: int) -> Window:
        self._disk.allow("window", self._path)
        return _CrashWindow(self._inode, size)

    def close(self) -> None:
        self._disk.unlock(self._path, self)


class _CrashFileSystem:
    def __init__(self, disk: CrashDisk, path: str) -> None:
        self._disk = disk
        self._path = path

    def sync(self) -> None:
        self._disk.sync_everything(self._path)

    def close(self) -> None:
        return


class CrashDisk(DiskFaults):
    """See the head of the file. `syncs` counts calls of sync; `used` (bytes), if set, is what `usage`
    returns, and `reserved` what only an administrator has.
    """

    def __init__(self, total: int = 1 << 40, millis: Callable[[], int] = lambda: 0) -> None:
        super().__init__()
        self.total = total
        self.used: int | None = None
        self.reserved = 0
        self.millis = millis
        self.syncs = 0
        self._names: dict[str, Inode] = {"": _DIRECTORY, "/": _DIRECTORY}
        self._durable: dict[str, Inode] = dict(self._names)
        self._journal: dict[str, list[_NameChange]] = {}
        self._locks: dict[str, CrashFile] = {}

    # Operations for tests.

    def flip(self, path: str, offset: int, bit: int = 0) -> None:
        """Change a bit of a file, unseen by its readers and writers."""
        inode = self._get(path)
        inode.reach(offset + 1)
        inode.data[offset] ^= 1 << bit

    def lose(self, path: str) -> None:
        """Remove a whole file for good, unseen by its readers and writers: no operation is counted."""
        inode = self._get(path)
        for names in (self._names, self._durable):
            for name in [name for name, found in names.items() if found is inode]:
                del names[name]
        for changes in self._journal.values():
            changes[:] = [change for change in changes if change.inode is not inode]

    def files(self, folder: str) -> list[str]:
        """Return the paths of all files in a folder and those below it, sorted."""
        return sorted(
            path
            for path, inode in self._names.items()
            if inode is not _DIRECTORY and path.startswith(f"{folder}/")
        )

    def crash(self, seed: int = 0) -> CrashDisk:
        """Return a disk as a power cut now may leave this one, which itself stays usable."""
        choose = random.Random(seed)
        left = CrashDisk(self.total, self.millis)
        left.used = self.used
        names = dict(self._durable)
        keep = choose.choice((0.0, 0.3, 0.7, 1.0))
        in_order = choose.random() < 0.5
        for changes in self._journal.values():
            if in_order:
                changes = changes[: choose.randint(0, len(changes))]
            else:
                changes = [change for change in changes if choose.random() < keep]
            for change in changes:
                change.apply(names)
        copies: dict[int, Inode] = {id(_DIRECTORY): _DIRECTORY}
        for path in sorted(names):
            inode = names[path]
            if path in ("", "/") or os.path.dirname(path) in left._names:
                if id(inode) not in copies:
                    copies[id(inode)] = inode.after_crash(choose)
                left._names[path] = copies[id(inode)]
        left._durable = dict(left._names)
        return left

    def kill(self) -> CrashDisk:
        """Return this disk after the process died but the machine did not: everything written is there."""
        self._locks.clear()
        return self

    # Calls of files.

    def unlock(self, path: str, file: CrashFile) -> None:
        """Release a lock when the file that holds it is closed."""
        if self._locks.get(path) is file:
            del self._locks[path]

    # The interface of a disk.

    def _change(self, call: str, removed: str, added: str, inode: Inode) -> None:
        change = _NameChange(removed, added, inode)
        change.apply(self._names)
        self._journal.setdefault(os.path.dirname(added or removed), []).append(change)
        self.step(call, added or removed)

    def _get(self, path: str) -> Inode:
        inode = self._names.get(path)
        if inode is None or inode is _DIRECTORY:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return inode

    def open(self, path: str, create: bool = False) -> File:
        self.allow("open", path)
        if create and path not in self._names:
            if not self.is_dir(os.path.dirname(path)):
                raise disk_error(errno.ENOENT, os.path.dirname(path))
            inode = Inode()
            inode.modified = self.millis()
            self._change("create", "", path, inode)
        return CrashFile(self, path, self._get(path))

    def exists(self, path: str) -> bool:
        return path in self._names

    def is_dir(self, path: str) -> bool:
        return self._names.get(path) is _DIRECTORY

    def size(self, path: str) -> int:
        return self._get(path).size

    def modified(self, path: str) -> int:
        return 0 if self.is_dir(path) else self._get(path).modified

    def listdir(self, path: str) -> list[str]:
        prefix = path.rstrip("/") + "/"
        return sorted({p[len(prefix) :].split("/", 1)[0] for p in self._names if p.startswith(prefix)} - {""})

    def subdirs(self, path: str) -> list[str]:
        return [name for name in self.listdir(path) if self.is_dir(f"{path}/{name}")]

    def makedirs(self, path: str) -> None:
        self.allow("makedirs", path)
        missing = []
        while path not in self._names:
            missing.append(path)
            path = os.path.dirname(path)
        for each in reversed(missing):
            self._change("mkdir", "", each, _DIRECTORY)

    def rename(self, old: str, new: str) -> None:
        self.allow("rename", old)
        self._change("rename", old, new, self._get(old))

    def unlink(self, path: str) -> None:
        self.allow("unlink", path)
        self._change("unlink", path, "", self._get(path))

    def rmtree(self, path: str) -> None:
        self.allow("unlink", path)
        for name in sorted((name for name in self._names if f"{name}/".startswith(f"{path}/")), reverse=True):
            self._change("unlink", name, "", self._names[name])

    def sync_dir(self, path: str) -> None:
        self.syncs += 1
        self.allow("sync_dir", path)
        if not self.is_dir(path):
            raise disk_error(errno.ENOENT, path)
        self.step("sync_dir", path)
        for change in self._journal.pop(path, ()):
            change.apply(self._durable)

    def file_system(self, path: str) -> FileSystem:
        return _CrashFileSystem(self, path)

    def sync_everything(self, path: str) -> None:
        """Make all content and all names durable, as asked for through a directory."""
        self.syncs += 1
        self.allow("sync", path)
        self.step("sync", path)
        for inode in {id(inode): inode for inode in self._names.values()}.values():
            if inode is not _DIRECTORY:
                inode.sync()
        self._journal.clear()
        self._durable = dict(self._names)

    def read_bytes(self, path: str) -> bytes:
        return CrashFile(self, path, self._get(path)).read(0, self._get(path).size)

    def lock(self, path: str) -> File:
        if path in self._locks:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN), path)
        file = cast(CrashFile, self.open(path, create=True))
        self._locks[path] = file
        return file

    def usage(self, path: str) -> tuple[int, int]:
        used = self.used
        if used is None:
            used = sum(len(inode.data) for inode in self._names.values())
        return self.total, self.total - used

    def capacity(self, path: str) -> tuple[int, int]:
        total, free = self.usage(path)
        return total + self.reserved, free + self.reserved

    def mode(self, path: str) -> int:
        return 0o700 if self.is_dir(path) else 0o600

    def resolve(self, path: str) -> str:
        return path

    def imitate(self, path: str, model: str) -> None:
        self.allow("imitate", path)

    def read_only(self) -> CrashDisk:
        return _Looked(self)


class _Looked(CrashDisk):
    """A read-only view of another disk's names and files: faults of opening are for writers."""

    def __init__(self, disk: CrashDisk) -> None:
        super().__init__(disk.total, disk.millis)
        self._disk = disk
        self._names = disk._names

    def open(self, path: str, create: bool = False) -> File:
        if create:
            raise disk_error(errno.EROFS, path)
        return CrashFile(self._disk, path, self._get(path))

    def lock(self, path: str) -> File:
        if path in self._disk._locks:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN), path)
        return self.open(path)
