"""Backups in a directory, and the file `manifest.json` in each: its content, with digests.

    BACKUPS/20261125T031500Z/manifest.json
                             store/commitlog/...     the log up to its end, files at full length
                             store/config/...        tables
                             store/...               other files that cannot be derived from the log

A backup is renamed when it is complete; until then its name ends with `.partial`. Unchanged files are the
same file in each backup (hard links), so any backup may be deleted.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import orjson

from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import StoreError
from mqgateway.engine.upkeep.copies import chunks, copy_file
from mqgateway.engine.upkeep.findings import Progress

VERSION = 1
MANIFEST = "manifest.json"
STORE = "store"
PARTIAL = ".partial"


class KeptFile(NamedTuple):
    """A file of a backup: its path below `store`, its length, the number of used bytes (zeros follow), the
    SHA-256 of those, and the time of the last write to the store's file (ms).
    """

    path: str
    size: int
    used: int
    sha256: str
    modified: int


@dataclass
class Shapes:
    """Lengths of the store's files, with which derived files are rebuilt; 0 if there are none."""

    queue_file: int = 0
    batch_queue_file: int = 0
    index_slots: int = 0
    index_entries: int = 0


@dataclass
class Manifest:
    """Content of a backup. Times are ms since the epoch, offsets those of the log.

    `ends` are the next queue offsets of each queue, by directory and topic, at the begin of the backup: those
    of queues whose messages have all expired are stored nowhere else.
    """

    store: str
    made: int
    log_file_size: int = 0
    log_start: int = 0
    log_end: int = 0
    first_timestamp: int = 0
    last_timestamp: int = 0
    shapes: Shapes = field(default_factory=Shapes)
    ends: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)
    files: list[KeptFile] = field(default_factory=list)

    def file(self, path: str) -> KeptFile | None:
        """Return the file with a path below `store`, or None."""
        return next((one for one in self.files if one.path == path), None)

    def encode(self) -> bytes:
        """Return the text of the manifest, with a digest of it."""
        shape = {**asdict(self), "files": [one._asdict() for one in self.files]}
        text = orjson.dumps(shape, option=orjson.OPT_SORT_KEYS)
        return orjson.dumps({"version": VERSION, "sha256": hashlib.sha256(text).hexdigest(), "backup": shape})


def decode(data: bytes, path: str) -> Manifest:
    """Parse a manifest. Raises `StoreError`."""
    try:
        found = orjson.loads(data)
        shape: dict[str, Any] = found["backup"]
        if found["version"] != VERSION:
            raise StoreError(f"{path} is of version {found['version']}, this program reads {VERSION}")
        text = orjson.dumps(shape, option=orjson.OPT_SORT_KEYS)
        if hashlib.sha256(text).hexdigest() != found["sha256"]:
            raise StoreError(f"{path} was changed: its digest is another")
        files = [KeptFile(**one) for one in shape.pop("files")]
        return Manifest(**{**shape, "shapes": Shapes(**shape["shapes"])}, files=files)
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise StoreError(f"{path} is not the manifest of a backup: {error}") from None


def load(disk: Disk, folder: str) -> Manifest:
    """Load the manifest of a backup. Raises `StoreError`, `OSError`."""
    path = f"{folder}/{MANIFEST}"
    if not disk.exists(path):
        raise StoreError(f"{folder} is not a backup: it has no {MANIFEST}")
    return decode(disk.read_bytes(path), path)


def backups(disk: Disk, folder: str) -> list[str]:
    """Return the names of the complete backups in a directory, oldest first."""
    names = disk.subdirs(folder)
    return [
        name for name in names if not name.endswith(PARTIAL) and disk.exists(f"{folder}/{name}/{MANIFEST}")
    ]


def digest(disk: Disk, path: str, used: int) -> str:
    """Return the SHA-256 of the first bytes of a file."""
    found = hashlib.sha256()
    file = disk.open(path)
    try:
        for _, data in chunks(file, used):
            found.update(data)
    finally:
        file.close()
    return found.hexdigest()


def copy(disk: Disk, source: str, target: str, used: int, size: int) -> str:
    """Copy and sync the first bytes of a file, with holes for zeros; the copy has a length of `size`.

    Returns the SHA-256 of the bytes. Raises `OSError`.
    """
    found = hashlib.sha256()
    copy_file(disk, source, target, found.update, used, size)
    return found.hexdigest()


def write(disk: Disk, path: str, data: bytes) -> None:
    """Create and sync a small file with these bytes. Raises `OSError`."""
    file = disk.open(path, create=True)
    try:
        file.truncate(len(data))
        file.write(0, data)
        file.sync()
    finally:
        file.close()


def damaged(disk: Disk, folder: str, manifest: Manifest, progress: Progress = lambda *_: None) -> list[str]:
    """Return the files of a backup that have changed since it was made, as lines of text."""
    found = []
    total = sum(one.used for one in manifest.files)
    done = 0
    for one in manifest.files:
        path = f"{folder}/{STORE}/{one.path}"
        if not disk.exists(path):
            found.append(f"{path}: is missing")
        elif disk.size(path) != one.size:
            found.append(f"{path}: has {disk.size(path)} bytes, had {one.size}")
        elif digest(disk.read_only(), path, one.used) != one.sha256:
            found.append(f"{path}: was changed, its SHA-256 is another")
        done += one.used
        progress("verifying", done, total)
    return found
