"""Tables kept as JSON files that a power cut cannot spoil.

A table is written aside (`.tmp`) and synced, the file before it becomes `.bak`, the new one takes its
name, and the directory is synced. So at every moment at least one of the two names holds a whole
table. Reading takes the file, or `.bak` where the file is missing, empty or no table; a file that
cannot be read is set aside as `.broken` (`.broken-2` ...), so that the next write does not make it the
backup. Where neither can be read a broker goes on without what they held, and says so (`TableFile.load`).

Standard: `ConfigManager`, whose files these are, and `MixAll.string2File`.
"""

import logging
import os
from collections.abc import Callable
from typing import Any

from mqgateway.engine.disk import Disk, make_directories
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.lenient_json import JsonError, dumps, loads
from mqgateway.engine.worker import Worker

log = logging.getLogger(__name__)

Table = dict[Any, Any]

BROKEN = ".broken"
_MEANINGS = {
    "topics.json": "Topics that have messages come back with their queues; other topics, permissions and "
    "attributes must be set again",
    "subscriptionGroup.json": "Groups come back as their members connect; their settings must be made again",
    "consumerOffset.json": "Groups begin anew where their consumers say: messages may come again, or be "
    "left out",
    "lmqConsumerOffset.json": "Groups of light queues begin anew, where their consumers say",
    "delayOffset.json": "Delayed messages that are still in the log are delivered again",
    "consumerFilter.json": "Filters come back as the members of their groups connect",
    "consumerOrderInfo.json": "Messages popped in order and not acknowledged come again",
    "topicQueueMapping.json": "Static topics must be given their mapping again",
    "messageRequestMode.json": "Groups consume in the default mode until it is set again",
}
"""What it means that a table begins empty, for those who read the log."""


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
                set_aside(disk, path)
        return table
    if reasons:
        raise ConfigError("no usable table: " + "; ".join(reasons))
    return None


def set_aside(disk: Disk, path: str) -> str:
    """Give a file that cannot be read a name that says so, and that no file has; returns it. Raises
    `OSError`."""
    number, name = 1, path + BROKEN
    while disk.exists(name):
        number += 1
        name = f"{path}{BROKEN}-{number}"
    disk.rename(path, name)
    return name


def _is_read(disk: Disk, path: str) -> bool:
    """Whether a file can be read, whatever is in it."""
    try:
        disk.read_bytes(path)
    except OSError:
        return False
    return True


def save_table(disk: Disk, path: str, table: Table) -> None:
    """Write a table so that it, or the one before it, is there after a crash. Raises `OSError`."""
    write_table(disk, path, dumps(table, indent=True))


def write_table(disk: Disk, path: str, text: bytes) -> None:
    """As `save_table`, for a table that is text already."""
    aside = path + ".tmp"
    directory = os.path.dirname(path)
    make_directories(disk, directory)
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
    """The file of one table: writes the newest state, one write at a time, and outlives a full disk.

    With a worker the write happens there; what changes meanwhile is written when it is done.
    """

    def __init__(self, disk: Disk, path: str, worker: Worker | None = None) -> None:
        self._disk = disk
        self._worker = worker
        self._is_writing = False
        self._next: Callable[[], bytes] | None = None
        self._is_failing = False
        self.path = path
        self.has_failed = False
        """Whether the newest state could not be written; it should be tried again."""
        self.was_lost = False
        """Whether `load` could not give what was written last, but something older or nothing."""

    def load(self) -> Table | None:
        """As `load_table`; but files of which neither holds a table are set aside, and there is none.

        Raises `ConfigError` when a file is there and the disk does not give it.
        """
        disk, names = self._disk, [self.path, self.path + ".bak"]
        there = [name for name in names if disk.exists(name)]
        try:
            table = load_table(disk, self.path)
        except ConfigError as error:
            if not all(_is_read(disk, name) for name in there):
                raise
            self.was_lost = True
            aside = ", ".join(set_aside(disk, name) for name in there)
            meaning = _MEANINGS.get(os.path.basename(self.path), "what it held is gone")
            log.error("%s; kept as %s. %s", error, aside, meaning)
            return None
        self.was_lost = bool(there) and not disk.exists(self.path)
        return table

    def save(self, make_text: Callable[[], bytes], *, inline: bool = False) -> None:
        """Write what `make_text` gives, now or after the write that is under way; a failure is logged.

        `inline` writes here even if there is a worker: at the end, when that works no more.
        """
        if self._is_writing and not inline:
            self._next = make_text
            return
        text = make_text()
        self.has_failed = False
        self._is_writing = True

        def work() -> None:
            write_table(self._disk, self.path, text)

        if self._worker is not None and not inline:
            self._worker.run(work, self._done)
            return
        try:
            work()
        except OSError as error:
            self._done(error)
        else:
            self._done(None)

    def _done(self, outcome: Exception | None) -> None:
        self._is_writing = False
        if outcome is not None:
            if not self._is_failing:
                log.error("%s could not be written: %s; it is tried again", self.path, outcome)
            self.has_failed = self._is_failing = True
        elif self._is_failing:
            self._is_failing = False
            log.info("%s is written again", self.path)
        if self._next is not None:
            make_text, self._next = self._next, None
            self.save(make_text)


def _parse(text: bytes) -> Table:
    table = loads(text)
    if not isinstance(table, dict):
        raise JsonError("no object", 0)
    return table
