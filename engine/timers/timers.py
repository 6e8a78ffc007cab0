"""The timers of a broker: messages that are delivered at a time of their own.

The way of one: `rewrite` puts it aside into the timer topic, as a send asks for it; `tick` reads that topic
into the wheel (`enqueue`) and delivers what is due (`dequeue`); each step is written to the checkpoint, and
every second or so what was written is made durable (`stability`). All of it lies on disk, in the standard's
files; in memory there is what one slot needs.

Never early: a slot is delivered when its step of time has passed. Once: what a crash interrupts is found in
the log and not delivered again (`recovery`). Slots are of steady time (`engine.steady_clock`): a timer waits
as long as it was to wait when it was set, however the wall clock is set meanwhile. A start goes on where the
timers had come, if any wait; else by the wall clock, which may use slots again that lie behind.

Standard: `TimerMessageStore`, `HookUtils.handleScheduleMessage`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from random import random
from typing import Any

from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import MessageIllegal
from mqgateway.engine.message import PROPERTY_TIMER_DEL_UNIQKEY, TIMER_TOPIC, Message
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.steps import Steps, run
from mqgateway.engine.store.message_store import MessageStore, PutStatus
from mqgateway.engine.tables.data_version import DataVersion
from mqgateway.engine.timers.checkpoint import Stable, TimerCheckpoint, TimerProgress
from mqgateway.engine.timers.delivery import Delivery, LeavesOut, NotNow, NotYet, OnDelivered, Passed
from mqgateway.engine.timers.dequeue import Dequeue
from mqgateway.engine.timers.enqueue import BLANK_SLOTS, Enqueue
from mqgateway.engine.timers.lost_files import drop_wrong_wheel, lost_units
from mqgateway.engine.timers.messages import has_timer, put_aside, requested_time, slot_time
from mqgateway.engine.timers.metrics import TimerMetrics
from mqgateway.engine.timers.recovery import Recovery
from mqgateway.engine.timers.stability import Stability
from mqgateway.engine.timers.timer_log import TimerLog
from mqgateway.engine.timers.wheel import SLOTS, Wheel
from mqgateway.engine.worker import Worker

log = logging.getLogger(__name__)

PAUSE_SECONDS = 1.0
"""How long to wait after a failure before the next attempt."""
CLEAN_SECONDS = 30.0
MASTER_COUNTS = 60
"""How many versions later than it told a master may be: what a slave says in its place must be newer."""
_NO_LIMIT = 2**31 - 1


class Timers:
    """Timers of a store; nothing happens before `load`, which follows the start of the store.

    `on_delivered` is told topic and size of what is delivered; `leaves_out` decides what is discarded. With
    timerWheelEnable false timers are refused and no file is touched. `slots` is how many the wheel has; the
    standard reads wheels of `SLOTS` only.
    """

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
        self._rate_began = 0.0
        self._rate_counts = (0, 0)
        self._rates = (0.0, 0.0)
        self.on_set: Callable[[int], None] | None = None
        """Told in how many ms a timer that was just set is due."""
        self.is_behind = False
        """Whether `tick` left something undone that is due: it should be called again soon."""

    def _make_delivery(self) -> Delivery:
        return Delivery(self._store, self._options, self._on_delivered, self._leaves_out)

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
        """Whether timers are taken. Standard: timerWheelEnable."""
        return self._options.timer_wheel_enable

    @property
    def pending(self) -> int:
        """Timers in the wheel."""
        return max(0, self.enqueue.pending - self.dequeue.taken_out)

    @property
    def delivered_until(self) -> int:
        """Before which time (ms) whatever was to be delivered is delivered; 0 while that cannot be said."""
        if not self._is_loaded or self._is_catching_up:
            return 0
        until = self.dequeue.read_time
        if self.enqueue.behind:
            # What was stored later than this waits for a later time than this.
            stored = self._store.store_time(TIMER_TOPIC, 0, self.enqueue.queue_offset)
            until = min(until, stored + self._store.steady.ahead)
        return until

    # Setting timers.

    def rewrite(self, message: Message, now: int) -> PutStatus | None:
        """Put a message with a timer aside; None when it may be stored, else why it is refused. `now` is what
        the wall clock shows, from which on is counted how long it waits.

        Messages without timers, and those that are due already, stay as they are. Standard:
        `HookUtils.transformTimerMessage`.
        """
        return self._put_aside(message, now, self._store.steady.ahead) if has_timer(message) else None

    def rewrite_steady(self, message: Message) -> PutStatus | None:
        """The same for a message whose time is steady time, as those of pops are."""
        return self._put_aside(message, self._store.steady.now(), 0)

    def _put_aside(self, message: Message, now: int, ahead: int) -> PutStatus | None:
        """`ahead` is how much steady time is ahead of the clock that `now` and the message's time are of."""
        if not self.is_enabled:
            return PutStatus.WHEEL_TIMER_NOT_ENABLE
        try:
            time = requested_time(message.properties, now)
        except MessageIllegal:
            return PutStatus.WHEEL_TIMER_MSG_ILLEGAL
        if time <= now:
            is_delete = PROPERTY_TIMER_DEL_UNIQKEY in message.properties
            return PutStatus.WHEEL_TIMER_MSG_ILLEGAL if is_delete else None
        if time - now > self._options.timer_max_delay_sec * 1000:
            return PutStatus.WHEEL_TIMER_MSG_ILLEGAL
        out_time = slot_time(time + ahead, self.precision)
        if self._is_congested(out_time):
            return PutStatus.WHEEL_TIMER_FLOW_CONTROL
        put_aside(message, out_time)
        if self.on_set is not None:
            self.on_set(out_time + self.precision - now - ahead)
        return None

    def _is_congested(self, out_time: int) -> bool:
        """Whether a slot has too many timers; between once and twice the limit chance decides."""
        limit = self._options.timer_congest_num_each_slot
        if limit >= _NO_LIMIT or not self._is_loaded:
            return False
        slot = self.wheel.get(out_time)
        return slot is not None and slot.total > limit * (1 + random())

    # Starting and stopping.

    def load(self) -> None:
        """Recover, once the store has started. Raises `OSError` and `CorruptFile`."""
        run(self.loading())

    def loading(self) -> Steps[None]:
        """What `load` does, in steps; also for a slave that becomes master, as if it started anew."""
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
            yield from self._read_anew(progress, now)
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
        self._go_on_in_time()
        self._is_loaded = True
        self._save()
        if self.wheel.is_new:
            assert checkpoint.file is not None
            checkpoint.file.sync()
            self._disk.sync_dir(self._root)

    def _lost_units(self) -> str:
        """Look at the files before they are used: a wheel that is wrong goes, and of a timer log that lacks
        units the reason is given."""
        path, checkpoint = f"{self._root}/timerwheel", self.checkpoint
        wheel = Wheel(self._disk, path, checkpoint.precision or self.precision, self._slots)
        drop_wrong_wheel(self._disk, path, wheel, checkpoint)
        is_there = self._disk.exists(path) and self._disk.size(path) == wheel.length
        if is_there:
            wheel.open(create=False)
        oldest = self._store.min_physical_offset
        return lost_units(self.log, wheel if is_there else None, checkpoint, lambda place: place > oldest)

    def stand_by(self) -> None:
        """In place of `load`, on a slave: the master delivers, and nothing is known of that here.

        What our files say of an earlier time as master is no longer all: whoever goes on with them must look
        through the log for what was delivered since. Raises `OSError`.
        """
        checkpoint = self.checkpoint
        if self._disk.exists(f"{self._root}/config/timercheck"):
            checkpoint.load(create=False)
        if checkpoint.is_clean:
            assert checkpoint.file is not None
            checkpoint.is_clean = False
            checkpoint.save()
            checkpoint.file.sync()

    def take_over(self, progress: TimerProgress | None) -> Steps[None]:
        """In place of `load`, on a slave that acts for its master, which last said so much, if anything.

        All timers that can still wait are read anew. What the master delivered in the last slots before it
        told, and since, is looked for in the log; if it never told, of all that time. Raises `OSError` and
        `CorruptFile`.
        """
        if not self.is_enabled:
            return
        now, checkpoint = self._store.steady.now(), self.checkpoint
        checkpoint.load()
        yield from self._read_anew(progress or TimerProgress(0, 0, checkpoint.data_version), now)

    def _read_anew(self, progress: TimerProgress, now: int) -> Steps[None]:
        """Make wheel and timer log anew, of all timers in the topic that can still wait."""
        checkpoint = self.checkpoint
        # Timers that come at the last moment go into a slot later than their own.
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
        self._go_on_in_time()
        self._is_loaded = True
        self._save()

    def hand_back(self) -> None:
        """Another broker is master: this one delivers no more. Raises `OSError`."""
        if self._is_loaded:
            self._is_loaded = self.is_behind = False
            self.enqueue.settle()
            self._save()

    def forget_end(self) -> None:
        """The log was cut: what the timers' files say of records behind that is of no use. A broker that goes
        on with them reads its timers anew from their topic. Raises `OSError`."""
        if not self._disk.exists(f"{self._root}/config/timercheck"):
            return
        self._disk.rmtree(f"{self._root}/timerlog")
        checkpoint = self.checkpoint
        checkpoint.load(create=False)
        checkpoint.queue_offset = min(checkpoint.queue_offset, self._store.max_offset(TIMER_TOPIC, 0))
        if checkpoint.stable is not None:
            checkpoint.save()

    def take_back(self, data: bytes) -> None:
        """Leave out what a slave delivered in our place, by its `checkpoint.encode()`.

        Raises `ConfigError`.
        """
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
        recovery = Recovery(self._store, self.wheel, self.log, self._delivery, checkpoint, file_size)
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

    def _go_on_in_time(self) -> None:
        """Let those that wait do so no longer where the clock was set back while nobody looked."""
        if self.pending or self.enqueue.behind:
            checkpoint = self.checkpoint
            self._store.steady.go_on_from(
                max(self.dequeue.read_time, checkpoint.read_time, checkpoint.reached)
            )

    def close(self) -> None:
        """Write how far the timers have come, here and now; for the end, when the store has stopped."""
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

    # Living.

    def tick(self, now: int) -> None:
        """Take in and deliver what there is at `now`, in steady time (ms), in bounds; then `is_behind` says
        whether there is more.
        """
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
        self._count_rates(elapsed)

    def wait_millis(self, now: int) -> int | None:
        """How long until something can be due: 0 when `tick` left something, None when nothing waits."""
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
        # So far behind that new timers would use slots that were not delivered: those come first.
        is_late = now - dequeue.read_time > self.wheel.slots // 2 * self.precision
        if not options.timer_stop_enqueue and not is_late:
            enqueue.step(now, dequeue.first_open, budget)
        if not options.timer_stop_dequeue:
            dequeue.step(now, budget)

    def _is_behind(self, now: int) -> bool:
        options = self._options
        return (not options.timer_stop_dequeue and self.dequeue.is_due(now)) or (
            not options.timer_stop_enqueue and self.enqueue.behind > 0
        )

    def _turn_back(self, read_time: int) -> None:
        """The clock was set back: begin again at the slot of the new time, with nothing in the slots between.

        They are durably empty before anything is linked into them. Raises `OSError`.
        """
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
        """Whether what was done before a crash is being passed again: the stable state must wait for that."""
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
            # Not the time by which all is caught up, which is yet to come: the next start goes on from here.
            checkpoint.reached = max(checkpoint.reached, self._reached)
        checkpoint.log_position = self.log.position
        checkpoint.queue_offset = checkpoint.master_queue_offset = self.enqueue.queue_offset
        checkpoint.data_version.next(self._clock.millis())
        checkpoint.save()

    # Figures.

    def _count_rates(self, elapsed: float) -> None:
        passed = elapsed - self._rate_began
        if passed >= 1:
            counts = (self.enqueue.count, self._delivery.count)
            self._rates = (
                (counts[0] - self._rate_counts[0]) / passed,
                (counts[1] - self._rate_counts[1]) / passed,
            )
            self._rate_counts, self._rate_began = counts, elapsed

    def runtime_info(self) -> dict[str, str]:
        """Figures by the standard's keys. Standard: `AdminBrokerProcessor.prepareRuntimeInfo`."""
        if not self._is_loaded:
            return dict.fromkeys(_FIGURES, "0")
        behind = max(0, self._store.steady.now() - self.dequeue.read_time) // 1000
        values: tuple[Any, ...] = (behind, self.enqueue.behind, self.pending, *self._rates)
        return {name: str(value) for name, value in zip(_FIGURES, values, strict=True)}


_FIGURES = ("timerReadBehind", "timerOffsetBehind", "timerCongestNum", "timerEnqueueTps", "timerDequeueTps")
