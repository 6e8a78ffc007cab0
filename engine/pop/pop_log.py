"""POP in the log: checkpoints and acknowledgements are appended, unacknowledged messages are revived.

    pop            the checkpoint, then the group's offset and the response
    ack            the acknowledgement, then the response
    change         a new checkpoint, then an acknowledgement for the old one, then the response
    revival        the copies in the retry topic, then the progress in the revive queue

Everything is appended to the log at once; nothing is merged in memory. Offsets of groups that are not on disk
yet are recovered from the log (`pop_offsets`). So answered requests survive a kill: messages that were popped
and not acknowledged are delivered again, acknowledged ones are not.

RocketMQ: `PopMessageProcessor`, `AckMessageProcessor`, `PopReviveService`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from mqgateway.engine.clock import Clock
from mqgateway.engine.counting import UNCOUNTED, Counting
from mqgateway.engine.message import (
    PROPERTY_TAGS,
    PROPERTY_TIMER_DELIVER_MS,
    Message,
    StoredMessage,
)
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.pop.foreign import ForeignMessages, MessageLocation, Missing
from mqgateway.engine.pop.inflight import InFlight
from mqgateway.engine.pop.names import REVIVE_GROUP, normal_topic, revive_topic
from mqgateway.engine.pop.open_points import OpenPoints, ReceiptState, state_in_log
from mqgateway.engine.pop.pop_offsets import PopOffsets
from mqgateway.engine.pop.records import (
    ACK_TAG,
    BATCH_ACK_TAG,
    CHECK_POINT_TAG,
    Ack,
    CheckPoint,
    PointKey,
    ack_message,
    check_point_message,
)
from mqgateway.engine.pop.retries import Retries
from mqgateway.engine.pop.revive import OpenPoint, ReviveQueue
from mqgateway.engine.steps import Steps, run
from mqgateway.engine.store.cold import ColdRead
from mqgateway.engine.store.expansion import LargeBatchRead
from mqgateway.engine.store.message_store import MessageStore, PutResult, PutStatus
from mqgateway.engine.store.older_messages import NothingYet
from mqgateway.engine.tables.offsets import ConsumerOffsets
from mqgateway.engine.tables.topics import TopicTable
from mqgateway.engine.timers.timers import Timers

log = logging.getLogger(__name__)

_UNITS = 512
CK, ACK = "CK", "ACK"
"""Kinds of records of the revive topic, as labels of metrics."""


class PopLog:
    """POP of a broker. Call `load` once store, offsets and timers are loaded, and `tick` periodically.

    `foreign` reads messages of other broker groups. `has_group` returns True if a group exists; `make_group`
    creates it if allowed, and returns True if it exists now. `counts` counts checkpoints read and copies
    made.
    """

    def __init__(
        self,
        store: MessageStore,
        timers: Timers,
        topics: TopicTable,
        offsets: ConsumerOffsets,
        options: BrokerOptions,
        clock: Clock,
        store_host: bytes,
        foreign: ForeignMessages,
        *,
        has_group: Callable[[str], bool] = lambda _: True,
        make_group: Callable[[str], bool] = lambda _: True,
        counts: Counting = UNCOUNTED,
    ) -> None:
        self._store = store
        self._timers = timers
        self._topics = topics
        self._offsets = offsets
        self._options = options
        self._clock = clock
        self._store_host = store_host
        self._has_group = has_group
        self._make_group = make_group
        self._counts = counts
        self._retries = Retries(store, topics, offsets, options, store_host, counts)
        self._queues: list[ReviveQueue] = []
        self._recovered: list[int] = []
        self._committed: list[int] = []
        self._next_revival = 0.0
        self._turn = 0
        self.topic = revive_topic(options.broker_cluster_name)
        self.pop_offsets = PopOffsets(store, topics, offsets, options.broker_name, self.topic)
        self.in_flight = InFlight(store.steady.now(), options.max_offsets)
        self.points = OpenPoints(store.steady.now())
        self._foreign = foreign
        self.is_behind = False
        """True if `tick` left due work: it should be called again soon."""

    # Requests.

    def next_revive_queue(self) -> int:
        """Return the revive queue of the next pop, round-robin."""
        self._turn = (self._turn + 1) % self._options.revive_queue_num
        return self._turn

    def has_revive_queue(self, queue_id: int) -> bool:
        """Return True if this queue may contain checkpoints."""
        config = self._topics.get(self.topic)
        known = 0 if config is None else config.write_queue_nums
        return 0 <= queue_id < max(known, self._options.revive_queue_num)

    def pop(self, point: CheckPoint, queue_id: int, next_offset: int) -> PutResult:
        """Store the checkpoint of a pop, and advance the group's offset if that succeeded."""
        self.pop_offsets.prepare()
        result = self._put(self.message_of(point, queue_id, next_offset=next_offset))
        self._count_in(point.key, CK, result)
        if result.status is PutStatus.PUT_OK:
            self.popped(point, next_offset)
            self.pop_offsets.mark(result.queue_offset + 1)
        return result

    def popped(self, point: CheckPoint, next_offset: int) -> None:
        """Advance the group's offset after a checkpoint was stored, here or elsewhere."""
        key = point.key
        self._offsets.commit(key.group, key.topic, key.queue_id, next_offset)
        self.in_flight.add((key.topic, key.group, key.queue_id), len(point.distances))
        self.points.popped(point, self._store.steady.now())

    def acknowledge(self, ack: Ack, queue_id: int, revive_time: int) -> PutResult:
        """Store an acknowledgement of messages whose visibility returns at a time (ms)."""
        result = self._put(self.message_of(ack, queue_id, revive_time))
        self._count_in(ack.key, ACK, result)
        if result.status is PutStatus.PUT_OK:
            self.acknowledged(ack)
        return result

    def acknowledged(self, ack: Ack) -> None:
        """Note an acknowledgement that was stored, here or elsewhere."""
        key = ack.key
        self.in_flight.remove((key.topic, key.group, key.queue_id), len(ack.offsets), key.pop_time)
        self.points.acknowledged(key, ack.offsets)

    def change(self, point: CheckPoint, ack: Ack, queue_id: int, revive_time: int) -> PutResult:
        """Store the new checkpoint of a message, and end the old one."""
        result = self._put(self.message_of(point, queue_id))
        self._count_in(point.key, CK, result)
        if result.status is PutStatus.PUT_OK:
            result = self._put(self.message_of(ack, queue_id, revive_time, is_replaced=True))
            self._count_in(ack.key, ACK, result)
        if result.status is PutStatus.PUT_OK:
            self.changed(point, ack, revive_time)
        return result

    def changed(self, point: CheckPoint, ack: Ack, revive_time: int) -> None:
        """Note that the new checkpoint of a message and the end of its old one were stored anywhere."""
        self.points.replaced(ack.key, ack.offsets[0], revive_time)
        self.points.popped(point, self._store.steady.now())

    def state(self, key: PointKey, offset: int, revive_time: int) -> ReceiptState:
        """Return the state of the receipt of a message whose visibility returns at a time (ms)."""
        known = self.points.state(key, offset, revive_time, self._store.steady.now())
        if known is not None:
            return known
        return state_in_log(self._store, key, offset, self._topics.is_past)

    def message_of(
        self,
        what: CheckPoint | Ack,
        queue_id: int,
        revive_time: int = 0,
        *,
        next_offset: int | None = None,
        is_replaced: bool = False,
    ) -> Message:
        """Return the message that stores a checkpoint, or an acknowledgement of messages visible again at a
        time (ms).

        `put_aside` must follow.
        """
        now, host = self._store.steady.now(), self._store_host
        if isinstance(what, Ack):
            return ack_message(what, revive_time, self.topic, queue_id, host, now, is_replaced=is_replaced)
        return check_point_message(what, self.topic, queue_id, host, now, next_offset)

    def put_aside(self, message: Message) -> PutStatus | None:
        """Move the message to the timer topic; return None if it may be stored, else the refusal."""
        return self._timers.acceptance.rewrite_steady(message)

    def _put(self, message: Message) -> PutResult:
        refusal = self.put_aside(message)
        return PutResult(refusal) if refusal is not None else self._store.put(message)

    def _count_in(self, key: PointKey, kind: str, result: PutResult) -> None:
        if self._counts.meters is not None:
            self._counts.meters.revive_in.add((key.group, key.topic, kind, result.status.name))

    def _count_out(self, queue_id: int, what: CheckPoint | Ack | None) -> None:
        if self._counts.meters is not None and what is not None:
            kind = CK if isinstance(what, CheckPoint) else ACK
            labels = (what.key.group, what.key.topic, str(queue_id), kind)
            self._counts.meters.revive_out.add(labels)

    # Starting and stopping.

    def load(self) -> None:
        """Resume at the stored offsets; later checkpoints are read again."""
        run(self.loading())

    def loading(self) -> Steps[None]:
        """Resume as `load`, as a cooperative task."""
        self.in_flight = InFlight(self._store.steady.now(), self._options.max_offsets)
        self._retries.forget_copies()
        newest = yield from self.pop_offsets.recover()
        # Steady time may have gone back with the start, and earlier receipts must not count as known.
        self.points = OpenPoints(max(self._store.steady.now(), newest + 1))
        self._queues = []
        self._recovered = []
        oldest: list[int] = []
        for queue_id in range(self._options.revive_queue_num):
            low, high = (
                each(self.topic, queue_id) for each in (self._store.min_offset, self._store.max_offset)
            )
            progress = self._offsets.query(REVIVE_GROUP, self.topic, queue_id)
            # RocketMQ commits the last offset that is done.
            progress = min(max(progress, low - 1), high - 1)
            self._queues.append(ReviveQueue(progress, self._timers.precision))
            self._recovered.append(high)
            if progress + 1 < high:
                oldest.append(self._store.store_time(self.topic, queue_id, progress + 1))
        self._committed = [queue.progress for queue in self._queues]
        if oldest:
            self._retries.expect_copies(min(oldest))

    # Periodic work.

    def tick(self, now: int) -> None:
        """Revive due messages, every `reviveInterval`."""
        elapsed = self._clock.monotonic()
        if not self._timers.is_enabled or (elapsed < self._next_revival and not self.is_behind):
            return
        self._next_revival = elapsed + self._options.revive_interval / 1000
        until = self._timers.delivered_until
        budget = self._options.max_revived_per_tick
        self.is_behind = False
        for queue_id, queue in enumerate(self._queues):
            budget -= self._read(queue_id, queue, budget)
            budget -= self._revive(queue_id, queue, min(until, now), budget, now)
            if queue.progress != self._committed[queue_id]:
                self._committed[queue_id] = queue.progress
                self.pop_offsets.commit_progress(queue_id, queue.progress)
        self.pop_offsets.move_mark()
        # If no progress is possible, an immediate retry does not help.
        self.is_behind = self.is_behind and budget < self._options.max_revived_per_tick
        if all(q.progress + 1 >= end for q, end in zip(self._queues, self._recovered, strict=True)):
            self._retries.forget_copies()
        self._store.dispatch()

    @property
    def open_points(self) -> list[int]:
        """Number of pending checkpoints of each revive queue."""
        return [len(queue) for queue in self._queues]

    @property
    def is_waiting(self) -> bool:
        """True if checkpoints are pending."""
        return any(map(len, self._queues))

    def _read(self, queue_id: int, queue: ReviveQueue, budget: int) -> int:
        """Read messages of a revive queue; return their number."""
        store = self._store
        low = store.min_offset(self.topic, queue_id)
        if queue.cursor < low:
            log.error("checkpoints %d to %d of revive queue %d are deleted", queue.cursor, low - 1, queue_id)
            queue.cursor = low
        read = 0
        while read < budget:
            units = store.consume_queue_units(self.topic, queue_id, queue.cursor, min(_UNITS, budget - read))
            if not units:
                break
            for physical_offset, _, _ in units:
                stored = store.look_up(physical_offset)
                what, due = (None, 0) if stored is None else self._understood(stored)
                queue.take(what, due)
                self._count_out(queue_id, what)
            self._counts.got(REVIVE_GROUP, self.topic, len(units), sum(size for _, size, _ in units))
            read += len(units)
        return read

    def _understood(self, stored: StoredMessage) -> tuple[CheckPoint | Ack | None, int]:
        """Decode a message of the revive topic; return it with its due time (ms)."""
        tag = stored.properties.get(PROPERTY_TAGS)
        due = stored.properties.get(PROPERTY_TIMER_DELIVER_MS, "")
        what: CheckPoint | Ack | None = None
        if tag == CHECK_POINT_TAG:
            what = CheckPoint.decode(stored.body)
        elif tag in (ACK_TAG, BATCH_ACK_TAG):
            what = Ack.decode(stored.body, self._options.broker_name)
        if what is None:
            log.warning("message %d of %s is not a checkpoint", stored.queue_offset, self.topic)
        return what, int(due) if due.isdecimal() else 0

    def _revive(self, queue_id: int, queue: ReviveQueue, until: int, budget: int, now: int) -> int:
        """Revive due messages; return their number."""
        revived = 0
        end = self._store.max_offset(self.topic, queue_id)
        while (open_point := queue.ripe(until, queue.cursor >= end)) is not None:
            if revived >= budget:
                self.is_behind = True
                break
            count = self._revive_point(open_point, queue_id, now)
            if count is None:
                break
            revived += count
            queue.done(open_point)
            self.points.done(open_point.point.key)
        if queue.cursor < end:
            self.is_behind = True
        return revived

    def _revive_point(self, open_point: OpenPoint, queue_id: int, now: int) -> int | None:
        """Copy unacknowledged messages; return their number, or None if the disk refuses writes."""
        point, key = open_point.point, open_point.point.key
        missing = open_point.missing
        # A group of another broker's checkpoints may never have been here.
        is_own = key.broker_name == self._options.broker_name
        has_group = self._has_group if is_own else self._make_group
        if self._topics.get(normal_topic(key.topic, key.group)) is None or not has_group(key.group):
            log.info(
                "%d messages of %s for %s are skipped: one is deleted", len(missing), key.topic, key.group
            )
            return 1
        if is_own and point.log_offset and self._topics.leaves_out(key.topic, point.log_offset):
            return 1
        for offset in missing:
            if not self._revive_message(point, offset, queue_id, now):
                return None
            open_point.acknowledged.add(offset)
            self.in_flight.remove((key.topic, key.group, key.queue_id), 1, key.pop_time)
        return 1 + len(missing)

    def _revive_message(self, point: CheckPoint, offset: int, queue_id: int, now: int) -> bool:
        key, store = point.key, self._store
        if key.broker_name != self._options.broker_name:
            return self._revive_foreign(point, offset, queue_id, now)
        try:
            stored = store.message(key.topic, key.queue_id, offset, may_wait=False)
        except LargeBatchRead as large:
            store.bring(large, _brought)
            return False
        except ColdRead as cold:
            if offset < store.local_min_offset(key.topic, key.queue_id):
                store.bring(cold, _brought)
                return False
            stored = store.message(key.topic, key.queue_id, offset)
        except NothingYet:
            return self._put_back(point, offset, queue_id, now)
        if stored is not None:
            result = self._retries.copy(point, stored)
            if result is None or result.status is PutStatus.PUT_OK:
                return True
            log.warning("a message of %s is delayed: %s", key.topic, result.remark or result.status.name)
            return False
        first, end = store.min_offset(key.topic, key.queue_id), store.max_offset(key.topic, key.queue_id)
        if not first <= offset < end:
            log.warning("message %d of %s queue %d is deleted", offset, key.topic, key.queue_id)
            return True
        log.error("message %d of %s queue %d cannot be read", offset, key.topic, key.queue_id)
        return self._put_back(point, offset, queue_id, now)

    def _revive_foreign(self, point: CheckPoint, offset: int, queue_id: int, now: int) -> bool:
        """Revive a message of another group, whose slave acts for its master: its copy is put here."""
        key = point.key
        found = self._foreign.find(MessageLocation(key.broker_name, key.topic, key.queue_id, offset))
        if isinstance(found, StoredMessage):
            result = self._retries.copy(point, found, is_foreign=True)
            return result is None or result.status is PutStatus.PUT_OK
        if found is Missing.FAILED:
            return self._put_back(point, offset, queue_id, now)
        return found is Missing.GONE

    def _put_back(self, point: CheckPoint, offset: int, queue_id: int, now: int) -> bool:
        if point.is_tried_out and self._options.skip_when_ck_re_put_reach_max_times:
            return True
        again = self.message_of(point.put_back(offset, now), queue_id)
        return self._put(again).status is PutStatus.PUT_OK


def _brought() -> None:
    """Do nothing: the next tick retries."""
