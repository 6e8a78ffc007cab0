"""Delayed messages: stored under a level, delivered to their topic when the level's time has passed.

A message with DELAY = level is stored in queue level - 1 of the schedule topic (`delay_levels`). Its consume
queue unit has the delivery time in place of a tags code. All messages of a level wait equally long, so each
queue is in the order of delivery: `DelaySchedule.tick` checks the head of each, and puts due messages back
under their own topic and queue. `delayOffset.json` has the offset of each level, and in an additional member,
which RocketMQ ignores, the log offset up to which deliveries are counted.

A message is never delivered early: its level's time must have passed since it was stored, whatever the wall
clock was set to (`engine.steady_clock`). The file never leads the durable part of the log, so nothing is
lost. Deliveries since the file was last written are in the log after that offset, where a start finds them.
So deliveries in the log are not repeated.

RocketMQ: `ScheduleMessageService`.
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
"""Number of attempts before an unreadable message is skipped."""
FUTURE_MILLIS = 1000
"""Tolerance in ms for a message stored later than now, before its time counts as wrong."""
PAUSE_MILLIS = 1000
"""Pause after a failure before the next attempt."""
LOG_OFFSET = "logOffset"
"""Member of the file: the log offset up to which deliveries are counted."""
LOG_GROWTH_MAX = 16 << 20
"""Growth of the log in bytes after which the file is rewritten: a start scans what was added since."""

Trace = tuple[str, str, int, str, str, int, int]
OnDelivered = Callable[[str, int], None]
LeavesOut = Callable[[str, int], bool]
"""Return True for a record, by topic and log offset, whose topic was deleted since. See `TopicTable`."""


def _trace(stored: StoredMessage) -> Trace:
    """Return the identity of a message, equal while it waits and when it was delivered."""
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
    """Count the deliveries among messages of the log, each as often as it was delivered. Only the schedule
    puts such messages: others with a delay are made to wait."""
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
    """State of one level: its next message, when that is due if known, and failures with it."""

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
    """Delivers delayed messages. Call `tick` when one is due, and every 100 ms or so, `persist` every 10 s,
    `close` at the end. `max_per_tick` bounds the work of one tick; the version is raised every `version_step`
    deliveries. `file_size` is that of the log's files. `on_delivered` gets topic and bytes of each message
    put into this log; `leaves_out` returns True for messages to discard."""

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
        """Resume at the offsets of the file, after deliveries found in the log since, once the store has
        started. Raises `ConfigError` if the file is unreadable."""
        table = self._file.load()
        if table is None:
            self._pass_delivered(0)
            return
        known = {int(level): offset for level, offset in (table.get("offsetTable") or {}).items()}
        for queue in self._queues:
            queue.offset = known.pop(queue.number, 0)
        # Levels that the settings no longer have, but may have again.
        self._other = known
        self._members = json_members.others(table, ("dataVersion", LOG_OFFSET, "offsetTable"))
        self.data_version = DataVersion.from_json(table.get("dataVersion"))
        # RocketMQ's file lacks it; that broker repeats deliveries it did not save.
        end = self._store.max_physical_offset
        self._pass_delivered(json_members.read(table, LOG_OFFSET, end, json_members.LONG_BITS))

    def _pass_delivered(self, log_offset: int) -> None:
        """Skip deliveries since `log_offset`, and write the file soon, as restarts may come faster."""
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
        """Adopt a master's offsets, as returned by `to_json`, for our log before an offset. Raises
        `ConfigError`. RocketMQ: `SlaveSynchronize.syncDelayOffset`."""
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
        """Limit the levels to their messages after the log was truncated."""
        for queue in self._queues:
            held = self._store.max_offset(SCHEDULE_TOPIC, queue.queue_id)
            if queue.offset > held:
                queue.offset = held
                queue.due = None
                self._is_dirty = True

    def stand_by(self) -> None:
        """Stop counting the log's deliveries here: another broker delivers from now on."""
        self._counted_to = self._log_offset()

    def resume(self) -> Steps[None]:
        """Resume as master after the deliveries of another broker that the log contains."""
        since = max(self._log_offset(), self._store.min_physical_offset)
        for queue in self._queues:
            queue.due, queue.paused_until = None, 0
        later = messages_since(self._store, since, self._file_size, PROPERTY_REAL_TOPIC.encode())
        yield from self.take_over(later)

    def take_over(self, later: Iterable[StoredMessage | None]) -> Steps[None]:
        """Take over from a master, after its deliveries since it last reported its offsets. `later` are
        messages of the log since then, which include those, and None in between."""
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
        # All at once: an interrupted call must find the same state again.
        self._counted_to = counted_to
        for queue, count in zip(self._queues, passed, strict=True):
            for _ in range(count):
                queue.advance()
        # A master that comes back takes these offsets only if their version is newer than its own, and a few
        # deliveries do not change it (`delayOffsetUpdateVersionStep`).
        self._is_dirty = True
        self.data_version.next(self._clock.millis())

    def take_back(self, reported: Mapping[str, Any]) -> None:
        """Resume after the deliveries of a slave in our place, from its `to_json`. Raises `ConfigError`.
        RocketMQ: `BrokerPreOnlineService.syncMetadataReverse`, which takes all from a newer version."""
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
        """Deliver messages due at `now`, in steady time (ms); return their number."""
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
        # A busy level must not starve the others.
        self._first = (self._first + 1) % count
        delivered = self._max_per_tick - budget
        self._is_behind = budget <= 0
        if delivered:
            self._store.dispatch()
        return delivered

    def wait_millis(self, now: int) -> int | None:
        """Return the ms until a message is due, as of the last tick: 0 if it left due ones, None if none is
        known to wait. Messages that cannot be delivered now are not counted."""
        if self._is_behind:
            return 0
        due = [queue.due for queue in self._queues if queue.due is not None and queue.due > self._ticked_at]
        return max(0, min(due) - now) if due else None

    def persist(self) -> None:
        """Write changed offsets once the log that they rely on is durable."""
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
        """True if there is, or was, a delayed message."""
        return any(self._store.max_offset(SCHEDULE_TOPIC, queue.queue_id) for queue in self._queues)

    def _has_grown(self) -> bool:
        return self._log_offset() - self._written_to >= LOG_GROWTH_MAX and self._is_used

    def close(self) -> None:
        """Write the offsets synchronously; called at the end, when the store has stopped."""
        is_behind = self._written_to != self._log_offset() and self._is_used
        if self._is_dirty or self._waiting is not None or self._file.has_failed or is_behind:
            self._is_dirty = False
            self._waiting = None
            self._file.save(self._text, inline=True)

    def _log_offset(self) -> int:
        """Return the log offset up to which all deliveries are counted."""
        return self._store.max_physical_offset if self._counted_to is None else self._counted_to

    def _text(self) -> bytes:
        self._written_to = self._log_offset()
        return dumps(self._members | {LOG_OFFSET: self._written_to} | self.to_json(), indent=True)

    def to_json(self) -> dict[str, Any]:
        """Return the next message of each level, and the version, as sent to slaves."""
        return {"dataVersion": self.data_version.to_json(), "offsetTable": self.offsets}

    def _deliver_level(self, queue: _Level, now: int, budget: int) -> int:
        """Deliver from the head of a level; return the number of messages taken."""
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
            # Files were deleted, or a crash removed the end of the queue.
            corrected = start if queue.offset < start else end
            log.warning("delay level %d resumes at %d instead of %d", queue.number, corrected, queue.offset)
            queue.offset = corrected
            queue.due = None
            self._is_dirty = True
        return store.consume_queue_units(SCHEDULE_TOPIC, queue_id, queue.offset + skipped, count)

    def _take(self, queue: _Level, physical_offset: int, due: int, now: int) -> bool:
        """Deliver the head, or skip it if it never can be; return False if it has to wait."""
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
        """Return the due time of the head, in steady time: its unit's, unless no message can be due so late.
        That is so if the level was shortened since, or the unit is damaged: then the message itself decides.
        One stored in the future is due at once: the clock was set back meanwhile. RocketMQ:
        `ScheduleMessageService.correctDeliverTimestamp`."""
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
        """Skip an unreadable head if it is gone or after some attempts; return False to wait."""
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
