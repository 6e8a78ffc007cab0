"""A folder of a file system as an object store: objects are files, and parts of names are directories.

A new object is written to a file with a hidden name and synced. It gets its own name by a hard link, which
fails if the name exists, or by a rename, which replaces. Then the directory is synced. So no reader finds a
part of an object, and a power cut leaves a whole one or none.

The folder has a marker. Without it the folder counts as unavailable: an empty mount point is not an empty
store.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterator
from typing import Final

from mqgateway.engine.disk import LinkingDisk, make_directories
from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.tier.object_store import (
    ObjectExists,
    ObjectMissing,
    ObjectStoreUnavailable,
    check_name,
)

MARKER: Final = ".object-store"
PARTIAL: Final = ".partial"
"""Directory of the files that are being written."""
PARTIAL_MILLIS: Final = 24 * 3600 * 1000
"""Age of a file in there from which on its writer counts as killed."""


class ObjectFolder:
    """The objects in a folder; several processes may use it at once."""

    def __init__(self, disk: LinkingDisk, folder: str) -> None:
        self._disk = disk
        self._reading = disk.read_only()
        self._folder = folder.rstrip("/") or "/"

    def prepare(self, now: int) -> None:
        """Make the folder a store unless it is one, and remove what killed writers left. `now` is in ms since
        the epoch. Raises `ObjectStoreUnavailable`."""
        disk, marker, partial = self._disk, f"{self._folder}/{MARKER}", f"{self._folder}/{PARTIAL}"
        try:
            make_directories(disk, partial)
            if not disk.exists(marker):
                disk.open(marker, create=True).close()
                disk.sync_dir(self._folder)
            for name in disk.listdir(partial):
                with contextlib.suppress(FileNotFoundError):  # a writer that is not killed
                    if disk.modified(f"{partial}/{name}") < now - PARTIAL_MILLIS:
                        disk.unlink(f"{partial}/{name}")
        except OSError as error:
            raise self._unavailable(error) from error

    def create(self, name: str, data: bytes | memoryview) -> None:
        """Write a new object; see `ObjectStore`."""

        def link(partial: str, path: str) -> None:
            try:
                self._disk.link(partial, path)
            except FileExistsError:
                raise ObjectExists(name) from None
            finally:
                self._disk.unlink(partial)

        self._write(name, data, link)

    def put(self, name: str, data: bytes) -> None:
        """Write an object or replace it; see `ObjectStore`."""
        self._write(name, data, self._disk.rename)

    def get_range(self, name: str, start: int, length: int) -> bytes:
        """Return a range of an object's bytes; see `ObjectStore`."""
        path = self._path(name)
        try:
            file = self._reading.open(path)
            try:
                data = file.read(start, length)
            finally:
                file.close()
        except (FileNotFoundError, NotADirectoryError):
            self._check_marker()
            raise ObjectMissing(name) from None
        except OSError as error:
            raise self._unavailable(error) from error
        if len(data) < length:
            raise CorruptFile(name, start, f"{length} bytes were expected, and the object has {len(data)}")
        return data

    def list_from(self, prefix: str, after: str = "") -> Iterator[tuple[str, int]]:
        """Yield names and sizes of objects; see `ObjectStore`."""
        self._check_marker()
        try:
            yield from self._walk("", prefix, after)
        except OSError as error:
            raise self._unavailable(error) from error

    def delete(self, name: str) -> None:
        """Delete an object; see `ObjectStore`."""
        path = self._path(name)
        self._check_marker()
        try:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                self._disk.unlink(path)
                self._disk.sync_dir(_parent(path))
        except OSError as error:
            raise self._unavailable(error) from error

    def head(self, name: str) -> int | None:
        """Return the size of an object in bytes, or None; see `ObjectStore`."""
        path = self._path(name)
        try:
            return None if self._disk.is_dir(path) else self._disk.size(path)
        except (FileNotFoundError, NotADirectoryError):
            self._check_marker()
            return None
        except OSError as error:
            raise self._unavailable(error) from error

    def _write(self, name: str, data: bytes | memoryview, give_name: Callable[[str, str], None]) -> None:
        path = self._path(name)
        parent = _parent(path)
        partial = f"{self._folder}/{PARTIAL}/{secrets.token_hex(8)}"
        self._check_marker()
        try:
            make_directories(self._disk, parent)
            try:
                file = self._disk.open(partial, create=True)
                try:
                    file.write(0, data)
                    file.sync()
                finally:
                    file.close()
            except OSError:
                with contextlib.suppress(OSError):
                    self._disk.unlink(partial)
                raise
            try:
                give_name(partial, path)
            finally:
                # Also if the name was taken: the caller may rely on the other writer's object.
                self._disk.sync_dir(parent)
        except OSError as error:
            raise self._unavailable(error) from error

    def _walk(self, inside: str, prefix: str, after: str) -> Iterator[tuple[str, int]]:
        """Yield the objects of a directory, whose name ends with a slash unless it is the folder itself."""
        path = f"{self._folder}/{inside}"
        directories = set(self._disk.subdirs(path))
        # In a list of whole names a directory sorts by its name and the slash that follows.
        entries = sorted(
            f"{entry}/" if entry in directories else entry
            for entry in self._disk.listdir(path)
            if not entry.startswith(".")
        )
        for entry in entries:
            name = inside + entry
            if not (name.startswith(prefix) or prefix.startswith(name)):
                continue
            if name.endswith("/"):
                if name > after or after.startswith(name):
                    yield from self._walk(name, prefix, after)
            elif name > after and name.startswith(prefix):
                with contextlib.suppress(FileNotFoundError):  # deleted meanwhile
                    yield name, self._disk.size(self._folder + "/" + name)

    def _path(self, name: str) -> str:
        return f"{self._folder}/{check_name(name)}"

    def _check_marker(self) -> None:
        if not self._disk.exists(f"{self._folder}/{MARKER}"):
            raise ObjectStoreUnavailable(
                f"the folder {self._folder} is not an object store: it has no file {MARKER}; is its file "
                "system mounted?"
            )

    def _unavailable(self, error: OSError) -> ObjectStoreUnavailable:
        return ObjectStoreUnavailable(f"the object store in {self._folder} cannot be used: {error}")


def _parent(path: str) -> str:
    return path.rpartition("/")[0]
