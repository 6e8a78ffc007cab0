"""How long messages are kept: which files may go, and when writes must stop for want of room.

A commit log file, never the last, may go once it was last written more than fileReservedTime ago, at the
hours of deleteWhen or when the disk is too full; past diskSpaceCleanForciblyRatio files go whatever their
age; past diskSpaceWarningLevelRatio, or below minFreeDiskSpace, writes are refused until there is room
again. Consume queue and index files follow the log. Standard: `DefaultMessageStore.CleanCommitLogService`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime

from engine.clock import Clock
from engine.disk import Disk
from engine.options import StoreOptions
from engine.store.commit_log import CommitLog
from engine.store.consume_queue import AnyQueue, ConsumeQueues
from engine.store.file_queue import file_name
from engine.store.index_file import Index

log = logging.getLogger(__name__)

_HOUR_MILLIS = 3_600_000
LOOKS_AN_ORDER = 20
"""How many looks an administrator's order to delete lasts. Standard: manualDeleteFileSeveralTimes."""
QUEUES_A_TICK = 200
"""Consume queues looked through in one go, so that many of them do not hold up the loop."""


class Retention:
    """Looks every cleanResourceInterval and then deletes one file at a time. `disk_full` is empty or says
    why.
    """

    def __init__(
        self,
        options: StoreOptions,
        disk: Disk,
        clock: Clock,
        commit_log: CommitLog,
        queues: ConsumeQueues,
        index: Index | None,
    ) -> None:
        self._options = options
        self._disk = disk
        self._clock = clock
        self._log = commit_log
        self._queues = queues
        self._index = index
        self._last_look: int | None = None
        self._to_delete = 0
        self._ordered_looks = 0
        self._sweep: Iterator[AnyQueue] | None = None
        self.disk_full = ""
        self.disk_ratio = 0.0

    def tick(self) -> None:
        """Look if it is time, delete one file if there is one to delete, go on sweeping the queues."""
        now = self._clock.millis()
        if self._last_look is None or now - self._last_look >= self._options.clean_resource_interval:
            self._last_look = now
            self.look()
        if self._to_delete:
            self._to_delete -= 1
            self._delete_one()
        if self._sweep is not None:
            self._go_on_sweeping()

    def delete_now(self) -> None:
        """Let the next looks delete whatever the hour. Standard: `executeDeleteFilesManually`."""
        self._ordered_looks = LOOKS_AN_ORDER
        self._last_look = None

    def look(self) -> None:
        """Measure the disk and decide how many files may go."""
        options = self._options
        total, free = self._disk.usage(self._log.files.directory)
        self.disk_ratio = (total - free) / total if total else 0.0
        percent = self.disk_ratio * 100
        self._set_full(percent, free)
        hour = datetime.fromtimestamp(self._clock.millis() / 1000).hour
        hours = [word for word in options.delete_when.replace(" ", "").split(";") if word.isdecimal()]
        due = any(int(word) == hour for word in hours) or self._ordered_looks > 0
        self._ordered_looks = max(0, self._ordered_looks - 1)
        if not (due or percent > options.disk_max_used_space_ratio):
            self._to_delete = 0
            return
        forced = options.clean_file_forcibly_enable and percent > options.disk_space_clean_forcibly_ratio
        self._to_delete = min(self.expired_files(forced), options.delete_file_batch_max)

    def _set_full(self, percent: float, free: int) -> None:
        options, path = self._options, self._log.files.directory
        was_full, self.disk_full = self.disk_full, ""
        if percent > options.disk_space_warning_level_ratio:
            self.disk_full = (
                f"the disk of {path} is {percent:.1f} % full, more than the "
                f"{options.disk_space_warning_level_ratio} % of diskSpaceWarningLevelRatio"
            )
        elif free < options.min_free_disk_space:
            self.disk_full = (
                f"the disk of {path} has {free} bytes free, less than the "
                f"{options.min_free_disk_space} of minFreeDiskSpace"
            )
        if self.disk_full and not was_full:
            log.error("%s; writes are refused", self.disk_full)
        elif was_full and not self.disk_full:
            log.info("the disk has room again; writes are taken")

    def expired_files(self, forced: bool) -> int:
        """How many of the oldest log files may go."""
        oldest_kept = self._clock.millis() - self._options.file_reserved_time * _HOUR_MILLIS
        directory = self._log.files.directory
        return self._log.files.count_while(
            lambda start: forced or self._disk.modified(f"{directory}/{file_name(start)}") <= oldest_kept
        )

    def _delete_one(self) -> None:
        start = self._log.files.starts[0]
        try:
            self._log.files.drop_first(1)
        except OSError as error:
            log.error("log file %s cannot be deleted: %s", file_name(start), error)
            return
        log.info("log file %s deleted", file_name(start))
        self._sweep = iter([*self._queues])

    def _go_on_sweeping(self) -> None:
        """Let queues and index follow the log, some at a time."""
        assert self._sweep is not None
        oldest = self._log.min_offset
        for _ in range(QUEUES_A_TICK):
            queue = next(self._sweep, None)
            if queue is None:
                self._sweep = None
                if self._index is not None:
                    self._index.drop_before(oldest)
                return
            if self._queues.get(queue.topic, queue.queue_id) is queue:
                queue.drop_before(oldest)
