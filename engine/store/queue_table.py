"""The file `queuetable`: begin and end of every consume queue, so that a start need not examine each.

A clean stop of a store with many queues (queueTableFrom) writes it after everything else. The next start
reads and removes it before it changes anything.

It is valid only if no other process has used the store meanwhile. The file `lock` is written by every start,
RocketMQ's too, so its modification time must be the recorded one. The same holds for the time of the
directory of queues, its topics, and first and last byte of the log. Otherwise the queues are examined one by
one. RocketMQ examines each, and ignores the file.
"""

from __future__ import annotations

import logging
from typing import Any

import orjson

from mqgateway.engine.disk import Disk
from mqgateway.engine.store.consume_queue import ConsumeQueues
from mqgateway.engine.store.log import Log

log = logging.getLogger(__name__)

VERSION = 1


class QueueTable:
    """Saves and restores the table. `lock_path` is the store's file `lock`."""

    def __init__(self, disk: Disk, path: str, lock_path: str) -> None:
        self._disk = disk
        self._path = path
        self._lock_path = lock_path
        self._found: dict[str, Any] | None = None

    def take(self) -> None:
        """Read the file, if it exists, and remove it. Call before the lock is written. Raises `OSError`."""
        if not self._disk.exists(self._path):
            return
        try:
            found = orjson.loads(self._disk.read_bytes(self._path))
        except orjson.JSONDecodeError as error:
            log.warning("%s cannot be used: %s", self._path, error)
            found = None
        if (
            isinstance(found, dict)
            and found.get("version") == VERSION
            and found.get("lock") == self._locked()
        ):
            self._found = found
        self._disk.unlink(self._path)

    def _locked(self) -> int:
        return self._disk.modified(self._lock_path) if self._disk.exists(self._lock_path) else 0

    def save(self, commit_log: Log, queues: ConsumeQueues, newest: int) -> None:
        """Write the file; `newest` is the log offset of the newest record with a unit.

        A failure is only logged.
        Everything must be written and synced before.
        """
        try:
            self._write(self._noted(commit_log, queues, newest))
        except (OSError, TypeError) as error:
            log.warning("the end offsets of queues cannot be written to %s: %s", self._path, error)

    def _noted(self, commit_log: Log, queues: ConsumeQueues, newest: int) -> bytes:
        table = {
            "version": VERSION,
            "lock": self._locked(),
            "folder": self._folder(queues),
            **_extent(commit_log),
            "logEnd": commit_log.end_offset,
            "newest": newest,
            "queues": [
                [topic, queues.is_batch_topic(topic), [queue.state() for queue in found.values()]]
                for topic, found in queues.table.items()
            ],
        }
        return orjson.dumps(table)

    def _write(self, data: bytes) -> None:
        file = self._disk.open(f"{self._path}.tmp", create=True)
        file.truncate(len(data))
        file.write(0, data)
        file.sync()
        file.close()
        self._disk.rename(f"{self._path}.tmp", self._path)

    def _folder(self, queues: ConsumeQueues) -> list[Any]:
        directories = [name for name in (queues.directory, queues.batch_directory) if name]
        return [self._disk.modified(name) if self._disk.is_dir(name) else 0 for name in directories]

    def restore(self, commit_log: Log, queues: ConsumeQueues) -> tuple[int, int] | None:
        """Restore the queues and return the offset of the newest record with a unit and the end of the log.

        Returns None, and does nothing, if the table is not valid.
        """
        found, self._found = self._found, None
        if found is None:
            return None
        extent = {name: found.get(name) for name in _extent(commit_log)}
        if extent != _extent(commit_log) or found["folder"] != self._folder(queues):
            log.info("another process has used the store: all queues are examined")
            return None
        topics = {topic for topic, _, states in found["queues"] if any(state[2] for state in states)}
        directories = [name for name in (queues.directory, queues.batch_directory) if name]
        if not topics <= {name for directory in directories for name in self._disk.subdirs(directory)}:
            log.info("folders of queues are missing: all queues are examined")
            return None
        for topic, is_batch, states in found["queues"]:
            for state in states:
                if not queues.restore(topic, is_batch, state).has_all_files():
                    log.warning("%s queue %d lacks a file: all queues are examined", topic, state[0])
                    queues.forget()
                    return None
        return found["newest"], found["logEnd"]


def _extent(commit_log: Log) -> dict[str, int]:
    files = commit_log.files
    return {"logFirst": commit_log.min_offset if files.starts else 0, "filesEnd": files.end}
