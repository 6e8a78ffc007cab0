"""The timers of a broker: messages that are delivered at a requested time.

How a timer passes through: `acceptance` moves it to the timer topic when it is sent. `tick` reads that topic
into the wheel (`enqueue`) and delivers due ones (`dequeue`). Each step is written to the checkpoint, and
every second or so all writes are made durable (`stability`). All of it is on disk, in RocketMQ's files; only
one slot is in memory.

A timer is never early: a slot is delivered when its step of time has passed. It is delivered once: deliveries
before a crash are found in the log (`recovery`). Slots are in steady time (`engine.steady_clock`): a timer
waits as long as was requested, whatever the wall clock is set to. A start resumes at the timers' last time if
any wait; else by the wall clock, which may reuse earlier slots.

RocketMQ: `TimerMessageStore`.
"""

from __future__ import annotations

import logging
import os

from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk
from mqgateway.engine.message import TIMER_TOPIC
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.steps import Steps, run
from mqgateway.engine.store.message_store import MessageStore
from mqgateway.engine.tables.data_version import DataVersion
from mqgateway.engine.timers.acceptance import TimerAcceptance
from mqgateway.engine.timers.checkpoint import Stable, TimerCheckpoint, TimerProgress
from mqgateway.engine.timers.delivery import LeavesOut, NotNow, NotYet, OnDelivered, Passed, TimerDelivery
from mqgateway.engine.timers.dequeue import Dequeue
from mqgateway.engine.timers.enqueue import BLANK_SLOTS, Enqueue
from mqgateway.engine.timers.figures import TimerRates, no_timer_figures, timer_figures
from mqgateway.engine.timers.lost_files import drop_wrong_wheel, lost_units
from mqgateway.engine.timers.metrics import TimerMetrics
from mqgateway.engine.timers.recovery import TimerRecovery
from mqgateway.engine.timers.stability import Stability
from mqgateway.engine.timers.timer_log import TimerLog
from mqgateway.engine.timers.wheel import SLOTS, Wheel
from mqgateway.engine.worker import Worker

log = logging.getLogger(__name__)

PAUSE_SECONDS = 1.0
"""Pause in seconds after a failure before the next attempt."""
CLEAN_SECONDS = 30.0
MASTER_COUNTS = 60
"""Number of versions by which a master may lead its last report: an acting slave's must be newer."""


class Timers:
    """Timers of a store; nothing happens before `load`, which follows the start of the store. `on_delivered`
    gets topic and size of each delivery; `leaves_out` returns True for messages to discard. With
    timerWheelEnable false timers are refused and no file is touched. `slots` is the size of the wheel;
    RocketMQ reads wheels of `SLOTS` only."""

    def __init__(
        self,
        store: MessageStore,
        options: StoreOptions,
        disk: Disk,
        clock: Clock,
        worker: Worker,
        *,
        on_delivered: OnDelivered | None = None,
        leaves_out: LeavesOut = lambda *_: False,
        slots: int = SLOTS,
    ) -> None:
        root = options.store_path_root_dir or os.path.expanduser("~/store")
        self._store = store
        self._options = options
        self._disk = disk
        self._clock = clock
        self._worker = worker
        self._root = root
        self._slots = slots
        self.precision = options.timer_precision_ms
        """Milliseconds of a step; may differ from the setting while timers of another precision wait."""
        self.checkpoint = TimerCheckpoint(disk, f"{root}/config/timercheck")
        self.metrics = TimerMetrics(disk, f"{root}/config/timermetrics", worker)
        self._on_delivered = on_delivered
        self._leaves_out = leaves_out
        self._delivery = self._make_delivery()
        self._make_parts()
        self._reached = 0
        self._caught_up_time = 0
        self._caught_up_offset = 0
        self._is_loaded = False
        self._paused_until = 0.0
        self._next_clean = 0.0
        self._rates = TimerRates()
        self.acceptance = TimerAcceptance(
            options, store.steady, lambda: self.wheel, lambda: self.precision, lambda: self._is_loaded
        )
        self.is_behind = False
        """True if `tick` left due work: it should be called again soon."""

    def _make_delivery(self) -> TimerDelivery:
        return TimerDelivery(self._store, self._options, self._on_delivered, self._leaves_out)

    def _make_parts(self) -> None:
        options, store, root = self._options, self._store, self._root
        self.wheel = Wheel(self._disk, f"{root}/timerwheel", self.precision, self._slots)
        self.log = TimerLog(self._disk, f"{root}/timerlog", options.mapped_file_size_timer_log)
        self.enqueue = Enqueue(store, options, self.wheel, self.log, self._delivery, self.metrics)
        self.dequeue = Dequeue(store, self.wheel, self.log, self._delivery, self.metrics)
        self._stability = Stability(
            store,
            self._disk,
            self._worker,
            self.wheel,
            self.log,
            self.checkpoint,
            self.metrics,
            root,
            options.timer_flush_interval_ms,
        )

    @property
    def is_enabled(self) -> bool:
        """True if timers are accepted. RocketMQ: timerWheelEnable."""
        return self._options.timer_wheel_enable

    @property
    def pending(self) -> int:
        """Number of timers in the wheel."""
        return max(0, self.enqueue.pending - self.dequeue.taken_out)

    @property
    def delivered_until(self) -> int:
        """Time (ms) before which all timers are delivered; 0 while unknown."""
        if not self._is_loaded or self._is_catching_up:
            return 0
        until = self.dequeue.read_time
        if self.enqueue.behind:
            # A message stored later than this waits for a later time.
            stored = self._store.store_time(TIMER_TOPIC, 0, self.enqueue.queue_offset)
            until = min(until, stored + self._store.steady.ahead)
        return until

    # Starting and stopping.

    def load(self) -> None:
        """Recover, once the store has started. Raises `OSError` and `CorruptFile`."""
        run(self.loading())

    def loading(self) -> Steps[None]:
        """Recover as `load`, as a cooperative task; also for a slave that becomes master, as after a
        start.
        """
        if not self.is_enabled:
            return
        now = self._store.steady.now()
        checkpoint = self.checkpoint
        self.precision = self._options.timer_precision_ms
        self._delivery = self._make_delivery()
        self._make_parts()
        checkpoint.load()
        if reason := self._lost_units():
            log.warning("%s: timers are rebuilt from their topic", reason)
            progress = TimerProgress(checkpoint.read_time, checkpoint.queue_offset, checkpoint.data_version)
            yield from self._rebuild(progress, now)
        elif checkpoint.precision not in (0, self.precision):
            yield from self._open(checkpoint.precision, now)
            if self.pending or self.enqueue.behind:
                log.warning("timerPrecisionMs stays %d until no timers are pending", self.precision)
            else:
                checkpoint.stable = None
                self._disk.unlink(f"{self._root}/timerwheel")
                yield from self._open(self._options.timer_precision_ms, now)
        else:
            yield from self._open(self.precision, now)
        checkpoint.precision = self.precision
        checkpoint.is_clean = False
        self._advance_time()
        self._is_loaded = True
        self._save()
        if self.wheel.is_new:
            assert checkpoint.file is not None
            checkpoint.file.sync()
            self._disk.sync_dir(self._root)

    def _lost_units(self) -> str:
        """Check the files before use: delete an invalid wheel, and return the fault of a timer log."""
        path, checkpoint = f"{self._root}/timerwheel", self.checkpoint
        wheel = Wheel(self._disk, path, checkpoint.precision or self.precision, self._slots)
        drop_wrong_wheel(self._disk, path, wheel, checkpoint)
        is_there = self._disk.exists(path) and self._disk.size(path) == wheel.length
        if is_there:
            wheel.open(create=False)
        oldest = self._store.min_physical_offset
        return lost_units(self.log, wheel if is_there else None, checkpoint, lambda place: place > oldest)

    def stand_by(self) -> None:
        """Prepare a slave, in place of `load`: the master delivers, unknown to this broker. Our files, from
        an earlier time as master, are stale: a later start from them must search the log for deliveries
        since. Raises `OSError`."""
        checkpoint = self.checkpoint
        if self._disk.exists(f"{self._root}/config/timercheck"):
            checkpoint.load(create=False)
        if checkpoint.is_clean:
            assert checkpoint.file is not None
            checkpoint.is_clean = False
            checkpoint.save()
            checkpoint.file.sync()

    def take_over(self, progress: TimerProgress | None) -> Steps[None]:
        """Take over on an acting slave, in place of `load`, after the master's last reported progress, if
        any. All timers that can still wait are read again. The log is searched for the master's deliveries of
        the last slots before its report, and since; without a report, of all that time. Raises `OSError` and
        `CorruptFile`."""
        if not self.is_enabled:
            return
        now, checkpoint = self._store.steady.now(), self.checkpoint
        checkpoint.load()
        yield from self._rebuild(progress or TimerProgress(0, 0, checkpoint.data_version), now)

    def _rebuild(self, progress: TimerProgress, now: int) -> Steps[None]:
        """Rebuild wheel and timer log from all timers in the topic that can still wait."""
        checkpoint = self.checkpoint
        # Timers that arrive at the last moment are linked into a later slot.
        longest = self._options.timer_max_delay_sec * 1000
        if not progress.read_time:
            progress = TimerProgress(now - longest, 0, checkpoint.data_version)
        time = (progress.read_time // self.precision - 2) * self.precision
        checkpoint.read_time = time
        checkpoint.queue_offset = self._store.offset_by_time(TIMER_TOPIC, 0, time - longest)
        checkpoint.log_position = 0
        checkpoint.stable = None
        checkpoint.is_clean = False
        version = progress.data_version
        counter = version.counter + MASTER_COUNTS
        checkpoint.data_version = DataVersion(counter, version.state_version, version.timestamp)
        if self._disk.exists(f"{self._root}/timerwheel"):
            self._disk.unlink(f"{self._root}/timerwheel")
        self._disk.rmtree(f"{self._root}/timerlog")
        self._delivery = self._make_delivery()
        self._delivery.passed = Passed(progress.queue_offset, time)
        self._make_parts()
        yield from self._open(self.precision, now)
        self.enqueue.window = (self.wheel.slots // 2 - BLANK_SLOTS) * self.precision
        checkpoint.precision = self.precision
        self._advance_time()
        self._is_loaded = True
        self._save()

    def hand_back(self) -> None:
        """Stop delivering, as another broker is master. Raises `OSError`."""
        if self._is_loaded:
            self._is_loaded = self.is_behind = False
            self.enqueue.settle()
            self._save()

    def forget_end(self) -> None:
        """Adjust to a truncated log: data in the timers' files about later records is stale. Timers are then
        read again from their topic. Raises `OSError`."""
        if not self._disk.exists(f"{self._root}/config/timercheck"):
            return
        self._disk.rmtree(f"{self._root}/timerlog")
        checkpoint = self.checkpoint
        checkpoint.load(create=False)
        checkpoint.queue_offset = min(checkpoint.queue_offset, self._store.max_offset(TIMER_TOPIC, 0))
        if checkpoint.stable is not None:
            checkpoint.save()

    def take_back(self, data: bytes) -> None:
        """Skip deliveries of an acting slave, given its `checkpoint.encode()`. Raises `ConfigError`."""
        progress = TimerProgress.decode(data)
        if progress.read_time > self.dequeue.read_time:
            self._delivery.passed = Passed(progress.queue_offset, progress.read_time)
            log.info("a slave delivered the timers due before %d ms", progress.read_time)

    def _open(self, precision: int, now: int) -> Steps[None]:
        if precision != self.precision:
            self.precision = precision
            self._make_parts()
        checkpoint = self.checkpoint
        self.wheel.open()
        self.log.load(repair=not checkpoint.is_clean)
        self.metrics.load()
        file_size = self._options.mapped_file_size_commit_log
        recovery = TimerRecovery(self._store, self.wheel, self.log, self._delivery, checkpoint, file_size)
        stable, written, pending, last_time = yield from recovery.run(now)
        self.dequeue.read_time = stable.read_time
        self.enqueue.queue_offset = stable.queue_offset
        self.enqueue.written = written
        self.enqueue.pending = pending
        self.enqueue.last_time = last_time
        if written or self._delivery.known:
            self._reached = max(checkpoint.reached, checkpoint.read_time)
            latest = max(self._reached, self._delivery.latest, now)
            self._caught_up_time = self.wheel.floor(latest) + precision
            self._caught_up_offset = self.enqueue.queue_offset + self.enqueue.behind
        checkpoint.stable = stable

    def _advance_time(self) -> None:
        """Advance steady time if the clock was set back while the process was down, so that timers are not
        late."""
        if self.pending or self.enqueue.behind:
            checkpoint = self.checkpoint
            self._store.steady.continue_from(
                max(self.dequeue.read_time, checkpoint.read_time, checkpoint.reached)
            )

    def close(self) -> None:
        """Write the progress synchronously; called at the end, when the store has stopped."""
        if not self._is_loaded:
            return
        self._is_loaded = False
        try:
            self.enqueue.settle()
            self._stability.sync()
            if not self._is_catching_up and self._store.flushed_offset >= self._store.max_physical_offset:
                self.checkpoint.stable = self._state()
                self.checkpoint.is_clean = self.dequeue.log_offset is None
                self.checkpoint.wheel_crc = self.wheel.crc()
                self.metrics.persist(self.metrics.encode(), inline=True)
            self._save()
            assert self.checkpoint.file is not None
            self.checkpoint.file.sync()
        except (OSError, NotNow) as error:
            log.error("the timers' state cannot be written: %s", error)

    # Periodic work.

    def tick(self, now: int) -> None:
        """Enqueue and deliver at `now`, in steady time (ms), within limits; then `is_behind` is True if more
        is due."""
        if not self._is_loaded:
            return
        elapsed = self._clock.monotonic()
        self.is_behind = False
        if elapsed < self._paused_until:
            return
        before = (self.dequeue.read_time, self.enqueue.queue_offset, self.log.position)
        try:
            self._work(now)
            self._store.dispatch()
            self.is_behind = self._is_behind(now)
        except (NotNow, OSError) as error:
            if not isinstance(error, NotYet):
                log.warning("timers are delayed: %s", error)
                self._paused_until = elapsed + PAUSE_SECONDS
            self._store.dispatch()
            if self._delivery.known:
                self._caught_up_offset = self.enqueue.queue_offset + self.enqueue.behind
        if self._is_catching_up and self._has_caught_up():
            self._delivery.known.clear()
            self.enqueue.written.clear()
        try:
            is_stable = not self._is_catching_up and self._stability.tick(self._state(), elapsed)
            moved = before != (self.dequeue.read_time, self.enqueue.queue_offset, self.log.position)
            if is_stable or moved:
                self._save()
            if elapsed >= self._next_clean:
                self._next_clean = elapsed + CLEAN_SECONDS
                self.log.clean(lambda offset: offset < self._store.min_physical_offset)
        except OSError as error:
            log.error("the timers' state cannot be written: %s", error)
        self._rates.note(elapsed, self.enqueue.count, self._delivery.count)

    def wait_millis(self, now: int) -> int | None:
        """Return the ms until a timer can be due: 0 if `tick` left work, None if none waits."""
        if self.is_behind:
            return 0
        if not self._is_loaded or self.enqueue.last_time < self.dequeue.read_time:
            return None
        return self.precision - now % self.precision

    def _work(self, now: int) -> None:
        enqueue, dequeue, options = self.enqueue, self.dequeue, self._options
        enqueue.settle()
        if self.wheel.floor(now) < dequeue.read_time and dequeue.log_offset is None:
            self._turn_back(self.wheel.floor(now))
        budget = options.max_timers_per_tick
        # The lag is so large that new timers would reuse undelivered slots: those are delivered first.
        is_late = now - dequeue.read_time > self.wheel.slots // 2 * self.precision
        if not options.timer_stop_enqueue and not is_late:
            enqueue.step(now, dequeue.first_open, budget)
        if not options.timer_stop_dequeue:
            is_reading = not options.timer_stop_enqueue and not is_late
            dequeue.step(now, budget, until=min(now, enqueue.read_until) if is_reading else now)

    def _is_behind(self, now: int) -> bool:
        options = self._options
        return (not options.timer_stop_dequeue and self.dequeue.is_due(now)) or (
            not options.timer_stop_enqueue and self.enqueue.behind > 0
        )

    def _turn_back(self, read_time: int) -> None:
        """Go back to the slot of a clock that was set back, and empty the slots between. They are durably
        empty before anything is linked into them. Raises `OSError`."""
        log.warning("the clock was set back; timers continue from %d ms", read_time)
        assert self.wheel.file is not None and self.checkpoint.file is not None
        assert self.checkpoint.stable is not None
        self.wheel.clear(read_time, self.dequeue.read_time)
        self.wheel.file.sync()
        self._stability.forget()
        self.dequeue.read_time = read_time
        stable = self.checkpoint.stable
        self.checkpoint.stable = stable._replace(read_time=min(stable.read_time, read_time))
        self._save()
        self.checkpoint.file.sync()

    @property
    def _is_catching_up(self) -> bool:
        """True while work done before a crash is being skipped; stable checkpoints wait for its end."""
        return bool(self._delivery.known or self.enqueue.written)

    def _has_caught_up(self) -> bool:
        return (
            self.dequeue.read_time >= self._caught_up_time
            and self.enqueue.queue_offset >= self._caught_up_offset
        )

    def _state(self) -> Stable:
        log_offset = self.dequeue.log_offset
        return Stable(
            self.dequeue.read_time,
            self.log.position,
            self.enqueue.queue_offset,
            self._store.max_physical_offset if log_offset is None else log_offset,
        )

    def _save(self) -> None:
        checkpoint = self.checkpoint
        checkpoint.read_time = checkpoint.reached = self.dequeue.read_time
        if self._is_catching_up:
            # Not the future time at which it has caught up: the next start resumes from here.
            checkpoint.reached = max(checkpoint.reached, self._reached)
        checkpoint.log_position = self.log.position
        checkpoint.queue_offset = checkpoint.master_queue_offset = self.enqueue.queue_offset
        checkpoint.data_version.next(self._clock.millis())
        checkpoint.save()

    def runtime_info(self) -> dict[str, str]:
        """Return figures by RocketMQ's keys; see `timer_figures`."""
        if not self._is_loaded:
            return no_timer_figures()
        lag_seconds = max(0, self._store.steady.now() - self.dequeue.read_time) // 1000
        return timer_figures(lag_seconds, self.enqueue.behind, self.pending, self._rates)
