"""From the timer topic into the wheel: every message becomes a unit of the timer log, linked into its slot.

Messages that are due and waited for less than a step of the wheel are delivered at once. One that is due
beyond the window, two days by default, is linked near the window's end as a unit that only reschedules it.
Order on disk: units, then slots. A slot that was not written before a crash is repaired by recovery, which
finds the unit.

RocketMQ's broker resumes after the message of the last unit. So if the last messages read left no unit, as
they were delivered at once, a mark follows: a unit that RocketMQ takes for a deletion, of nothing. RocketMQ:
`TimerMessageStore.enqueue`, `doEnqueue`.
"""

from __future__ import annotations

import logging

from mqgateway.engine.errors import MessageIllegal
from mqgateway.engine.message import (
    PROPERTY_REAL_TOPIC,
    PROPERTY_TIMER_DEL_UNIQKEY,
    TIMER_TOPIC,
    StoredMessage,
    java_hash,
)
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.store.message_store import MessageStore
from mqgateway.engine.timers.delivery import NotNow, TimerDelivery
from mqgateway.engine.timers.messages import NEVER_WAITED, out_time_of
from mqgateway.engine.timers.metrics import TimerMetrics
from mqgateway.engine.timers.timer_log import DEFAULT, DELETE, MARK, ROLL, TimerLog, Unit
from mqgateway.engine.timers.wheel import NONE, Slot, Wheel

log = logging.getLogger(__name__)

BATCH = 256
"""Messages read, and units written, together."""
BLANK_SLOTS = 60
"""Slots of the wheel that are never used for future timers. RocketMQ: TIMER_BLANK_SLOTS."""
UNENDING = 2**63 - 1
_HOUR_MILLIS = 3_600_000
_DELAY_MAX = 2**31 - 1


class Enqueue:
    """Reads the timer topic, starting at `queue_offset`."""

    def __init__(
        self,
        store: MessageStore,
        options: StoreOptions,
        wheel: Wheel,
        timer_log: TimerLog,
        delivery: TimerDelivery,
        metrics: TimerMetrics,
    ) -> None:
        self._store = store
        self._wheel = wheel
        self._log = timer_log
        self._delivery = delivery
        self._metrics = metrics
        self._slots: dict[int, Slot] = {}
        self._last: tuple[int, int] | None = None
        self._counted: list[tuple[str, int]] = []
        self._linked = 0
        self.window = _window(options, wheel)
        self.queue_offset = 0
        self.written: set[int] = set()
        """Log offsets of messages that have their unit from before a crash."""
        self.pending = 0
        """Number of timers in the wheel."""
        self.last_time = 0
        """The latest slot that was ever linked, in ms."""
        self.count = 0
        """Messages taken from the topic since the start."""

    @property
    def behind(self) -> int:
        """Messages of the timer topic that were not read yet."""
        return max(0, self._store.max_offset(TIMER_TOPIC, 0) - self.queue_offset)

    @property
    def read_until(self) -> int:
        """The time (ms) from which on stored messages were not read yet; the far future if all were.

        A timer due later may have been recalled by one of them: a server that was down has them to read.
        """
        stored = self._store.store_time(TIMER_TOPIC, 0, self.queue_offset) if self.behind else NONE
        return UNENDING if stored == NONE else stored

    def settle(self) -> None:
        """Write slots that could not be written before. Raises `NotNow`."""
        try:
            while self._slots:
                time, slot = self._slots.popitem()
                try:
                    self._wheel.put(slot)
                except OSError:
                    self._slots[time] = slot
                    raise
        except OSError as error:
            raise NotNow(f"the wheel cannot be written: {error}") from None

    def step(self, now: int, first_open: int, budget: int) -> int:
        """Take up to `budget` messages, a batch at most; return their number.

        `first_open` is the earliest slot (ms) that is not being delivered. Raises `NotNow`.
        """
        taken = 0
        at_once: list[int] = []
        self._last = None
        self._counted.clear()
        self._linked = 0
        problem: NotNow | None = None
        for physical_offset, size, _ in self._units(min(BATCH, budget)):
            try:
                self._take(physical_offset, size, now, first_open, at_once)
            except NotNow as error:
                problem = error
                break
            taken += 1
        if self._last is not None:
            self._mark(now, first_open)
        try:
            self._log.write()
        except OSError as error:
            # They are read again after a pause: those delivered at once must not be delivered twice.
            self._delivery.known.update(at_once)
            self._slots.clear()
            raise NotNow(f"the timer log cannot be written: {error}") from None
        self.pending += self._linked
        for topic, number in self._counted:
            self._metrics.add(topic, number, now)
        self.queue_offset += taken
        self.count += taken
        self.settle()
        if problem is not None:
            raise problem
        return taken

    def _units(self, count: int) -> list[tuple[int, int, int]]:
        store = self._store
        end = store.max_offset(TIMER_TOPIC, 0)
        if self.queue_offset == end:
            return []
        start = store.min_offset(TIMER_TOPIC, 0)
        if not start <= self.queue_offset <= end:
            # Files were deleted, or a crash removed the end of the queue.
            right = start if self.queue_offset < start else end
            log.warning("reading of timers continues from %d instead of %d", right, self.queue_offset)
            self.queue_offset = right
        return store.consume_queue_units(TIMER_TOPIC, 0, self.queue_offset, count)

    def _take(self, physical_offset: int, size: int, now: int, first_open: int, at_once: list[int]) -> None:
        """Link or deliver one message."""
        stored = self._delivery.look_up(physical_offset)
        if stored is None:
            return
        is_delete = PROPERTY_TIMER_DEL_UNIQKEY in stored.properties
        number = -1 if is_delete else 1
        if physical_offset in self.written:
            self._last = None
            self._counted.append((stored.properties.get(PROPERTY_REAL_TOPIC, ""), number))
            return
        if self._delivery.is_done(stored):
            return
        try:
            out_time = out_time_of(stored)
        except MessageIllegal as error:
            log.error("message %d of the timer topic is skipped: %s", stored.queue_offset, error)
            return
        # One that waited for a slot's time or more may be recalled by a message that was not read yet.
        is_short = out_time < stored.store_timestamp + self._wheel.precision
        if is_short and out_time + self._wheel.precision <= now:
            if not is_delete:
                self._delivery.deliver(stored, NEVER_WAITED, now)
                at_once.append(physical_offset)
            self._last = (physical_offset, size)
        else:
            self._link(stored, out_time, now, first_open, number)
            self._last = None

    def _link(self, stored: StoredMessage, out_time: int, now: int, first_open: int, number: int) -> None:
        precision, window = self._wheel.precision, self.window
        written = self._wheel.floor(now)
        magic = DEFAULT
        # Up, not down: a time between slots must not be early.
        time = max(-(-out_time // precision) * precision, first_open)
        ahead = time - written
        if ahead >= window:
            magic |= ROLL
            # Near the end of its wait a message must not be rescheduled for the last few minutes only.
            half = ahead - window < window // 3
            time = written + self._wheel.floor(window // 2 if half else window)
        if number < 0:
            magic |= DELETE
        topic = stored.properties.get(PROPERTY_REAL_TOPIC, "")
        place = stored.physical_offset, stored.size
        self._append(Unit(NONE, magic, written, time - written, *place, java_hash(topic)), number)
        self._counted.append((topic, number))
        if self._metrics.meters is not None and number > 0:
            self._metrics.meters.timer_enqueued(topic, out_time - stored.born_timestamp)
        self._linked += number

    def _mark(self, now: int, first_open: int) -> None:
        assert self._last is not None
        written = self._wheel.floor(now)
        delay = max(written, first_open) - written
        self._append(Unit(NONE, DEFAULT | DELETE, written, delay, *self._last, 0, MARK), 0)

    def _append(self, unit: Unit, number: int) -> None:
        """Append a unit and chain it to its slot."""
        time = unit.time
        slot = self._slots.get(time) or self._wheel.get(time)
        position = self._log.append(unit if slot is None else unit._replace(previous=slot.last))
        if slot is None:
            self._slots[time] = Slot(time, position, position, number)
        else:
            self._slots[time] = slot._replace(last=position, total=slot.total + number)
        self.last_time = max(self.last_time, time)


def _window(options: StoreOptions, wheel: Wheel) -> int:
    """Return how far ahead timers are linked, in ms: as set, within the retention of the log."""
    most = wheel.slots // 2 - BLANK_SLOTS
    slots = options.timer_roll_window_slot
    window = (slots if 2 <= slots <= most else max(most, 2)) * wheel.precision
    kept = options.file_reserved_time * _HOUR_MILLIS // 2
    window = min(window, _DELAY_MAX - 2 * wheel.precision, max(kept, 60 * wheel.precision))
    return max(wheel.floor(window), 2 * wheel.precision)
