"""A disk before another that takes no changes for now: a start goes on, and what it changes waits in memory.

Every start writes something: its mark, repairs, what a crash left to do. On a full or read-only disk it
would fail, though all that is stored could be read. `Overlay` has three states:

    passing   what is asked for is asked of the disk below; files are the disk's own
    starting  (`begin`) the same; but the first change that fails for want of room, or because the file system
              is read-only, is kept in memory, and so is each one after it, in order. Who reads sees them
    refusing  (`end`, if anything is held) a change fails with the error that began it; only old files may be
              removed. `carry_out` tries what is held, in order, syncs included; when that has been done,
              `settle` goes back to passing

A crash at any moment leaves what a crash at an earlier moment of the start would have left.
"""

from __future__ import annotations

import errno
import logging
import os
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from mqgateway.engine.disk import Disk, File, FileSystem, Part, Window
from mqgateway.engine.held_files import Content

log = logging.getLogger(__name__)

CURABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})
"""Errors that end when somebody makes room, or mounts the file system for writing."""
HELD_MAX = 512 << 20
"""Bytes that are held at most: a start that has more to write fails as it would without."""


class _Change(NamedTuple):
    """Something to be done; `path` is what it is done to, `size` what it takes of memory."""

    call: str
    path: str
    offset: int = 0
    data: bytes = b""


class _Window:
    """A window into what is held, later into the file."""

    def __init__(self, content: Content, size: int) -> None:
        self._buffer: memoryview | None = memoryview(content.open_window(size))[:size]
        self._size = size
        self._real: Window | None = None

    @property
    def buffer(self) -> Any:
        return self._buffer if self._real is None else self._real.buffer

    def forget(self) -> None:
        if self._real is not None:
            self._real.forget()

    def close(self) -> None:
        if self._real is not None:
            self._real.close()
        if self._buffer is not None:
            self._buffer.release()
            self._buffer = None

    def become(self, file: File) -> None:
        """Go on in the file itself. Raises `OSError`."""
        if self._buffer is not None:
            self._real = file.window(self._size)
            self._real.buffer[: self._size] = bytes(self._buffer)
            self._buffer.release()
            self._buffer = None


class _HeldFile:
    """A file: the disk's own, or with `content` one that differs from it."""

    def __init__(self, overlay: Overlay, path: str, file: File | None, *, may_write: bool) -> None:
        self._overlay = overlay
        self.path = path
        self.file = file
        self.may_write = may_write
        self.content: Content | None = None
        self.window_held: _Window | None = None

    def _below(self) -> File:
        assert self.file is not None
        return self.file

    def read(self, offset: int, size: int) -> bytes:
        content = self.content
        return self._below().read(offset, size) if content is None else content.read(offset, size)

    def read_ready(self, offset: int, size: int) -> bytes | None:
        content = self.content
        if content is None:
            return self._below().read_ready(offset, size)
        return content.read(offset, size) if offset + size <= content.size else None

    def part(self, offset: int, size: int) -> Part | None:
        return self._below().part(offset, size) if self.content is None else None

    def read_ahead(self, offset: int, size: int) -> None:
        if self.content is None:
            self._below().read_ahead(offset, size)

    def write(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        self._overlay.change_file(
            self,
            _Change("write", self.path, offset, bytes(data)),
            lambda file: file.write(offset, data),
            lambda content: content.write(offset, data),
        )

    def truncate(self, size: int) -> None:
        self._overlay.change_file(
            self,
            _Change("truncate", self.path, size),
            lambda file: file.truncate(size),
            lambda content: content.truncate(size),
        )

    def sync(self) -> None:
        if not self._overlay.note_sync(_Change("sync", self.path)):
            self._below().sync()

    def size(self) -> int:
        return self._below().size() if self.content is None else self.content.size

    def used(self) -> int:
        return self._below().used() if self.content is None else self.content.used()

    def window(self, size: int) -> Window:
        windows: list[Window] = []

        def hold(content: Content) -> None:
            self.window_held = _Window(content, size)
            windows.append(self.window_held)
            self._overlay.note_window(self.path, content)

        self._overlay.change_file(
            self, _Change("window", self.path, size), lambda file: windows.append(file.window(size)), hold
        )
        return windows[0]

    def close(self) -> None:
        if self.file is not None:
            self._overlay.forget(self.file)
            self.file.close()


class _HeldFileSystem:
    def __init__(self, overlay: Overlay, path: str, below: FileSystem) -> None:
        self._overlay = overlay
        self._path = path
        self._below = below

    def sync(self) -> None:
        if not self._overlay.note_sync(_Change("sync_all", self._path)):
            self._below.sync()

    def close(self) -> None:
        self._below.close()


_GONE = None
_FOLDER = "folder"
_Name = Content | str | None


class Overlay:
    """See the head of the file. `refusal` says why changes are refused; empty while they are not."""

    def __init__(self, below: Disk) -> None:
        self.below = below
        self.refusal = ""
        self._reader = below.read_only()
        self._is_starting = False
        self._error: OSError | None = None
        self._held = 0
        self._names: dict[str, _Name] = {}
        self._changes: deque[_Change] = deque()
        self._files: weakref.WeakSet[_HeldFile] = weakref.WeakSet()
        self._noted: set[_Change] = set()
        self._opened: dict[str, File] = {}
        self._locks: dict[str, _HeldFile] = {}
        self._windows: dict[str, Content] = {}
        self._complaint = ""

    # The states.

    def begin(self) -> None:
        """A start begins: what it cannot write is held."""
        self._is_starting = True

    def end(self) -> None:
        """The start is over: from now on changes are refused, if any is held."""
        self._is_starting = False
        if self._error is not None:
            self.refusal = f"the disk takes no writes: {self._error}"
            log.error("%s; sends are refused, stored messages are served; retried every second", self._error)

    def carry_out(self) -> bool:
        """Do what is held as far as it goes, away from the loop; whether all of it is done."""
        try:
            while self._changes:
                self._carry_out(self._changes[0])
                self._changes.popleft()
        except OSError as error:
            if error.errno not in CURABLE and str(error) != self._complaint:
                self._complaint = str(error)
                log.error("writes of the start cannot be stored: %s; will retry", error)
            return False
        return True

    def settle(self) -> None:
        """After `carry_out` has done all: the disk below counts again. Raises `OSError`; try again then."""
        for held in list(self._files):
            self._bind(held)
        self._error = None
        while self._changes:  # noted since
            self._carry_out(self._changes.popleft())
        for kept in (self._names, self._noted, self._opened, self._locks, self._windows):
            kept.clear()
        self._held = 0
        self.refusal = ""

    def _bind(self, held: _HeldFile) -> None:
        """Let a file be the disk's own again."""
        if not held.may_write:
            try:
                held.file = (
                    self._opened[held.path] if held.path in self._locks else self.below.open(held.path)
                )
            except FileNotFoundError:  # removed meanwhile; who still reads it may go on
                return
            held.may_write = True
        if held.window_held is not None:
            assert held.file is not None
            held.window_held.become(held.file)
        held.content = held.window_held = None

    # Changes.

    def change_file(
        self,
        held: _HeldFile,
        change: _Change,
        at_once: Callable[[File], None],
        in_memory: Callable[[Content], None],
    ) -> None:
        """Change the content of a file, below or in memory. Raises `OSError`."""
        if self._error is None:
            try:
                at_once(held._below())
                return
            except OSError as error:
                self._hold(error)
        elif not self._is_starting:
            if held.content is None and held.may_write and not self.below.exists(held.path):
                at_once(held._below())  # a file that was removed gives back its room
                return
            raise self._refused(held.path)
        content = self._content(held)
        before = content.held
        in_memory(content)
        self._note(change, content.held - before)

    def _change_name(
        self, change: _Change, at_once: Callable[[], None], in_memory: Callable[[], None]
    ) -> None:
        if self._error is None:
            try:
                at_once()
                return
            except OSError as error:
                self._hold(error)
        elif not self._is_starting:
            raise self._refused(change.path)
        in_memory()
        self._note(change, 0)

    def note_sync(self, change: _Change) -> bool:
        """Whether something is held, so that a sync has its turn after it."""
        if self._error is None:
            return False
        if self._is_starting:
            self._changes.append(change)
        elif change not in self._noted:  # no change comes after it any more
            self._noted.add(change)
            self._changes.append(change)
        return True

    def note_window(self, path: str, content: Content) -> None:
        """A window was opened: what it holds is written whole, as changes in it are not seen."""
        self._windows[path] = content

    def forget(self, file: File) -> None:
        """A file is closed: it is no way to carry out what is held."""
        for path in [path for path, opened in self._opened.items() if opened is file]:
            del self._opened[path]

    def _hold(self, error: OSError) -> None:
        """Begin to hold, or let the error out."""
        if not self._is_starting or error.errno not in CURABLE:
            raise error
        self._error = error
        for held in self._files:
            if held.file is not None and held.may_write:
                self._opened[held.path] = held.file
        log.warning("%s: writes of this start are kept in memory until the disk accepts them", error)

    def _note(self, change: _Change, more: int) -> None:
        self._held += len(change.data) + more
        if self._held > HELD_MAX:
            assert self._error is not None
            raise self._error
        self._changes.append(change)

    def _refused(self, path: str) -> OSError:
        assert self._error is not None
        return OSError(self._error.errno, self._error.strerror, path)

    def _content(self, held: _HeldFile) -> Content:
        if held.content is None:
            found = self._names.get(held.path)
            if isinstance(found, Content):
                held.content = found
            else:
                held.content = self._names[held.path] = Content(held.file)
                for other in self._files:
                    if other.path == held.path:
                        other.content = held.content
        return held.content

    def _carry_out(self, change: _Change) -> None:
        below, path = self.below, change.path
        try:
            match change.call:
                case "create":
                    self._opened[path] = below.open(path, create=True)
                case "write":
                    self._open_below(path).write(change.offset, change.data)
                case "truncate":
                    self._open_below(path).truncate(change.offset)
                case "window":
                    file = self._open_below(path)
                    file.window(change.offset).close()  # there is room for it
                    found = self._windows[path]
                    file.write(0, bytes(found.window))
                case "sync":
                    self._open_below(path).sync()
                case "lock":
                    self._lock_below(path)
                case "rename":
                    below.rename(path, change.data.decode())
                    self._opened.pop(change.data.decode(), None)
                    if path in self._opened:
                        self._opened[change.data.decode()] = self._opened.pop(path)
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

    def _open_below(self, path: str) -> File:
        file = self._opened.get(path)
        if file is None:
            file = self._opened[path] = self.below.open(path)
        return file

    def _lock_below(self, path: str) -> None:
        """Lock for writing. A second descriptor of the file, closed, would end the lock: the first goes."""
        held = self._locks[path].file
        if held is not None:
            held.close()
        self._opened[path] = self.below.lock(path)

    # The face of a disk.

    def _give(self, path: str, file: File | None, *, may_write: bool = True) -> _HeldFile:
        held = _HeldFile(self, path, file, may_write=may_write)
        found = self._names.get(path)
        if isinstance(found, Content):
            held.content = found
        self._files.add(held)
        return held

    def open(self, path: str, create: bool = False) -> File:
        """As a disk's. What cannot be opened for writing is opened for reading while changes are held."""
        if self._error is None and not self._is_starting:
            return self.below.open(path, create)
        known = self._names.get(path, self)
        if known is _GONE and not create:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        if isinstance(known, Content):
            return self._give(path, known.below, may_write=False)
        if known is self and self.below.exists(path):
            try:
                return self._give(path, self.below.open(path))
            except OSError as error:
                if error.errno not in CURABLE:
                    raise
                if self._error is None:
                    self._hold(error)
                return self._give(path, self._reader.open(path), may_write=False)
        if not create:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return self._create(path)

    def _create(self, path: str) -> File:
        if not self.is_dir(os.path.dirname(path)):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.path.dirname(path))
        made: list[File] = []

        def hold() -> None:
            self._names[path] = Content(None)
            made.append(self._give(path, None, may_write=False))

        self._change_name(
            _Change("create", path),
            lambda: made.append(self._give(path, self.below.open(path, create=True))),
            hold,
        )
        return made[0]

    def exists(self, path: str) -> bool:
        """As a disk's."""
        known = self._names.get(path, self)
        return self.below.exists(path) if known is self else known is not _GONE

    def is_dir(self, path: str) -> bool:
        """As a disk's."""
        known = self._names.get(path, self)
        return self.below.is_dir(path) if known is self else known is _FOLDER

    def size(self, path: str) -> int:
        """As a disk's."""
        known = self._names.get(path, self)
        if known is _GONE:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return known.size if isinstance(known, Content) else self.below.size(path)

    def modified(self, path: str) -> int:
        """As a disk's; what is held counts as of no time."""
        return self.below.modified(path) if self.below.exists(path) else 0

    def listdir(self, path: str) -> list[str]:
        """As a disk's."""
        if not self._names:
            return self.below.listdir(path)
        prefix = path.rstrip("/") + "/"
        names = set(self.below.listdir(path))
        for name, known in self._names.items():
            rest = name[len(prefix) :]
            if name.startswith(prefix) and "/" not in rest:
                names.discard(rest) if known is _GONE else names.add(rest)
        return sorted(names)

    def subdirs(self, path: str) -> list[str]:
        """As a disk's."""
        if not self._names:
            return self.below.subdirs(path)
        return [name for name in self.listdir(path) if self.is_dir(f"{path.rstrip('/')}/{name}")]

    def makedirs(self, path: str) -> None:
        """As a disk's."""

        def hold() -> None:
            each = path
            while each and not self.is_dir(each):
                self._names[each] = _FOLDER
                each = os.path.dirname(each)

        if not self.is_dir(path):
            self._change_name(_Change("makedirs", path), lambda: self.below.makedirs(path), hold)

    def rename(self, old: str, new: str) -> None:
        """As a disk's, for files."""

        def hold() -> None:
            known = self._names.get(old, self)
            if known is self:
                known = Content(self._reader.open(old))
            self._names[old] = _GONE
            self._names[new] = known  # type: ignore[assignment]

        self._change_name(
            _Change("rename", old, data=new.encode()), lambda: self.below.rename(old, new), hold
        )
        for held in self._files:
            if held.path == old:
                held.path = new

    def unlink(self, path: str) -> None:
        """As a disk's; also while changes are refused, for files of which nothing is held."""
        if self._error is not None and not self._is_starting and path not in self._names:
            self.below.unlink(path)
            return
        if not self.exists(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        self._change_name(
            _Change("unlink", path),
            lambda: self.below.unlink(path),
            lambda: self._names.update({path: _GONE}),
        )

    def rmtree(self, path: str) -> None:
        """As a disk's."""

        def hide(each: str) -> None:
            for name in self.listdir(each) if self.is_dir(each) else ():
                hide(f"{each}/{name}")
            self._names[each] = _GONE

        if self.exists(path):
            self._change_name(_Change("rmtree", path), lambda: self.below.rmtree(path), lambda: hide(path))

    def sync_dir(self, path: str) -> None:
        """As a disk's."""
        if self.note_sync(_Change("sync_dir", path)):
            return
        self._change_name(_Change("sync_dir", path), lambda: self.below.sync_dir(path), lambda: None)

    def file_system(self, path: str) -> FileSystem:
        """As a disk's."""
        return _HeldFileSystem(self, path, self.below.file_system(self._nearest(path)))

    def read_bytes(self, path: str) -> bytes:
        """As a disk's."""
        known = self._names.get(path, self)
        if known is self:
            return self.below.read_bytes(path)
        if not isinstance(known, Content):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return known.read(0, known.size)

    def lock(self, path: str) -> File:
        """As a disk's; where it cannot be written, several who read may have it at once."""
        if not self._is_starting:
            return self.below.lock(path)
        made: list[_HeldFile] = []

        def hold() -> None:
            if self.below.exists(path):
                made.append(self._give(path, self._reader.lock(path), may_write=False))
            else:
                self._names[path] = Content(None)
                made.append(self._give(path, None, may_write=False))
            self._locks[path] = made[0]

        self._change_name(
            _Change("lock", path), lambda: made.append(self._give(path, self.below.lock(path))), hold
        )
        return made[0]

    def usage(self, path: str) -> tuple[int, int]:
        """As a disk's."""
        return self.below.usage(self._nearest(path))

    def capacity(self, path: str) -> tuple[int, int]:
        """As a disk's."""
        return self.below.capacity(self._nearest(path))

    def mode(self, path: str) -> int:
        """As a disk's."""
        return self.below.mode(path)

    def resolve(self, path: str) -> str:
        """As a disk's."""
        return self.below.resolve(path)

    def imitate(self, path: str, model: str) -> None:
        """As a disk's; what is held in memory has no owner yet."""
        if path not in self._names:
            self.below.imitate(path, model)

    def read_only(self) -> Disk:
        """As a disk's."""
        return self.below.read_only()

    def _nearest(self, path: str) -> str:
        """The path, or the folder above it that is there below."""
        while self._names and path and not self.below.exists(path):
            path = os.path.dirname(path)
        return path or "/"
