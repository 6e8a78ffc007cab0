"""Files, windows and file systems as `engine.overlay` hands them out: the disk's own, or held in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from mqgateway.engine.disk import File, FileSystem, MappedRegion, Window
from mqgateway.engine.held_changes import HeldChange, HeldChanges
from mqgateway.engine.held_files import Content


class Holder(Protocol):
    """The overlay, as its files see it."""

    held_changes: HeldChanges

    def change_file(
        self,
        held: HeldFile,
        change: HeldChange,
        at_once: Callable[[File], None],
        in_memory: Callable[[Content], None],
    ) -> None:
        """Change the content of a file, below or in memory. Raises `OSError`."""

    def note_sync(self, change: HeldChange) -> bool:
        """Return True if changes are held, so that the sync is carried out after them."""


class HeldWindow:
    """A window into the content in memory, later into the file."""

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
        """Continue in the file itself. Raises `OSError`."""
        if self._buffer is not None:
            self._real = file.window(self._size)
            self._real.buffer[: self._size] = bytes(self._buffer)
            self._buffer.release()
            self._buffer = None


class HeldFile:
    """A file: the disk's own, or with `content` one that differs from it."""

    def __init__(self, overlay: Holder, path: str, file: File | None, *, may_write: bool) -> None:
        self._overlay = overlay
        self.path = path
        self.file = file
        self.may_write = may_write
        self.content: Content | None = None
        self.window_held: HeldWindow | None = None

    def below(self) -> File:
        """Return the disk's own file, which must exist."""
        assert self.file is not None
        return self.file

    def read(self, offset: int, size: int) -> bytes:
        content = self.content
        return self.below().read(offset, size) if content is None else content.read(offset, size)

    def read_ready(self, offset: int, size: int) -> bytes | None:
        content = self.content
        if content is None:
            return self.below().read_ready(offset, size)
        return content.read(offset, size) if offset + size <= content.size else None

    def part(self, offset: int, size: int) -> MappedRegion | None:
        return self.below().part(offset, size) if self.content is None else None

    def read_ahead(self, offset: int, size: int) -> None:
        if self.content is None:
            self.below().read_ahead(offset, size)

    def write(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        self._overlay.change_file(
            self,
            HeldChange("write", self.path, offset, bytes(data)),
            lambda file: file.write(offset, data),
            lambda content: content.write(offset, data),
        )

    def truncate(self, size: int) -> None:
        self._overlay.change_file(
            self,
            HeldChange("truncate", self.path, size),
            lambda file: file.truncate(size),
            lambda content: content.truncate(size),
        )

    def sync(self) -> None:
        if not self._overlay.note_sync(HeldChange("sync", self.path)):
            self.below().sync()

    def size(self) -> int:
        return self.below().size() if self.content is None else self.content.size

    def used(self) -> int:
        return self.below().used() if self.content is None else self.content.used()

    def window(self, size: int) -> Window:
        windows: list[Window] = []

        def hold(content: Content) -> None:
            self.window_held = HeldWindow(content, size)
            windows.append(self.window_held)
            self._overlay.held_changes.note_window(self.path, content)

        self._overlay.change_file(
            self, HeldChange("window", self.path, size), lambda file: windows.append(file.window(size)), hold
        )
        return windows[0]

    def close(self) -> None:
        if self.file is not None:
            self._overlay.held_changes.forget(self.file)
            self.file.close()


class HeldFileSystem:
    """A file system whose syncs are held as long as changes are."""

    def __init__(self, overlay: Holder, path: str, below: FileSystem) -> None:
        self._overlay = overlay
        self._path = path
        self._below = below

    def sync(self) -> None:
        if not self._overlay.note_sync(HeldChange("sync_all", self._path)):
            self._below.sync()

    def close(self) -> None:
        self._below.close()
