"""Durable checkpoints of the timers.

A round: note the progress; sync the files of the timers on the worker; wait until the commit log is flushed
up to its end at that moment; then write the noted state as the stable one, with the counts of that moment.
RocketMQ: `TimerMessageStore.TimerFlushService`.
"""

from __future__ import annotations

import logging

from mqgateway.engine.disk import Disk, File
from mqgateway.engine.store.message_store import MessageStore
from mqgateway.engine.timers.checkpoint import Stable, TimerCheckpoint
from mqgateway.engine.timers.metrics import TimerMetrics
from mqgateway.engine.timers.timer_log import TimerLog
from mqgateway.engine.timers.wheel import Wheel
from mqgateway.engine.worker import Worker

log = logging.getLogger(__name__)

LOG_BYTES = 64 * 1024**2
"""Growth of the log in bytes that triggers a round without timers: recovery scans them."""
IDLE_MILLIS = 60_000
"""Time in ms that triggers a round without timers."""


class Stability:
    """Rounds of at least `interval` ms."""

    def __init__(
        self,
        store: MessageStore,
        disk: Disk,
        worker: Worker,
        wheel: Wheel,
        timer_log: TimerLog,
        checkpoint: TimerCheckpoint,
        metrics: TimerMetrics,
        directory: str,
        interval: int,
    ) -> None:
        self._store = store
        self._disk = disk
        self._worker = worker
        self._wheel = wheel
        self._log = timer_log
        self._checkpoint = checkpoint
        self._metrics = metrics
        self._directory = directory
        self._interval = interval / 1000
        self._began = 0.0
        self._state: Stable | None = None
        self._counts = b""
        self._log_end = 0
        self._is_synced = False

    def tick(self, state: Stable, elapsed: float) -> bool:
        """Begin a round with this state if one is due, or end the one in progress.

        `elapsed` is monotonic seconds. Returns True if the checkpoint has a new stable state to save.
        """
        if self._state is None:
            if elapsed - self._began >= self._interval and self._is_worth_it(state):
                self._began = elapsed
                self._begin(state)
            return False
        if not self._is_synced or self._store.flushed_offset < self._log_end:
            return False
        self._checkpoint.stable = self._state
        self._state = None
        self._metrics.persist(self._counts)
        return True

    def sync(self) -> None:
        """Sync the files of the timers synchronously. Raises `OSError`."""
        for file in self._files():
            file.sync()
        self._sync_names()

    def forget(self) -> None:
        """Drop the round in progress: its state is stale."""
        self._state = None

    def _is_worth_it(self, state: Stable) -> bool:
        stable = self._checkpoint.stable
        assert stable is not None
        return (
            state[1:3] != stable[1:3]
            or abs(state.read_time - stable.read_time) >= IDLE_MILLIS
            or state.commit_log_offset - stable.commit_log_offset >= LOG_BYTES
        )

    def _begin(self, state: Stable) -> None:
        self._state = state
        self._counts = self._metrics.encode()
        self._log_end = self._store.max_physical_offset
        self._is_synced = False
        files = self._files()

        def work() -> None:
            for file in files:
                file.sync()
            self._sync_names()

        def done(outcome: Exception | None) -> None:
            if outcome is not None:
                log.error("timer files cannot be synced to disk: %s", outcome)
                self._state = None
            elif self._state is state:
                self._is_synced = True

        self._worker.run(work, done)

    def _files(self) -> list[File]:
        """Return the wheel, and the files of the timer log written since the last round."""
        stable, files = self._checkpoint.stable, self._log.files
        assert stable is not None and self._wheel.file is not None
        first = files.start_of(stable.log_position)
        return [self._wheel.file, *(files.file(start) for start in files.starts if start >= first)]

    def _sync_names(self) -> None:
        while self._log.files.pool.unsynced:
            self._disk.sync_dir(self._log.files.pool.unsynced.pop())
        self._disk.sync_dir(self._directory)
