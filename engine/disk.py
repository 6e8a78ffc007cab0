"""The only door to files.

Everything the engine reads or writes goes through a `Disk`. `engine.real_disk` is the operating system;
`engine.testing.crash_disk` has a double for tests, which loses power and fails as it is told.

Offsets are explicit (pread and pwrite): no file has a position, so a file may be read while it is written.
Every failure is an `OSError`. A `File` closes when its last reference goes, which is why a file may be
dropped here while a worker still syncs it there.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable
from typing import Final, Protocol

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
