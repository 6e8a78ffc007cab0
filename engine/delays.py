"""Delayed messages: put under a level now, delivered to their topic when the level's time has passed.

A message with DELAY = level is stored in queue level - 1 of the schedule topic (`delay_levels`);
its consume queue unit carries the delivery time in place of a tags code. As all messages of a level wait
equally long, each queue is in the order of delivery: `DelaySchedule.tick` looks at the head of each, and
puts what is due back under its own topic and queue. `delayOffset.json` keeps the offset of each level, and in
a member of ours, which the standard ignores, the offset of the log up to which deliveries are counted.

Never early: a message is delivered when its level's time has passed since it was stored, however the wall
clock was set meanwhile (`engine.steady_clock`). The file never runs ahead of the log's durable part, so
nothing is lost; and what was delivered since the file was last written stands in the log behind that place,
where a start finds it. So what the log has is not delivered again.

Standard: `ScheduleMessageService`.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mqgateway.engine import json_members
from mqgateway.engine.clock import Clock
from mqgateway.engine.delay_levels import DelayLevels, restored, topics_of
from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import MessageIllegal
from mqgateway.engine.lenient_json import dumps
from mqgateway.engine.message import (
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_REAL_QUEUE_ID,
    PROPERTY_REAL_TOPIC,
    PROPERTY_UNIQ_KEY,
    SCHEDULE_TOPIC,
    StoredMessage,
)
from mqgateway.engine.steps import Steps, run
from mqgateway.engine.store.message_store import MessageStore, PutStatus
from mqgateway.engine.tables.data_version import DataVersion
from mqgateway.engine.tables.jsonfile import TableFile
from mqgateway.engine.tail import messages_since
from mqgateway.engine.worker import Worker

log = logging.getLogger(__name__)

UNITS_AT_ONCE = 64
ATTEMPTS_MAX = 3
"""How often an unreadable message is tried before it is left out."""
FUTURE_MILLIS = 1000
"""A message that was stored so much later than now is not taken for one from the future."""
PAUSE_MILLIS = 1000
"""How long to wait after a failure before the next attempt."""
LOG_OFFSET = "logOffset"
"""Member of the file: what was delivered by a message that the log has before this offset is counted."""
LOG_GROWTH_MAX = 16 << 20
"""The file is written anew when the log has grown by so many bytes: a start looks through what came since."""

Trace = tuple[str, str, int, str, str, int, int]
OnDelivered = Callable[[str, int], None]
LeavesOut = Callable[[str, int], bool]
"""Return True for a record, by topic and log offset, whose topic was deleted since. See `TopicTable`."""


def _trace(stored: StoredMessage) -> Trace:
    """What a message is known by, while it waits and when it was delivered."""
    properties = stored.properties
    return (
        properties.get(PROPERTY_UNIQ_KEY, ""),
        properties.get(PROPERTY_DELAY_TIME_LEVEL, ""),
        stored.born_timestamp,
        properties.get(PROPERTY_REAL_TOPIC, ""),
        properties.get(PROPERTY_REAL_QUEUE_ID, ""),
        stored.reconsume_times,
        stored.body_crc,
    )


def _delivered(later: Iterable[StoredMessage | None]) -> Steps[Counter[Trace]]:
    """Which messages were delivered, as the log shows that got these since; each as often as it was.

    Nobody else can put such a message: one with a delay would be made to wait.
    """
    found: Counter[Trace] = Counter()
    for stored in later:
        yield
        if (
            stored is not None
            and stored.topic == stored.properties.get(PROPERTY_REAL_TOPIC)
            and PROPERTY_DELAY_TIME_LEVEL in stored.properties
        ):
            found[_trace(stored)] += 1
    return found


class _Level:
    """Where one level stands: its next message, when that is due if known, and failures with it."""

    __slots__ = ("attempts", "due", "number", "offset", "paused_until")

    def __init__(self, number: int) -> None:
        self.number = number
        self.offset = 0
        self.due: int | None = None
        self.attempts = 0
        self.paused_until = 0

    @property
    def queue_id(self) -> int:
        return self.number - 1

    def advance(self) -> None:
        self.offset += 1
        self.due = None
        self.attempts = 0


class DelaySchedule:
    """Delivers delayed messages: `tick` when something is due, and every 100 ms or so, `persist` every 10 s,
    `close` at the end.

    `max_per_tick` bounds the work of one tick; the version is raised every `version_step` deliveries.
    `file_size` is that of the log's files. `on_delivered` is told topic and bytes of each message that was
    put into this log, `leaves_out` decides what is discarded.
    """

    def __init__(
        self,
        store: MessageStore,
        levels: DelayLevels,
        disk: Disk,
        path: str,
        clock: Clock,
        worker: Worker | None = None,
        *,
        max_per_tick: int = 250,
        version_step: int = 200,
        file_size: int = 1 << 30,
        on_delivered: OnDelivered | None = None,
        leaves_out: LeavesOut = lambda *_: False,
    ) -> None:
        self._store = store
        self._on_delivered = on_delivered
        self._leaves_out = leaves_out
        self._file_size = file_size
        self.levels = levels
        self._clock = clock
        self._file = TableFile(disk, path, worker)
        self._max_per_tick = max_per_tick
        self._version_step = version_step
        self._queues = [_Level(number) for number in range(1, levels.max_level + 1)]
        self._first = 0
        self._other: dict[int, int] = {}
        self._members: dict[str, Any] = {}
        self._delivered = 0
        self._is_dirty = False
        self._counted_to: int | None = None
        self._written_to = 0
        self._waiting: tuple[int, bytes] | None = None
        self._ticked_at = 0
        self._is_behind = False
        self.data_version = DataVersion(timestamp=clock.millis())

    @property
    def offsets(self) -> dict[int, int]:
        """The next message of each level that has had any, by level."""
        return self._other | {queue.number: queue.offset for queue in self._queues if queue.offset}

    def load(self) -> None:
        """Go on where the file says, and behind what the log shows that was delivered since, once the store
        has started. Raises `ConfigError` if the file is unreadable.
        """
        table = self._file.load()
        if table is None:
            self._pass_delivered(0)
            return
        known = {int(level): offset for level, offset in (table.get("offsetTable") or {}).items()}
        for queue in self._queues:
            queue.offset = known.pop(queue.number, 0)
        # Levels that the settings no longer have; they may have them again.
        self._other = known
        self._members = json_members.others(table, ("dataVersion", LOG_OFFSET, "offsetTable"))
        self.data_version = DataVersion.from_json(table.get("dataVersion"))
        # Another broker's file does not say it; that one delivers again what it did not note.
        end = self._store.max_physical_offset
        self._pass_delivered(json_members.read(table, LOG_OFFSET, end, json_members.LONG_BITS))

    def _pass_delivered(self, log_offset: int) -> None:
        """Go on behind what was delivered since, and have that written soon: starts may follow one another
        faster than it is written in between.
        """
        self._written_to = log_offset
        self._counted_to = self._store.max_physical_offset
        waiting = [units[0][0] for queue in self._queues if (units := self._units(queue, 1))]
        if not waiting:
            return
        before, since = self.offsets, max(log_offset, min(waiting))
        later = messages_since(self._store, since, self._file_size, PROPERTY_REAL_TOPIC.encode())
        run(self.take_over(later))
        if self.offsets != before:
            log.info("delay levels resume at %s: the log contains deliveries since %s", self.offsets, before)
        self.persist()

    def adopt(self, reported: Mapping[str, Any], log_offset: int) -> None:
        """Take over how far a master has come, as `to_json` gives it, which contains what our log had before
        an offset. Raises `ConfigError`.

        Standard: `SlaveSynchronize.syncDelayOffset`.
        """
        table = json_members.read(reported, "offsetTable", dict[Any, Any]())
        known = {int(level): int(offset) for level, offset in table.items()}
        for queue in self._queues:
            queue.offset = known.pop(queue.number, 0)
            queue.due = None
        self._other = known
        self._counted_to = log_offset
        version = DataVersion.from_json(reported.get("dataVersion"))
        self._is_dirty |= version != self.data_version
        self.data_version = version

    def forget_end(self) -> None:
        """The log was cut: no level is farther than its messages."""
        for queue in self._queues:
            held = self._store.max_offset(SCHEDULE_TOPIC, queue.queue_id)
            if queue.offset > held:
                queue.offset = held
                queue.due = None
                self._is_dirty = True

    def stand_by(self) -> None:
        """Another broker delivers from now on: what the log gets is not counted here."""
        self._counted_to = self._log_offset()

    def going_on(self) -> Steps[None]:
        """Go on as master, behind what another one delivered meanwhile, as the log shows it."""
        since = max(self._log_offset(), self._store.min_physical_offset)
        for queue in self._queues:
            queue.due, queue.paused_until = None, 0
        later = messages_since(self._store, since, self._file_size, PROPERTY_REAL_TOPIC.encode())
        yield from self.take_over(later)

    def take_over(self, later: Iterable[StoredMessage | None]) -> Steps[None]:
        """Go on in a master's place, behind what it delivered since it last said how far it was.

        `later` are messages of the log of that time, among which those are, and None in between.
        """
        found = yield from _delivered(later)
        counted_to = self._store.max_physical_offset
        passed: list[int] = []
        for queue in self._queues:
            passed.append(0)
            while found:
                yield
                units = self._units(queue, 1, skipped=passed[-1])
                stored = self._store.look_up(units[0][0]) if units else None
                if stored is None or not found[_trace(stored)]:
                    break
                found[_trace(stored)] -= 1
                passed[-1] += 1
        # All at once: whoever is interrupted before has to find the same again.
        self._counted_to = counted_to
        before = self.offsets
        for queue, count in zip(self._queues, passed, strict=True):
            for _ in range(count):
                queue.advance()
        if self.offsets != before:
            self._is_dirty = True
            self.data_version.next(self._clock.millis())

    def take_back(self, reported: Mapping[str, Any]) -> None:
        """Go on behind what a slave delivered in our place, as its `to_json` says. Raises `ConfigError`.

        Standard: `BrokerPreOnlineService.syncMetadataReverse`, which takes all from a newer version.
        """
        table = json_members.read(reported, "offsetTable", dict[Any, Any]())
        known = {int(level): int(offset) for level, offset in table.items()}
        for queue in self._queues:
            end = self._store.max_offset(SCHEDULE_TOPIC, queue.queue_id)
            offset = min(known.get(queue.number, 0), end)
            if offset > queue.offset:
                log.info("delay level %d resumes at %d instead of %d", queue.number, offset, queue.offset)
                queue.offset = offset
                queue.due = None
                self._is_dirty = True

    def tick(self, now: int) -> int:
        """Deliver what is due at `now`, in steady time (ms); gives how many messages were delivered."""
        self._save_waiting()
        self._counted_to = None
        self._ticked_at = now
        budget = self._max_per_tick
        count = len(self._queues)
        for step in range(count):
            queue = self._queues[(self._first + step) % count]
            if (queue.due is None or queue.due <= now) and queue.paused_until <= now:
                budget -= self._deliver_level(queue, now, budget)
                if budget <= 0:
                    break
        # A level with much to do must not keep the others waiting.
        self._first = (self._first + 1) % count
        delivered = self._max_per_tick - budget
        self._is_behind = budget <= 0
        if delivered:
            self._store.dispatch()
        return delivered

    def wait_millis(self, now: int) -> int | None:
        """How long until something is due as far as the last tick saw, in ms: 0 where it left something that
        is, None where nothing is known to wait. What cannot be delivered now is not counted."""
        if self._is_behind:
            return 0
        due = [queue.due for queue in self._queues if queue.due is not None and queue.due > self._ticked_at]
        return max(0, min(due) - now) if due else None

    def persist(self) -> None:
        """Write how far each level has come, if it is news, once the log is durable that it relies on."""
        if self._waiting is None and (self._is_dirty or self._file.has_failed or self._has_grown()):
            self._is_dirty = False
            self._waiting = (self._store.max_physical_offset, self._text())
        self._save_waiting()

    def _save_waiting(self) -> None:
        if self._waiting is not None and self._waiting[0] <= self._store.flushed_offset:
            text = self._waiting[1]
            self._waiting = None
            self._file.save(lambda: text)

    @property
    def _is_used(self) -> bool:
        """Whether there is, or was, a delayed message."""
        return any(self._store.max_offset(SCHEDULE_TOPIC, queue.queue_id) for queue in self._queues)

    def _has_grown(self) -> bool:
        return self._log_offset() - self._written_to >= LOG_GROWTH_MAX and self._is_used

    def close(self) -> None:
        """Write how far each level has come, here and now; for the end, when the store has stopped."""
        is_behind = self._written_to != self._log_offset() and self._is_used
        if self._is_dirty or self._waiting is not None or self._file.has_failed or is_behind:
            self._is_dirty = False
            self._waiting = None
            self._file.save(self._text, inline=True)

    def _log_offset(self) -> int:
        """Up to where in the log all that was delivered is counted."""
        return self._store.max_physical_offset if self._counted_to is None else self._counted_to

    def _text(self) -> bytes:
        self._written_to = self._log_offset()
        return dumps(self._members | {LOG_OFFSET: self._written_to} | self.to_json(), indent=True)

    def to_json(self) -> dict[str, Any]:
        """The next message of each level, and the version, as brokers tell slaves."""
        return {"dataVersion": self.data_version.to_json(), "offsetTable": self.offsets}

    def _deliver_level(self, queue: _Level, now: int, budget: int) -> int:
        """Deliver from the head of a level; gives how many messages were taken."""
        taken = 0
        while taken < budget:
            units = self._units(queue, min(UNITS_AT_ONCE, budget - taken))
            if not units:
                break
            for physical_offset, _, written in units:
                due = self._due(queue, physical_offset, written, now)
                if not self._take(queue, physical_offset, due, now):
                    return taken
                taken += 1
        return taken

    def _units(self, queue: _Level, count: int, skipped: int = 0) -> list[tuple[int, int, int]]:
        store, queue_id = self._store, queue.queue_id
        end = store.max_offset(SCHEDULE_TOPIC, queue_id)
        if queue.offset == end:
            return []
        start = store.min_offset(SCHEDULE_TOPIC, queue_id)
        if not start <= queue.offset <= end:
            # Files were deleted, or a crash took the end of the queue.
            corrected = start if queue.offset < start else end
            log.warning("delay level %d resumes at %d instead of %d", queue.number, corrected, queue.offset)
            queue.offset = corrected
            queue.due = None
            self._is_dirty = True
        return store.consume_queue_units(SCHEDULE_TOPIC, queue_id, queue.offset + skipped, count)

    def _take(self, queue: _Level, physical_offset: int, due: int, now: int) -> bool:
        """Deliver the head, or leave it out where it never can be; false when it has to wait."""
        if due > now:
            queue.due = due
            return False
        stored = self._store.look_up(physical_offset)
        if stored is None:
            return self._give_up(queue, physical_offset, now)
        try:
            message = restored(stored)
        except MessageIllegal as error:
            log.error("delay level %d skips message %d: %s", queue.number, queue.offset, error)
            self._advance(queue)
            return True
        if any(self._leaves_out(topic, physical_offset) for topic in topics_of(message)):
            self._advance(queue)
            return True
        result = self._store.put(message)
        if result.status in (PutStatus.MESSAGE_ILLEGAL, PutStatus.PROPERTIES_SIZE_EXCEEDED):
            log.error("delay level %d skips message %d: %s", queue.number, queue.offset, result.remark)
        elif result.status is PutStatus.PUT_TO_REMOTE_BROKER_FAIL:
            return False
        elif result.status is not PutStatus.PUT_OK:
            log.warning("delay level %d waits: %s", queue.number, result.remark or result.status.name)
            queue.paused_until = now + PAUSE_MILLIS
            return False
        elif self._on_delivered is not None and result.end_offset:
            self._on_delivered(message.topic, result.end_offset - result.physical_offset)
        self._advance(queue)
        return True

    def _due(self, queue: _Level, physical_offset: int, written: int, now: int) -> int:
        """When the head is due, in steady time: as its unit says, unless no message can be due so late.

        That is so when the level was made shorter since, or the unit is damaged: then the message itself
        decides. One that was stored in the future is due at once: the clock was set back while nobody looked.
        Standard: `ScheduleMessageService.correctDeliverTimestamp`.
        """
        delay = self.levels.delay(queue.number)
        due = written + self._store.steady.ahead_at(physical_offset, written - delay)
        if due <= now + delay:
            return due
        stored = self._store.look_up(physical_offset)
        if stored is None:
            return now
        time = stored.store_timestamp
        right = time + delay + self._store.steady.ahead_at(physical_offset, time)
        return min(due, right) if right <= now + delay + FUTURE_MILLIS else now

    def _give_up(self, queue: _Level, physical_offset: int, now: int) -> bool:
        """Leave out a head that cannot be read, when it is gone or after some attempts; false: wait."""
        is_gone = physical_offset < self._store.min_physical_offset
        queue.attempts += 1
        if not is_gone and queue.attempts < ATTEMPTS_MAX:
            queue.paused_until = now + PAUSE_MILLIS
            return False
        log.error(
            "delay level %d skips message %d: it cannot be read at %d",
            queue.number,
            queue.offset,
            physical_offset,
        )
        self._advance(queue)
        return True

    def _advance(self, queue: _Level) -> None:
        queue.advance()
        self._is_dirty = True
        self._delivered += 1
        if self._delivered % self._version_step == 0:
            self.data_version.next(self._clock.millis())
