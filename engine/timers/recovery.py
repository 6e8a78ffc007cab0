"""Recovery of the timers after a start: repair of files damaged by a crash.

The checkpoint has the position from which on anything may be wrong (`checkpoint.Stable`). From there the
units of the timer log are scanned. The log is truncated at the first unit that is incomplete or whose message
is lost; the others are linked into their slots again. Slots that refer to lost units are filled from the log.
Then the commit log is searched for deliveries since. Nothing is delivered here.

After RocketMQ's broker its own checkpoint counts; as that has less, more is scanned. RocketMQ:
`TimerMessageStore.recover`.
"""

from __future__ import annotations

import logging
from typing import NamedTuple

from mqgateway.engine.message import TIMER_TOPIC
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.message_store import MessageStore
from mqgateway.engine.timers.checkpoint import Stable, TimerCheckpoint
from mqgateway.engine.timers.delivery import TimerDelivery
from mqgateway.engine.timers.enqueue import BLANK_SLOTS
from mqgateway.engine.timers.timer_log import DELETE, TimerLog, Unit
from mqgateway.engine.timers.wheel import Slot, Wheel

log = logging.getLogger(__name__)


class RecoveredTimers(NamedTuple):
    """The state to resume from.

    `written` are messages from `stable.queue_offset` on that have their unit; `pending` timers are in the
    wheel, the last in the slot `last_time` (ms, 0 for none).
    """

    stable: Stable
    written: set[int]
    pending: int
    last_time: int


class TimerRecovery:
    """Recovers wheel and timer log, which must be open and loaded, of a store that has started."""

    def __init__(
        self,
        store: MessageStore,
        wheel: Wheel,
        timer_log: TimerLog,
        delivery: TimerDelivery,
        checkpoint: TimerCheckpoint,
        file_size: int,
    ) -> None:
        self._store = store
        self._wheel = wheel
        self._log = timer_log
        self._delivery = delivery
        self._checkpoint = checkpoint
        self._file_size = file_size
        self._slots: dict[int, Slot] = {}

    def run(self, now: int) -> Steps[RecoveredTimers]:
        """Repair the files; `now` in ms is the start of a store without timers. Raises `OSError`."""
        checkpoint = self._checkpoint
        stable = checkpoint.stable
        is_clean = stable is not None and checkpoint.is_clean and not self._wheel.is_new
        if stable is None:
            stable = yield from self._after_the_standard(now)
        written: set[int] = set()
        if is_clean:
            self._log.open_at(stable.log_position)
        else:
            begin = self._log.begin if self._wheel.is_new else stable.log_position
            written = self._relink(max(begin, self._log.begin), stable)
            if not self._wheel.is_new:
                self._refill()
            yield from self._delivery.learn(stable.commit_log_offset, self._file_size)
        pending, last_time = self._count(stable.read_time)
        log.info("%d timers are pending; timers due from %d ms on are delivered", pending, stable.read_time)
        return RecoveredTimers(stable, written, pending, last_time)

    def _after_the_standard(self, now: int) -> Steps[Stable]:
        """Return the state of RocketMQ's checkpoint, or an initial one."""
        checkpoint, store = self._checkpoint, self._store
        wheel = self._wheel
        # With a wheel and no checkpoint: at least once rather than never, as RocketMQ does.
        turn = 0 if wheel.is_new else (wheel.slots // 2 - BLANK_SLOTS) * wheel.precision
        read_time = checkpoint.read_time or wheel.floor(now) - turn
        # As RocketMQ does: from the file before the one that was flushed last.
        position = max(0, checkpoint.log_position - self._log.files.file_size)
        position -= position % self._log.files.file_size
        units = store.consume_queue_units(TIMER_TOPIC, 0, checkpoint.queue_offset, 1)
        offset = units[0][0] if units else store.max_physical_offset
        for topic, queues in store.queues().items():
            for queue_id in queues:
                yield
                # Messages that the log has no longer cannot be timed again, and may not be readable yet.
                first = store.local_offset_by_time(topic, queue_id, read_time + self._wheel.precision)
                for physical_offset, _, _ in store.consume_queue_units(topic, queue_id, first, 1):
                    if store.store_time(topic, queue_id, first) >= read_time + self._wheel.precision:
                        offset = min(offset, physical_offset)
        return Stable(read_time, position, checkpoint.queue_offset, offset)

    def _relink(self, begin: int, stable: Stable) -> set[int]:
        """Link the units from a position on into their slots; truncate the log after the last valid one."""
        units = self._store.consume_queue_units(TIMER_TOPIC, 0, stable.queue_offset, 1)
        first_message = units[0][0] if units else self._store.max_physical_offset
        log_end = self._store.max_physical_offset
        written: set[int] = set()
        end = begin
        for position, unit in self._log.scan(begin):
            end = position
            if unit is None or unit.physical_offset + unit.size > log_end:
                break
            if unit.time >= stable.read_time:
                self._link(position, unit)
            if unit.physical_offset >= first_message and not unit.mark:
                written.add(unit.physical_offset)
        self._log.open_at(end)
        self._write_slots()
        return written

    def _link(self, position: int, unit: Unit) -> None:
        time = self._wheel.floor(unit.time)
        slot = self._slots.get(time) or self._wheel.get(time)
        number = _number(unit)
        if slot is None:
            self._slots[time] = Slot(time, position, position, number)
        elif slot.last < position:
            self._slots[time] = slot._replace(last=position, total=slot.total + number)

    def _write_slots(self) -> None:
        for slot in self._slots.values():
            self._wheel.put(slot)
        self._slots.clear()

    def _refill(self) -> None:
        """Fill slots that refer to units beyond the log's end from the remaining units."""
        end = self._log.position
        wrong = self._wheel.beyond(end)
        if not wrong:
            return
        log.warning("%d slots of the wheel lost units", len(wrong))
        for slot in wrong:
            self._wheel.clear(slot.time, slot.time + self._wheel.precision)
        times = {slot.time for slot in wrong}
        begin = min((slot.first for slot in wrong if self._log.begin <= slot.first < end), default=end)
        for position, unit in self._log.scan(begin):
            if unit is not None and self._wheel.floor(unit.time) in times:
                self._link(position, unit)
        self._write_slots()

    def _count(self, read_time: int) -> tuple[int, int]:
        if self._log.position == self._log.begin:
            return 0, 0
        wheel, pending, last_time = self._wheel, 0, 0
        for slot in wheel.used(read_time, read_time + wheel.slots * wheel.precision):
            pending += slot.total
            last_time = slot.time
        return pending, last_time


def _number(unit: Unit) -> int:
    if unit.mark:
        return 0
    return -1 if unit.magic & DELETE else 1
