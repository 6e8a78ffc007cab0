"""Out of the wheel: the timers of each slot are delivered when its time has passed.

A slot is due when its whole step of time has passed. First its chain is walked backwards, which collects the
positions of its units and the keys of deleting ones. Then the units are processed in the order in which they
came: delivered, rescheduled, or skipped because their key was deleted. All of it is incremental, so that a
slot with a million timers blocks nothing. RocketMQ: `TimerMessageStore.dequeue`.
"""

from __future__ import annotations

import logging
from array import array

from mqgateway.engine.message import PROPERTY_REAL_TOPIC, PROPERTY_TIMER_DEL_UNIQKEY, TIMER_TOPIC
from mqgateway.engine.store.message_store import MessageStore
from mqgateway.engine.timers.delivery import TimerDelivery
from mqgateway.engine.timers.messages import delete_keys
from mqgateway.engine.timers.metrics import TimerMetrics
from mqgateway.engine.timers.timer_log import DELETE, ROLL, TimerLog, Unit
from mqgateway.engine.timers.wheel import NONE, Slot, Wheel

log = logging.getLogger(__name__)

WALK = 16
"""Units walked at the cost of one delivery."""


class DueSlot:
    """A slot that is being delivered: the next position to walk, and the units and keys collected."""

    __slots__ = ("deleted", "log_offset", "next", "positions", "slot")

    def __init__(self, slot: Slot, log_offset: int) -> None:
        self.slot = slot
        self.log_offset = log_offset
        self.next = slot.last
        self.positions = array("q")
        self.deleted: set[tuple[str, str]] = set()


class Dequeue:
    """Delivers from `read_time` (ms) on, the first slot that was not delivered."""

    def __init__(
        self,
        store: MessageStore,
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
        self._due: DueSlot | None = None
        self.read_time = 0
        self.taken_out = 0
        """Timers of the delivered slots, to be subtracted from the pending ones."""

    @property
    def first_open(self) -> int:
        """The earliest slot that accepts timers, in ms."""
        return self.read_time if self._due is None else self.read_time + self._wheel.precision

    @property
    def log_offset(self) -> int | None:
        """The end of the log when the current slot was begun; None between slots."""
        return None if self._due is None else self._due.log_offset

    def is_due(self, now: int) -> bool:
        """Return True if there is a slot whose time has passed, or one is in progress."""
        return self._due is not None or self.read_time < self._wheel.floor(now)

    def step(self, now: int, budget: int, *, until: int) -> int:
        """Deliver up to `budget` timers due before `until` (ms); return their number. Raises `NotNow`."""
        done = 0
        while done < budget:
            due = self._due
            if due is None:
                if not self._next_slot(self._wheel.floor(until)):
                    break
            elif due.next != NONE:
                self._walk(due)
                done += 1
            elif due.positions:
                self._finish(due, due.positions[-1], now)
                due.positions.pop()
                done += 1
            else:
                self.taken_out += due.slot.total
                self.read_time += self._wheel.precision
                self._due = None
        return done

    def _next_slot(self, end: int) -> bool:
        if self.read_time >= end:
            return False
        slot = next(self._wheel.used(self.read_time, end), None)
        # A whole turn was searched: later slots cannot have been filled before this one.
        self.read_time = end if slot is None else slot.time
        if slot is not None:
            self._due = DueSlot(slot, self._store.max_physical_offset)
        return True

    def _walk(self, due: DueSlot) -> None:
        """Walk back along the chain for `WALK` units."""
        for _ in range(WALK):
            position = due.next
            unit = self._log.read(position)
            if unit is None or self._wheel.floor(unit.time) != due.slot.time or unit.previous >= position:
                if position >= self._log.begin:
                    log.error("the slot of %d ms ends at %d of the timer log", due.slot.time, position)
                due.next = NONE
                return
            if unit.magic & DELETE and not unit.magic & ROLL:
                self._note_delete(due, unit)
            else:
                due.positions.append(position)
            due.next = unit.previous
            if due.next == NONE:
                return

    def _note_delete(self, due: DueSlot, unit: Unit) -> None:
        if unit.mark:
            return
        stored = self._delivery.look_up(unit.physical_offset)
        key = None if stored is None else stored.properties.get(PROPERTY_TIMER_DEL_UNIQKEY)
        if stored is not None and key is not None:
            due.deleted.add((stored.properties.get(PROPERTY_REAL_TOPIC, ""), key))
            self._metrics.add(stored.properties.get(PROPERTY_REAL_TOPIC, ""), 1, due.slot.time)

    def _finish(self, due: DueSlot, position: int, now: int) -> None:
        """Deliver, reschedule or skip a unit."""
        unit = self._log.read(position)
        if unit is None:
            return
        stored = self._delivery.look_up(unit.physical_offset)
        if stored is None:
            return
        if stored.topic != TIMER_TOPIC:
            log.error("the unit at %d of the timer log is not a timer", position)
            return
        if not due.deleted or due.deleted.isdisjoint(delete_keys(stored)):
            self._delivery.deliver(stored, unit.written, now, is_roll=bool(unit.magic & ROLL))
        self._metrics.add(
            stored.properties.get(PROPERTY_REAL_TOPIC, ""), -1 if not unit.magic & DELETE else 1, now
        )
