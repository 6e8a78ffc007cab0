"""Changes that wait for a disk to accept them, in the order they were made: see `engine.overlay`."""

from __future__ import annotations

import logging
from collections import deque
from typing import NamedTuple

from mqgateway.engine.disk import Disk, File
from mqgateway.engine.held_files import Content

log = logging.getLogger(__name__)


class HeldChange(NamedTuple):
    """One change of `path`; `data` is what is written, or the new path of a rename."""

    call: str
    path: str
    offset: int = 0
    data: bytes = b""


class HeldChanges:
    """The changes, with the files of the disk below that carrying them out needs."""

    def __init__(self, below: Disk) -> None:
        self._below = below
        self._changes: deque[HeldChange] = deque()
        self._last_syncs: set[HeldChange] = set()
        self._opened: dict[str, File] = {}
        self._locks: dict[str, File | None] = {}
        self._windows: dict[str, Content] = {}

    def append(self, change: HeldChange) -> None:
        """Hold a change behind those that are held."""
        self._changes.append(change)

    def append_last_sync(self, change: HeldChange) -> None:
        """Hold a sync that no change follows; once is enough."""
        if change not in self._last_syncs:
            self._last_syncs.add(change)
            self._changes.append(change)

    def note_opened(self, path: str, file: File) -> None:
        """Use a file that is open for writing to carry out changes of `path`."""
        self._opened[path] = file

    def note_lock(self, path: str, reader: File | None) -> None:
        """Note the file that holds a shared lock until `path` is locked for writing."""
        self._locks[path] = reader

    def note_window(self, path: str, content: Content) -> None:
        """Write a window whole when it is carried out, as changes in it are not seen."""
        self._windows[path] = content

    def locked(self, path: str) -> File | None:
        """Return the file that is locked for writing, if `path` was to be locked."""
        return self._opened[path] if path in self._locks else None

    def forget(self, file: File) -> None:
        """Carry nothing out in a file that is closed."""
        for path in [path for path, opened in self._opened.items() if opened is file]:
            del self._opened[path]

    def carry_out(self) -> None:
        """Carry the changes out in order. Raises `OSError`; the change that failed is the next one then."""
        while self._changes:
            self._carry_out(self._changes[0])
            self._changes.popleft()

    def clear(self) -> None:
        """Forget everything: all is carried out."""
        for kept in (self._changes, self._last_syncs, self._opened, self._locks, self._windows):
            kept.clear()

    def _carry_out(self, change: HeldChange) -> None:
        below, path = self._below, change.path
        try:
            match change.call:
                case "create":
                    self._opened[path] = below.open(path, create=True)
                case "write":
                    self._open(path).write(change.offset, change.data)
                case "truncate":
                    self._open(path).truncate(change.offset)
                case "window":
                    file = self._open(path)
                    file.window(change.offset).close()  # allocates its blocks
                    file.write(0, bytes(self._windows[path].window))
                case "sync":
                    self._open(path).sync()
                case "lock":
                    self._lock(path)
                case "rename":
                    self._rename(path, change.data.decode())
                case "unlink" | "rmtree" | "makedirs" | "sync_dir":
                    getattr(below, change.call)(path)
                    if change.call == "unlink":
                        self._opened.pop(path, None)
                case _:
                    file_system = below.file_system(path)
                    file_system.sync()
                    file_system.close()
        except FileNotFoundError as error:
            log.info("%s is gone already: %s", path, error)

    def _open(self, path: str) -> File:
        file = self._opened.get(path)
        if file is None:
            file = self._opened[path] = self._below.open(path)
        return file

    def _rename(self, old: str, new: str) -> None:
        self._below.rename(old, new)
        self._opened.pop(new, None)
        if old in self._opened:
            self._opened[new] = self._opened.pop(old)

    def _lock(self, path: str) -> None:
        """Lock for writing. The shared lock ends first: closing it later would end both, as POSIX has it."""
        reader = self._locks[path]
        if reader is not None:
            reader.close()
        self._opened[path] = self._below.lock(path)
