"""Tables kept as JSON files that a power cut cannot spoil.

A table is written aside (`.tmp`) and synced, the file before it becomes `.bak`, the new one takes its
name, and the directory is synced. So at every moment at least one of the two names holds a whole
table. Reading takes the file, or `.bak` where the file is missing, empty or no table; a file that
cannot be read is set aside as `.broken`, so that the next write does not make it the backup.

Standard: `ConfigManager`, whose files these are, and `MixAll.string2File`.
"""

import logging
import os
from typing import Any

from engine.disk import Disk
from engine.errors import ConfigError
from engine.lenient_json import JsonError, dumps, loads
from engine.worker import Worker

log = logging.getLogger(__name__)

Table = dict[Any, Any]


def load_table(disk: Disk, path: str) -> Table | None:
    """Read a table; None when there is neither the file nor its backup.

    Raises `ConfigError` when something is there but no whole table: to go on with an empty one would
    lose what was kept.
    """
    reasons = []
    for name in (path, path + ".bak"):
        try:
            table = _parse(disk.read_bytes(name))
        except FileNotFoundError:
            continue
        except (JsonError, OSError) as error:
            log.warning("%s cannot be read: %s", name, error)
            reasons.append(f"{name}: {error}")
            continue
        if name != path:
            log.warning("%s is missing or broken, its backup is used: %s", path, name)
            if reasons:
                disk.rename(path, path + ".broken")
        return table
    if reasons:
        raise ConfigError("no usable table: " + "; ".join(reasons))
    return None


def save_table(disk: Disk, path: str, table: Table) -> None:
    """Write a table so that it, or the one before it, is there after a crash. Raises `OSError`."""
    write_table(disk, path, dumps(table, indent=True))


def write_table(disk: Disk, path: str, text: bytes) -> None:
    """As `save_table`, for a table that is text already."""
    aside = path + ".tmp"
    directory = os.path.dirname(path)
    disk.makedirs(directory)
    file = disk.open(aside, create=True)
    try:
        file.truncate(0)
        file.write(0, text)
        file.sync()
    finally:
        file.close()
    if disk.exists(path):
        disk.rename(path, path + ".bak")
    disk.rename(aside, path)
    disk.sync_dir(directory)


class TableFile:
    """The file of one table: knows whether there is something to write, and outlives a full disk."""

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self.path = path
        self.dirty = False
        """Whether the table has changed since it was last written."""

    def load(self) -> Table | None:
        """As `load_table`."""
        return load_table(self._disk, self.path)

    def save(self, table: Table, worker: Worker | None = None) -> None:
        """Write the table, on `worker` if there is one; a failure is logged and leaves it dirty."""
        self.write(dumps(table, indent=True), worker)

    def write(self, text: bytes, worker: Worker | None = None) -> None:
        """As `save`, for a table that is text already."""
        self.dirty = False

        def work() -> None:
            write_table(self._disk, self.path, text)

        def done(outcome: Exception | None) -> None:
            if outcome is not None:
                self.dirty = True
                log.error("%s could not be written: %s", self.path, outcome)

        if worker is not None:
            worker.run(work, done)
            return
        try:
            work()
        except OSError as error:
            done(error)


def _parse(text: bytes) -> Table:
    table = loads(text)
    if not isinstance(table, dict):
        raise JsonError("no object", 0)
    return table
