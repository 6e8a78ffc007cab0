"""Retention: which files may be deleted, and when writes are refused for lack of disk space.

A commit log file, never the last, may be deleted when its last write is more than fileReservedTime ago: at
the hours of deleteWhen, when a disk is used above diskMaxUsedSpaceRatio, or on an administrator's request.
Above diskSpaceCleanForciblyRatio files of any age are deleted with cleanFileForciblyEnable, except those that
contain the newest cleanForciblyKeepSize of the log, and those that a view needs are deleted only then. With
tieredStorePath a file is deleted only once it is saved, unless tieredMayLose is set. Each check finds at most
deleteFileBatchMax. They are deleted one by one, deleteCommitLogFilesInterval apart.
Consume queue and index files follow the log.
RocketMQ: `DefaultMessageStore.CleanCommitLogService`, `CleanConsumeQueueService`.

Writes are refused above diskSpaceWarningLevelRatio, but only while less than diskFreeSpaceMin is free. Space
is measured every second, so writes are accepted again soon after some is free.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from datetime import datetime

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.engine.disk import Disk
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.steady_clock import SteadyClock
from mqgateway.engine.store.file_queue import file_name
from mqgateway.engine.store.log import ENDLESS, Log
from mqgateway.engine.store.removal import Removals
from mqgateway.engine.store.saved_log import SavedLog
from mqgateway.engine.store.statistics import in_words
from mqgateway.engine.store.views.view import View

log = logging.getLogger(__name__)

_HOUR_MILLIS = 3_600_000
_MEASURE_MILLIS = 1000
LOOKS_AN_ORDER = 20
"""Number of checks that an administrator's request to delete lasts.

RocketMQ: manualDeleteFileSeveralTimes.
"""
TOPICS_A_TICK = 200
SWEEP_SECONDS = 0.005
"""Maximum time in seconds to sweep queues per tick, of at most `TOPICS_A_TICK` topics."""


class Retention:
    """Measures the disks, checks every cleanResourceInterval, and then deletes one file at a time.

    `disk_full` is empty or the reason why nothing can be stored. `saved` is how far the log is saved
    elsewhere.
    """

    def __init__(
        self,
        options: StoreOptions,
        disk: Disk,
        clock: Clock,
        steady: SteadyClock,
        commit_log: Log,
        queue_directory: str,
        views: Sequence[View],
        removals: Removals,
    ) -> None:
        self._options = options
        self._disk = disk
        self._clock = clock
        self._steady = steady
        self._log = commit_log
        self._directories = (commit_log.files.directory, queue_directory)
        self._views = views
        self._removals = removals
        self.saved = SavedLog(options)
        self._last_look: int | None = None
        self._last_measure = 0
        self._to_delete = 0
        self._next_delete = 0
        self._ordered_looks = 0
        self._swept_to = 0
        self._sweep: Iterator[None] | None = None
        self._percent = 0.0
        self.disk_full = ""

    def tick(self) -> None:
        """Measure and check if due, delete one file if allowed, continue to sweep the queues."""
        now = elapsed_millis(self._clock)
        self._removals.tick()
        if self._last_look is None or now - self._last_look >= self._options.clean_resource_interval:
            self._last_look = now
            self.look()
        elif now - self._last_measure >= _MEASURE_MILLIS:
            self.measure()
        if self._to_delete and now >= self._next_delete:
            self._next_delete = now + self._options.delete_commit_log_files_interval
            self._delete_one()
        if self._sweep is None and self._log.min_offset > self._swept_to:
            self._swept_to = self._log.min_offset
            self._sweep = self._deletions(self._swept_to)
        if self._sweep is not None:
            self._continue_sweep()

    def delete_now(self) -> None:
        """Delete with the next checks at any hour. RocketMQ: `executeDeleteFilesManually`."""
        self._ordered_looks = LOOKS_AN_ORDER
        self._last_look = None

    def look(self) -> None:
        """Measure the disks and compute how many files may be deleted."""
        options = self._options
        self.measure()
        hour = datetime.fromtimestamp(self._clock.millis() / 1000).hour
        hours = [word for word in options.delete_when.replace(" ", "").split(";") if word.isdecimal()]
        due = any(int(word) == hour for word in hours) or self._ordered_looks > 0
        self._ordered_looks = max(0, self._ordered_looks - 1)
        filling = self._percent > options.disk_max_used_space_ratio
        if not (due or filling):
            self._to_delete = 0
            return
        forced = options.clean_file_forcibly_enable and (
            self._percent
            > min(options.disk_space_clean_forcibly_ratio, options.disk_space_warning_level_ratio)
        )
        self._to_delete = self._expired_files(forced)
        if self._to_delete:
            why = f"the disk is {self._percent:.1f} % full" if filling else "it is time"
            log.info(
                "%d log files will be deleted%s: %s", self._to_delete, " whatever their age" * forced, why
            )

    def measure(self) -> None:
        """Measure the usage of the disks of log and consume queues; the fuller one counts."""
        self._last_measure = elapsed_millis(self._clock)
        options = self._options
        was_full, full = self.disk_full, ""
        self._percent = 0.0
        for path in self._directories:
            total, free = self._disk.usage(path)
            percent = (total - free) * 100 / total if total else 0.0
            self._percent = max(self._percent, percent)
            if percent > options.disk_space_warning_level_ratio and free < options.disk_free_space_min:
                full = full or (
                    f"the disk of {path} is {percent:.1f} % full, diskSpaceWarningLevelRatio is "
                    f"{options.disk_space_warning_level_ratio} %, and {in_words(free)} are free, "
                    f"diskFreeSpaceMin is {in_words(options.disk_free_space_min)}"
                )
        self.disk_full = full
        if full and not was_full:
            log.error("%s: sends are refused until there is free space", full)
        elif was_full and not full:
            log.info("the disk of %s has free space again: sends are accepted", self._log.files.directory)

    def _expired_files(self, forced: bool) -> int:
        """Return the number of oldest log files that may be deleted after this check."""
        if self._removals.is_hanging(self._log.files.directory):
            return 0
        oldest_kept = self._steady.now() - self._options.file_reserved_time * _HOUR_MILLIS
        most, kept = self._options.delete_file_batch_max, self._options.clean_forcibly_keep_size
        count = 0
        starts, file_size = self._log.files.starts, self._log.files.file_size
        needed_from, kept_from = self._needed_from(), self.saved.kept_from
        for start in starts[:-1][:most]:
            if start + file_size > kept_from:
                break
            by_force = forced and starts[-1] - start - file_size >= kept
            if not by_force and (self._written(start) > oldest_kept or start + file_size > needed_from):
                break
            count += 1
        return count

    def _needed_from(self) -> int:
        """Return the position of the log from which on views need its files."""
        needed = [view.needed_from for view in self._views]
        return min([position for position in needed if position is not None], default=ENDLESS)

    def _written(self, start: int) -> int:
        """Return a file's last write in steady time: a clock that was set forward does not age files."""
        files = self._log.files
        try:
            written = self._disk.modified(f"{files.directory}/{file_name(start)}")
        except FileNotFoundError:
            return 0
        return written + self._steady.ahead_at(start + files.file_size, written)

    def _delete_one(self) -> None:
        """Delete the oldest log file; none while a deletion keeps failing."""
        files = self._log.files
        if self._removals.is_hanging(files.directory) or len(files.starts) < 2:
            self._to_delete = 0
            return
        if files.starts[1] > min(self._log.flushed_offset, self._log.confirm_offset, self.saved.kept_from):
            return  # a start after a power cut could find it again, incomplete; or it is not saved any more
        self._to_delete -= 1
        self._log.drop_first_file()

    def _continue_sweep(self) -> None:
        """Delete from the views what the log no longer contains, some topics at a time."""
        assert self._sweep is not None
        until = self._clock.monotonic() + SWEEP_SECONDS
        for _ in range(TOPICS_A_TICK):
            try:
                next(self._sweep)
            except StopIteration:
                self._sweep = None
                return
            if self._clock.monotonic() > until:
                return

    def _deletions(self, oldest: int) -> Iterator[None]:
        for view in self._views:
            yield from view.delete_before(oldest)
