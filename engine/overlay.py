"""A disk over another that refuses changes for now: a start continues, and its changes wait in memory.

Every start writes something: its mark, repairs, work left by a crash. On a full or read-only disk it would
fail, though all stored data could be read. `Overlay` has three states:

    passing   requests go to the disk below; files are the disk's own
    starting  (`begin`) the same. But the first change that fails for lack of space, or because the file
system
              is read-only, is kept in memory, and so is each one after it, in order. Readers see them
    refusing  (`end`, if anything is held) a change fails with the error that began it; only old files may be
              removed. `carry_out` tries held changes, in order, syncs included; after success `settle`
              returns to passing

A crash at any moment leaves the state of a crash at an earlier moment of the start.
"""

from __future__ import annotations

import errno
import logging
import os
import weakref
from collections.abc import Callable

from mqgateway.engine.disk import Disk, File, FileSystem
from mqgateway.engine.held_changes import HeldChange, HeldChanges
from mqgateway.engine.held_files import Content
from mqgateway.engine.overlay_files import HeldFile, HeldFileSystem

log = logging.getLogger(__name__)

CURABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})
"""Errors that an operator can cure, by freeing space, or by mounting the file system for writing."""
HELD_MAX = 512 << 20
"""Maximum of held bytes: a start that writes more fails as it would without."""


_GONE = None
_FOLDER = "folder"
_Name = Content | str | None


class Overlay:
    """See the module docstring. `refusal` is the reason why changes are refused, or ""."""

    def __init__(self, below: Disk) -> None:
        self.below = below
        self.refusal = ""
        self._reader = below.read_only()
        self._is_starting = False
        self._error: OSError | None = None
        self._held = 0
        self._names: dict[str, _Name] = {}
        self.held_changes = HeldChanges(below)
        self._files: weakref.WeakSet[HeldFile] = weakref.WeakSet()
        self._complaint = ""

    # The states.

    def begin(self) -> None:
        """Begin a start: writes that fail are held."""
        self._is_starting = True

    def end(self) -> None:
        """End the start: from now on changes are refused, if any is held."""
        self._is_starting = False
        if self._error is not None:
            self.refusal = f"the disk takes no writes: {self._error}"
            log.error("%s; sends are refused, stored messages are served; retried every second", self._error)

    def carry_out(self) -> bool:
        """Carry out held changes, off the event loop; return True if all are done."""
        try:
            self.held_changes.carry_out()
        except OSError as error:
            if error.errno not in CURABLE and str(error) != self._complaint:
                self._complaint = str(error)
                log.error("writes of the start cannot be stored: %s; will retry", error)
            return False
        return True

    def settle(self) -> None:
        """Return to passing, after `carry_out` has done all. Raises `OSError`; then retry."""
        for held in list(self._files):
            self._bind(held)
        self._error = None
        self.held_changes.carry_out()  # noted since
        self.held_changes.clear()
        self._names.clear()
        self._held = 0
        self.refusal = ""

    def _bind(self, held: HeldFile) -> None:
        """Bind a file to the disk's own again."""
        if not held.may_write:
            try:
                held.file = self.held_changes.locked(held.path) or self.below.open(held.path)
            except FileNotFoundError:  # removed meanwhile; its readers may continue
                return
            held.may_write = True
        if held.window_held is not None:
            assert held.file is not None
            held.window_held.become(held.file)
        held.content = held.window_held = None

    # Changes.

    def change_file(
        self,
        held: HeldFile,
        change: HeldChange,
        at_once: Callable[[File], None],
        in_memory: Callable[[Content], None],
    ) -> None:
        """Change the content of a file, below or in memory. Raises `OSError`."""
        if self._error is None:
            try:
                at_once(held.below())
                return
            except OSError as error:
                self._hold(error)
        elif not self._is_starting:
            if held.content is None and held.may_write and not self.below.exists(held.path):
                at_once(held.below())  # a removed file gives back its space
                return
            raise self._refused(held.path)
        content = self._content(held)
        before = content.held
        in_memory(content)
        self._note(change, content.held - before)

    def _change_name(
        self, change: HeldChange, at_once: Callable[[], None], in_memory: Callable[[], None]
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

    def note_sync(self, change: HeldChange) -> bool:
        """Return True if changes are held, so that the sync is queued after them."""
        if self._error is None:
            return False
        if self._is_starting:
            self.held_changes.append(change)
        else:
            self.held_changes.append_last_sync(change)
        return True

    def _hold(self, error: OSError) -> None:
        """Begin to hold changes, or raise the error."""
        if not self._is_starting or error.errno not in CURABLE:
            raise error
        self._error = error
        for held in self._files:
            if held.file is not None and held.may_write:
                self.held_changes.note_opened(held.path, held.file)
        log.warning("%s: writes of this start are kept in memory until the disk accepts them", error)

    def _note(self, change: HeldChange, more: int) -> None:
        self._held += len(change.data) + more
        if self._held > HELD_MAX:
            assert self._error is not None
            raise self._error
        self.held_changes.append(change)

    def _refused(self, path: str) -> OSError:
        assert self._error is not None
        return OSError(self._error.errno, self._error.strerror, path)

    def _content(self, held: HeldFile) -> Content:
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

    # The interface of a disk.

    def _give(self, path: str, file: File | None, *, may_write: bool = True) -> HeldFile:
        held = HeldFile(self, path, file, may_write=may_write)
        found = self._names.get(path)
        if isinstance(found, Content):
            held.content = found
        self._files.add(held)
        return held

    def open(self, path: str, create: bool = False) -> File:
        """Open as `Disk.open`. While changes are held, an unwritable file is opened for reading."""
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
            HeldChange("create", path),
            lambda: made.append(self._give(path, self.below.open(path, create=True))),
            hold,
        )
        return made[0]

    def exists(self, path: str) -> bool:
        """See `Disk`."""
        known = self._names.get(path, self)
        return self.below.exists(path) if known is self else known is not _GONE

    def is_dir(self, path: str) -> bool:
        """See `Disk`."""
        known = self._names.get(path, self)
        return self.below.is_dir(path) if known is self else known is _FOLDER

    def size(self, path: str) -> int:
        """See `Disk`."""
        known = self._names.get(path, self)
        if known is _GONE:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return known.size if isinstance(known, Content) else self.below.size(path)

    def modified(self, path: str) -> int:
        """See `Disk`; 0 for a held file."""
        return self.below.modified(path) if self.below.exists(path) else 0

    def listdir(self, path: str) -> list[str]:
        """See `Disk`."""
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
        """See `Disk`."""
        if not self._names:
            return self.below.subdirs(path)
        return [name for name in self.listdir(path) if self.is_dir(f"{path.rstrip('/')}/{name}")]

    def makedirs(self, path: str) -> None:
        """See `Disk`."""

        def hold() -> None:
            each = path
            while each and not self.is_dir(each):
                self._names[each] = _FOLDER
                each = os.path.dirname(each)

        if not self.is_dir(path):
            self._change_name(HeldChange("makedirs", path), lambda: self.below.makedirs(path), hold)

    def rename(self, old: str, new: str) -> None:
        """See `Disk`; only for files."""

        def hold() -> None:
            known = self._names.get(old, self)
            if known is self:
                known = Content(self._reader.open(old))
            self._names[old] = _GONE
            self._names[new] = known  # type: ignore[assignment]

        self._change_name(
            HeldChange("rename", old, data=new.encode()), lambda: self.below.rename(old, new), hold
        )
        for held in self._files:
            if held.path == old:
                held.path = new

    def unlink(self, path: str) -> None:
        """See `Disk`; also while changes are refused, for files without held changes."""
        if self._error is not None and not self._is_starting and path not in self._names:
            self.below.unlink(path)
            return
        if not self.exists(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        self._change_name(
            HeldChange("unlink", path),
            lambda: self.below.unlink(path),
            lambda: self._names.update({path: _GONE}),
        )

    def rmtree(self, path: str) -> None:
        """See `Disk`."""

        def hide(each: str) -> None:
            for name in self.listdir(each) if self.is_dir(each) else ():
                hide(f"{each}/{name}")
            self._names[each] = _GONE

        if self.exists(path):
            self._change_name(HeldChange("rmtree", path), lambda: self.below.rmtree(path), lambda: hide(path))

    def sync_dir(self, path: str) -> None:
        """See `Disk`."""
        if self.note_sync(HeldChange("sync_dir", path)):
            return
        self._change_name(HeldChange("sync_dir", path), lambda: self.below.sync_dir(path), lambda: None)

    def file_system(self, path: str) -> FileSystem:
        """See `Disk`."""
        return HeldFileSystem(self, path, self.below.file_system(self._nearest(path)))

    def read_bytes(self, path: str) -> bytes:
        """See `Disk`."""
        known = self._names.get(path, self)
        if known is self:
            return self.below.read_bytes(path)
        if not isinstance(known, Content):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return known.read(0, known.size)

    def lock(self, path: str) -> File:
        """See `Disk`; if it cannot be written, several readers may have the lock at once."""
        if not self._is_starting:
            return self.below.lock(path)
        made: list[HeldFile] = []

        def hold() -> None:
            if self.below.exists(path):
                made.append(self._give(path, self._reader.lock(path), may_write=False))
            else:
                self._names[path] = Content(None)
                made.append(self._give(path, None, may_write=False))
            self.held_changes.note_lock(path, made[0].file)

        self._change_name(
            HeldChange("lock", path), lambda: made.append(self._give(path, self.below.lock(path))), hold
        )
        return made[0]

    def usage(self, path: str) -> tuple[int, int]:
        """See `Disk`."""
        return self.below.usage(self._nearest(path))

    def capacity(self, path: str) -> tuple[int, int]:
        """See `Disk`."""
        return self.below.capacity(self._nearest(path))

    def mode(self, path: str) -> int:
        """See `Disk`."""
        return self.below.mode(path)

    def resolve(self, path: str) -> str:
        """See `Disk`."""
        return self.below.resolve(path)

    def imitate(self, path: str, model: str) -> None:
        """See `Disk`; held content has no owner yet."""
        if path not in self._names:
            self.below.imitate(path, model)

    def read_only(self) -> Disk:
        """See `Disk`."""
        return self.below.read_only()

    def _nearest(self, path: str) -> str:
        """Return the path, or its nearest parent that exists below."""
        while self._names and path and not self.below.exists(path):
            path = os.path.dirname(path)
        return path or "/"
