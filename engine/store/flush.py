"""Durability: flushing the log and the derived files, and writing the checkpoint.

`LogFlusher` syncs the log on a worker for waiting requests (`group_commit`), and makes rounds that sync the
derived files and then write the checkpoint. Order of a round, each step after the one before:

    1. buffered data of the views is written to their files
    2. the commit log is synced up to the records they refer to
    3. the files of the views, and the directories with new names, are synced
    4. the checkpoint is written and synced

RocketMQ: `FlushRealTimeService`, `ConsumeQueueStore.FlushConsumeQueueService`.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from mqgateway.engine.clock import Clock, elapsed_millis
from mqgateway.engine.disk import Disk, FileSystem
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.store.checkpoint import Checkpoint
from mqgateway.engine.store.file_queue import file_name
from mqgateway.engine.store.group_commit import Done, GroupCommit
from mqgateway.engine.store.log import Agreement, Log, store_time
from mqgateway.engine.store.views.view import UnsyncedFiles, View
from mqgateway.engine.worker import Worker

log = logging.getLogger(__name__)

PAGE = 4096
FILES_A_STEP: Final = 16
"""Consume queue files synced by one worker task, so that other work never waits for many."""
WRITE_SECONDS: Final = 0.01
"""Maximum time that the event loop is blocked to write queues; the rest follows on the next ticks."""
FILES_MANY = 512
"""Number of files and directories from which on the whole file system is synced at once, which is faster."""
DISPATCHED_A_ROUND: Final = 256 << 20
"""Dispatched bytes after which a round starts early, to bound the work of recovery."""


class _Round(NamedTuple):
    """A checkpoint round in progress: the files of views left to sync, and the checkpoint's values."""

    files: list[tuple[str, int]]
    directories: list[str]
    everything: bool
    written: list[UnsyncedFiles]
    end: int
    physical_offset: int
    store_timestamp: int


class LogFlusher:
    """Syncs the log on `worker` and derived files on `aside`, which no send waits for.

    `on_flushed` is called on the event loop whenever the flushed offset has moved.
    """

    def __init__(
        self,
        options: StoreOptions,
        disk: Disk,
        clock: Clock,
        worker: Worker,
        commit_log: Log,
        queue_directory: str,
        views: Sequence[View],
        checkpoint: Checkpoint,
        on_flushed: Callable[[], None],
        aside: Worker | None = None,
    ) -> None:
        self._options = options
        self._disk = disk
        self._clock = clock
        self._worker = worker
        self._aside = aside or worker
        self._file_system: FileSystem | None = None
        self._log = commit_log
        self._queue_directory = queue_directory
        self._views = views
        self._checkpoint = checkpoint
        self._on_flushed = on_flushed
        self.commit = GroupCommit()
        self._sync_watchers: list[Callable[[float, int], None]] = []
        self.derived_failure = ""
        self.dispatched_offset = 0
        self.dispatched_timestamp = 0
        self._round: _Round | None = None
        self._last_flush = self._last_thorough = self._last_queues = self._last_round = 0
        self._target_timestamp = 0
        self._round_offset = 0
        self._is_left = False
        self._is_round_synced = False
        self._running = False
        self._sync_failed = False
        self._is_repairing = False
        self._complaint = ""
        commit_log.watch_dirty_tails(self._repair_tail)

    def watch_syncs(self, callback: Callable[[float, int], None]) -> None:
        """Call back with the duration of each sync of the log in seconds, and the bytes it covered."""
        self._sync_watchers.append(callback)

    def start(self, flushed: int, dispatched_offset: int, dispatched_timestamp: int) -> None:
        """Start with a log that is durable up to `flushed` and dispatched up to a record."""
        self.commit.flushed = self._log.flushed_offset = flushed
        # Opened before anything is written, so that it notices every failure.
        self._file_system = self._disk.file_system(self._queue_directory)
        self.dispatched_offset = self._round_offset = dispatched_offset
        self.dispatched_timestamp = self._log.last_timestamp = dispatched_timestamp
        now = elapsed_millis(self._clock)
        self._last_flush = self._last_thorough = self._last_queues = self._last_round = now
        self._running = True

    def wait(self, end: int, done: Done) -> None:
        """See `GroupCommit.wait`; the timeout is syncFlushTimeout. The sync starts with `flush`."""
        self.commit.wait(end, elapsed_millis(self._clock) + self._options.sync_flush_timeout, done)

    def flush(self) -> None:
        """Start a sync of the log, unless one is running or there is nothing to sync."""
        if self._log.syncs_itself:
            self.follow()
            return
        if not self.commit.begin(self._log.end_offset):
            return
        self._last_flush = elapsed_millis(self._clock)
        self._target_timestamp = self._log.last_timestamp
        files = self._log.files.between(self.commit.flushed, self._log.end_offset)
        directories = self._take_directories(self._log.files.pool.unsynced)
        size = self._log.end_offset - self.commit.flushed

        def work() -> float:
            began = self._clock.monotonic()
            for file in files:
                file.sync()
            for directory in directories:
                self._disk.sync_dir(directory)
            return self._clock.monotonic() - began

        self._worker.run(work, lambda outcome: self._flushed(outcome, size))

    def follow(self) -> None:
        """Adopt the flushed offset of a log that syncs itself."""
        if self._log.flushed_offset > self.commit.flushed:
            self.commit.flushed = self._log.flushed_offset
            self.commit.answer()

    def _flushed(self, outcome: float | Exception, size: int) -> None:
        if not self._running:
            return
        if not isinstance(outcome, Exception):
            for callback in self._sync_watchers:
                callback(outcome, size)
        if isinstance(outcome, Exception):
            self.commit.finish(f"the commit log could not be written to disk: {outcome}")
            log.error("%s; writes are refused from now on", self.commit.failure)
        else:
            self.commit.finish()
            self._log.flushed_offset = self.commit.flushed
            self._checkpoint.physic_msg_timestamp = self._target_timestamp
        self._on_flushed()
        self.commit.answer()
        if self.commit.waiting:
            self.flush()

    @property
    def is_idle(self) -> bool:
        """True if no sync, file creation or repair is in progress on a worker."""
        is_syncing = self._round is not None or self.commit.target is not None
        is_busy = is_syncing or self._is_repairing
        return not is_busy and all(view.is_idle for view in self._views)

    def rewind(self, end: int, dispatched_offset: int, dispatched_timestamp: int) -> None:
        """Adjust to a log truncated at `end`, given its newest dispatched record."""
        self.commit.rewind(end)
        self.dispatched_offset, self.dispatched_timestamp = dispatched_offset, dispatched_timestamp
        self._round_offset = min(self._round_offset, dispatched_offset)

    def _repair_tail(self) -> None:
        """Zero the tail left by a failed write; nothing is appended until that is durable."""
        if self._is_repairing:
            return
        self._is_repairing = True

        def work() -> str:
            file = self._log.repair_tail()
            try:
                file.sync()
            except OSError as error:
                return f"the commit log could not be written to disk: {error}"
            return ""

        self._worker.run(work, self._repaired)

    def _repaired(self, outcome: str | Exception) -> None:
        self._is_repairing = False
        if isinstance(outcome, Exception):
            self._complain(f"the end of the commit log cannot be cleared: {outcome}; tried again")
        elif outcome:
            log.error("%s; writes are refused from now on", outcome)
            self.commit.fail(outcome)
        else:
            self._complaint = ""
            self._log.tail_repaired()

    def _complain(self, text: str) -> None:
        """Log a persistent error once."""
        if text != self._complaint:
            self._complaint = text
            log.error("%s", text)

    @staticmethod
    def _take_directories(unsynced: set[str]) -> list[str]:
        directories = sorted(unsynced)
        unsynced.clear()
        return directories

    def tick(self) -> None:
        """Run the periodic work that is due."""
        now = elapsed_millis(self._clock)
        options = self._options
        for view in self._views:
            view.tick(bool(self.derived_failure))
        if self._log.dirty_tail is not None and not self.commit.failure:
            self._repair_tail()
        self.commit.expire(now)
        if self.commit.waiting:
            self.flush()
        elif now - self._last_flush >= options.flush_interval_commit_log:
            thorough = now - self._last_thorough >= options.flush_commit_log_thorough_interval
            dirty = self._log.end_offset // PAGE - self.commit.flushed // PAGE
            if thorough or dirty >= options.flush_commit_log_least_pages:
                if thorough:
                    self._last_thorough = now
                self.flush()
        if now - self._last_queues >= options.flush_interval_consume_queue:
            self._last_queues = now
            for view in self._views:
                view.mark_due()
            self._write_derived()
        elif self._is_left:
            self._write_derived()
        early = self.dispatched_offset - self._round_offset >= DISPATCHED_A_ROUND
        if early or now - self._last_round >= options.flush_consume_queue_thorough_interval:
            self.start_round(all_out=False)
        elif self._is_round_synced:
            self._end_round()

    def _write_derived(self, all_out: bool = False) -> bool:
        """Do step 1. A failure is logged and retried; the data stays in memory."""
        now, until = self._clock.millis(), self._clock.monotonic() + WRITE_SECONDS
        time_is_up = None if all_out else lambda: self._clock.monotonic() > until
        try:
            left = [view.write(now, time_is_up) for view in self._views]
            self._is_left = any(left)
            self._checkpoint.save()
        except OSError as error:
            if not self.derived_failure:
                log.error("consume queues or index cannot be written: %s; will retry", error)
            self.derived_failure = f"consume queues or index cannot be written: {error}"
            return False
        self.derived_failure = ""
        return True

    def start_round(self, all_out: bool = True) -> None:
        """Start a round that ends with a new checkpoint, unless one is in flight.

        Unless `all_out`, buffered units may remain, and the checkpoint covers only records whose units are
        written.
        """
        if self._round is not None or self._sync_failed:
            return
        self._last_round = elapsed_millis(self._clock)
        if not self._write_derived(all_out):
            return
        offset, timestamp = self.dispatched_offset, self.dispatched_timestamp
        unwritten = [at for view in self._views if (at := view.first_unwritten()) is not None]
        if unwritten:
            offset = min(unwritten)
            timestamp = store_time(self._log, offset)
        written = [view.take_unsynced() for view in self._views]
        many = sum([len(one.files) + len(one.directories) for one in written]) >= FILES_MANY
        files = [] if many else sorted([file for one in written for file in one.files])
        directories = [] if many else [name for one in written for name in one.directories]
        directories += [name for one in written for name in one.open_directories]
        self._round = _Round(files, directories, many, written, self._log.end_offset, offset, timestamp)
        self._round_offset = self.dispatched_offset
        self.flush()
        self._step()

    def _step(self) -> None:
        """Do step 3, a few files at a time."""
        current = self._round
        assert current is not None
        files = current.files[:FILES_A_STEP]
        last = len(current.files) == len(files)

        def work() -> None:
            for directory, start in files:
                self._sync_file(directory, start)
            if last:
                self._sync_rest(current)

        def done(outcome: object) -> None:
            if not self._running:
                return
            if isinstance(outcome, Exception):
                self._round_failed(outcome)
                return
            del current.files[: len(files)]
            if last:
                self._is_round_synced = True
                self._end_round()
            else:
                self._step()

        self._aside.run(work, done)

    def _sync_rest(self, current: _Round) -> None:
        if current.everything:
            assert self._file_system is not None
            self._file_system.sync()
        for one in current.written:
            one.sync()
            for file in one.open_files:
                file.sync()
        self._sync_directories(current.directories)

    def _sync_file(self, directory: str, start: int) -> None:
        # Its topic may have been deleted meanwhile.
        with contextlib.suppress(FileNotFoundError):
            self._disk.open(f"{directory}/{file_name(start)}").sync()

    def _sync_directories(self, directories: Iterable[str]) -> None:
        for directory in sorted(directories):
            with contextlib.suppress(FileNotFoundError):
                self._disk.sync_dir(directory)

    def _round_failed(self, error: Exception) -> None:
        self._sync_failed = True
        self._round = None
        self._is_round_synced = False
        log.error("consume queues or index could not be written to disk: %s; no further checkpoints", error)

    def _note_confirmed(self) -> None:
        """Save the confirm offset that replicas agreed on in the checkpoint.

        RocketMQ: `setConfirmPhyOffset`.
        """
        if isinstance(self._log.policy, Agreement):
            self._checkpoint.confirm_physical_offset = self._log.confirm_offset

    def _end_round(self) -> None:
        """Do step 4, once step 2 has come far enough."""
        current = self._round
        assert current is not None
        if self.commit.flushed < current.end:
            self.flush()
            return
        checkpoint = self._checkpoint
        checkpoint.logics_physical_offset = current.physical_offset
        checkpoint.logics_msg_timestamp = current.store_timestamp
        if self._log.syncs_itself:
            checkpoint.physic_msg_timestamp = current.store_timestamp
        self._note_confirmed()
        for one in current.written:
            one.note(checkpoint)
        try:
            file = checkpoint.save()
            for one in current.written:
                one.confirm()
        except OSError as error:
            self._complain(f"the checkpoint cannot be written: {error}; tried again")
            return
        self._complaint = ""
        self._round = None
        self._is_round_synced = False

        def done(outcome: object) -> None:
            if isinstance(outcome, Exception):
                self._round_failed(outcome)

        self._worker.run(file.sync, done)

    def stop(self) -> bool:
        """Flush everything, synchronously; return True if the stop counts as clean."""
        for view in self._views:
            view.stop()
        self._running = False
        clean = False
        if not self.commit.failure and not self._sync_failed and self._write_derived(all_out=True):
            try:
                self._sync_all()
                clean = True
            except OSError as error:
                log.error("the store could not be written to disk: %s", error)
        if self._file_system is not None:
            self._file_system.close()
        self.commit.give_up()
        return clean

    def _sync_all(self) -> None:
        if self._log.dirty_tail is not None:
            self._log.repair_tail().sync()
        for file in self._log.files.between(self.commit.flushed, self._log.end_offset):
            file.sync()
        # The directory always: a sync that is still waiting has taken it from the list.
        self._sync_directories({*self._log.files.pool.unsynced, self._log.files.directory})
        self.commit.flushed = self._log.flushed_offset = self._log.end_offset
        unfinished = self._round or _Round([], [], False, [], 0, 0, 0)
        last = [view.take_unsynced() for view in self._views]
        files = sorted({*unfinished.files, *[file for one in last for file in one.files]})
        always = {name for one in last for name in one.open_directories}
        names = {*always, *unfinished.directories, *[name for one in last for name in one.directories]}
        many = unfinished.everything or len(files) + len(names) >= FILES_MANY
        for directory, start in () if many else files:
            self._sync_file(directory, start)
        checkpoint, written = self._checkpoint, [*unfinished.written, *last]
        for one in written:
            one.confirm()
            one.note(checkpoint)
        self._sync_rest(_Round([], sorted(always if many else names), many, written, 0, 0, 0))
        checkpoint.physic_msg_timestamp = self._log.last_timestamp
        checkpoint.logics_physical_offset = self.dispatched_offset
        checkpoint.logics_msg_timestamp = self.dispatched_timestamp
        self._note_confirmed()
        checkpoint.save().sync()
