"""Background deletion of files.

Freeing a gigabyte takes the file system a third of a second. So files that are no longer read wait here, and
a worker deletes one at a time: the name first, then the space in portions. A file that cannot be deleted is
retried every redeleteHangedFileInterval. Later files of its directory wait, as a log with a gap could not be
opened again. RocketMQ: `MappedFile.destroy`, `MappedFileQueue.retryDeleteFirstFile`.
"""

from __future__ import annotations

import logging
from collections import deque

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.engine.disk import Disk
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.worker import Worker

log = logging.getLogger(__name__)

PORTION = 16 << 20
"""Bytes freed in one step: about 10 ms."""


class Removals:
    """Queue of files to delete, in order."""

    def __init__(self, disk: Disk, clock: Clock, worker: Worker, options: StoreOptions) -> None:
        self._disk = disk
        self._clock = clock
        self._worker = worker
        self._options = options
        self._waiting: deque[str] = deque()
        self._running = ""
        self._hanging: dict[str, list[str]] = {}
        self._next_retry = 0

    @property
    def waiting(self) -> int:
        """Number of files that are still to be deleted."""
        return len(self._waiting) + bool(self._running) + sum(map(len, self._hanging.values()))

    def add(self, path: str) -> None:
        """Queue a file for deletion."""
        self._waiting.append(path)
        self._remove_waiting()

    def is_hanging(self, directory: str) -> bool:
        """Return True if a file of a directory could not be deleted."""
        return directory in self._hanging

    def tick(self) -> None:
        """Retry failed deletions when they are due."""
        if self._hanging and elapsed_millis(self._clock) >= self._next_retry:
            for paths in self._hanging.values():
                self._waiting.extend(paths)
            self._hanging.clear()
        self._remove_waiting()

    def finish(self) -> None:
        """Delete all queued files synchronously, as the store stops.

        Begins with the file of the worker, which may never run it; a log whose first file is back has a gap.
        """
        begun = [self._running] if self._running else []
        paths = [*begun, *self._waiting, *(path for paths in self._hanging.values() for path in paths)]
        self._waiting.clear()
        stuck = set()
        for path in paths:
            directory = path.rpartition("/")[0]
            if directory in stuck:
                continue
            try:
                remove(self._disk, path)
            except FileNotFoundError:
                continue
            except OSError as error:
                stuck.add(directory)
                log.error("%s cannot be removed: %s", path, error)

    def _remove_waiting(self) -> None:
        while self._waiting and not self._running:
            path = self._waiting.popleft()
            directory = path.rpartition("/")[0]
            if directory in self._hanging:
                self._hanging[directory].append(path)
                continue
            self._running = path
            self._worker.run(lambda path=path: remove(self._disk, path), self._done)  # type: ignore[misc]

    def _done(self, outcome: object) -> None:
        path, self._running = self._running, ""
        if isinstance(outcome, FileNotFoundError):
            log.info("%s is already deleted", path)
        elif isinstance(outcome, Exception):
            interval = self._options.redelete_hanged_file_interval
            log.error("%s cannot be removed: %s; retry in %d ms", path, outcome, interval)
            self._hanging.setdefault(path.rpartition("/")[0], []).insert(0, path)
            self._next_retry = elapsed_millis(self._clock) + interval
        else:
            log.info("%s removed", path)
        self._remove_waiting()


def remove(disk: Disk, path: str) -> None:
    """Delete a file of any size. Raises `OSError`.

    Its name is durably gone before its content or the next file. After a crash every existing file is
    complete, and none before it is missing.
    """
    file = disk.open(path)
    try:
        disk.unlink(path)
        disk.sync_dir(path.rpartition("/")[0])
        size = file.size()
        while size > PORTION:
            size -= PORTION
            file.truncate(size)
    finally:
        file.close()
