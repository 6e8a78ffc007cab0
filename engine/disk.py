"""File access: everything the engine reads or writes goes through a `Disk`.

`engine.real_disk` is the operating system; `engine.testing.crash_disk` is a double for tests, with simulated
power loss and failures. Offsets are explicit (pread and pwrite): no file has a position, so a file may be
read while it is written. Every failure is an `OSError`. A `File` closes with its last reference, so one may
be evicted on one thread while a worker still syncs it.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable
from typing import Final, Protocol

FILE_MODE: Final = 0o600
FOLDER_MODE: Final = 0o700
"""Modes of new files and directories, unless the umask allows less: messages are private."""

PART_UNIT: Final = mmap.ALLOCATIONGRANULARITY
"""Alignment in bytes of the beginning of a part."""


class Window(Protocol):
    """A writable memory mapping of a part of a file: `buffer` is read and written in place."""

    @property
    def buffer(self) -> mmap.mmap | memoryview:
        """The bytes; big-endian words are accessed with `struct`."""

    def forget(self) -> None:
        """Release the resident pages; the content is kept."""

    def close(self) -> None:
        """Unmap the window; the buffer must not be used any more."""


class Slices(Protocol):
    """A source of bytes for a slice."""

    def __getitem__(self, where: slice, /) -> bytes: ...


class MappedRegion(Protocol):
    """A readable memory mapping of a part of a file."""

    @property
    def buffer(self) -> Slices:
        """The current bytes; the part is unmapped with the last reference to it."""

    def is_ready(self, size: int) -> bool:
        """Return True if the first `size` bytes are in memory, so that reading them does not block."""


class FileSystem(Protocol):
    """A whole file system, to sync thousands of files."""

    def sync(self) -> None:
        """Sync all content and all names to stable storage; failures since it was opened raise."""

    def close(self) -> None:
        """Close it."""


class File(Protocol):
    """An open file."""

    def read(self, offset: int, size: int) -> bytes:
        """Return up to `size` bytes from `offset`; fewer only at the end of the file."""

    def read_ready(self, offset: int, size: int) -> bytes | None:
        """Return exactly `size` bytes from `offset`, or None if that would wait for the disk."""

    def part(self, offset: int, size: int) -> MappedRegion | None:
        """Map a part of the file, from a multiple of `PART_UNIT` on; return None if unsupported."""

    def read_ahead(self, offset: int, size: int) -> None:
        """Prefetch bytes into memory in the background."""

    def write(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        """Write all of `data` at `offset`, or raise."""

    def sync(self) -> None:
        """Sync the content to stable storage."""

    def size(self) -> int:
        """Return the length in bytes."""

    def used(self) -> int:
        """Return an offset after which there are only zeros, as small as can be found without reading."""

    def truncate(self, size: int) -> None:
        """Set the length; a longer one adds zeros without using space."""

    def window(self, size: int) -> Window:
        """Map the first `size` bytes of the file, writable."""

    def close(self) -> None:
        """Close at once; a second close does nothing."""


class Disk(Protocol):
    """A file system. Paths are strings; directories are separated by "/"."""

    def open(self, path: str, create: bool = False) -> File:
        """Open for reading and writing; with `create` a missing file is created, empty."""

    def exists(self, path: str) -> bool:
        """Return True if a file or directory exists."""

    def is_dir(self, path: str) -> bool:
        """Return True if a directory exists."""

    def size(self, path: str) -> int:
        """Return the length of a file in bytes."""

    def modified(self, path: str) -> int:
        """Return the time of the last write, in milliseconds since the epoch."""

    def subdirs(self, path: str) -> list[str]:
        """Return the names of the directories in a directory, sorted; a missing directory counts as empty."""

    def listdir(self, path: str) -> list[str]:
        """Return the names in a directory, sorted; a missing directory counts as empty."""

    def makedirs(self, path: str) -> None:
        """Create a directory and its parents; existing ones are left alone."""

    def rename(self, old: str, new: str) -> None:
        """Rename a file, replacing `new` atomically."""

    def unlink(self, path: str) -> None:
        """Remove a file."""

    def rmtree(self, path: str) -> None:
        """Remove a directory with its content; a missing one is no error."""

    def sync_dir(self, path: str) -> None:
        """Make the names in a directory durable."""

    def file_system(self, path: str) -> FileSystem:
        """Return the file system of a directory."""

    def read_bytes(self, path: str) -> bytes:
        """Return the whole content of a file."""

    def lock(self, path: str) -> File:
        """Open and lock a file against other processes until it is closed.

        Raises `BlockingIOError` if it is locked.
        """

    def usage(self, path: str) -> tuple[int, int]:
        """Return the usable and the free bytes of the file system of `path`."""

    def capacity(self, path: str) -> tuple[int, int]:
        """Return all and the free bytes of that file system, with space reserved for the administrator."""

    def mode(self, path: str) -> int:
        """Return the permissions of a file or directory, as nine bits."""

    def resolve(self, path: str) -> str:
        """Return the file that a path leads to through symbolic links."""

    def imitate(self, path: str, model: str) -> None:
        """Give a file the mode and the owner of another one."""

    def read_only(self) -> Disk:
        """Return a disk for the same files that only reads: they need not be writable."""


class LinkingDisk(Disk, Protocol):
    """A disk on which files may have several names."""

    def link(self, old: str, new: str) -> None:
        """Create a hard link. Raises `OSError`, as across file systems."""


def make_directories(disk: Disk, path: str) -> None:
    """Create a directory and missing parents durably: they survive a power cut."""
    missing = []
    while path and not disk.is_dir(path):
        missing.append(path)
        path = os.path.dirname(path)
    if missing:
        disk.makedirs(missing[0])
    for made in missing:
        disk.sync_dir(os.path.dirname(made) or ".")


def open_to_others(disk: Disk, folder: str, files: Iterable[str]) -> str:
    """Return the first of a directory's files that other users may read; empty if there is none.

    A directory that others may not enter hides all its files.
    """
    if not disk.mode(folder) & 0o011:
        return ""
    return next((path for path in files if disk.exists(path) and disk.mode(path) & 0o044), "")


def total_memory() -> int:
    """Return the memory that this process may use, in bytes: the machine's, or the container's limit."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as limit:
            return min(total, int(limit.read()))
    except (OSError, ValueError):
        return total
