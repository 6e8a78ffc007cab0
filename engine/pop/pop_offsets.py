"""Offsets of groups that pop, on disk and at a start.

A pop advances the offset of its group. The table of offsets is written seconds later, and never before the
log is durable up to what the offsets rely on. Among the offsets is a mark in the timer topic: they include
all checkpoints before it, in the order of that topic. A start reads the checkpoints behind the mark and
advances the offsets as their pops did, so that a kill does not deliver messages to a group twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from mqgateway.engine.message import PROPERTY_REAL_TOPIC, TIMER_TOPIC, StoredMessage, tags_code
from mqgateway.engine.pop.names import REVIVE_GROUP
from mqgateway.engine.pop.records import CHECK_POINT_TAG, NEXT_OFFSET, CheckPoint
from mqgateway.engine.steps import Steps
from mqgateway.engine.store.message_store import MessageStore, PutStatus
from mqgateway.engine.tables.offsets import UNKNOWN, ConsumerOffsets
from mqgateway.engine.tables.topics import TopicTable

log = logging.getLogger(__name__)

CHECK_POINT_CODE = tags_code(CHECK_POINT_TAG)
MARK_DISTANCE_MAX = 10_000
"""Timers other than checkpoints that a start reads at most, after a while without pops."""
UNITS_AT_ONCE = 512


class PopOffsets:
    """The offsets of one broker's groups in its table, as far as pops advance them.

    `broker_name` is the name of the broker, `revive_topic` the topic that its checkpoints arrive in.
    """

    def __init__(
        self,
        store: MessageStore,
        topics: TopicTable,
        offsets: ConsumerOffsets,
        broker_name: str,
        revive_topic: str,
    ) -> None:
        self._store = store
        self._topics = topics
        self._offsets = offsets
        self._broker_name = broker_name
        self._revive_topic = revive_topic
        self._is_relied_on = False
        self._is_marked = False

    def prepare(self) -> None:
        """Write the first mark before the first pop in the life of a store.

        Otherwise a kill soon after the first pops would find no mark.
        """
        if not self._is_marked:
            self._is_marked = True
            self._offsets.commit(REVIVE_GROUP, TIMER_TOPIC, 0, self._store.max_offset(TIMER_TOPIC, 0))
            self._offsets.persist(inline=True)

    def mark(self, offset: int) -> None:
        """Note that the offsets include what was popped before an offset of the timer topic."""
        self._offsets.commit(REVIVE_GROUP, TIMER_TOPIC, 0, offset)
        self._is_relied_on = True

    def move_mark(self) -> None:
        """Move the mark to the end after a while without pops, which spares a start many other timers."""
        end = self._store.max_offset(TIMER_TOPIC, 0)
        if self._is_marked and end - self._offsets.query(REVIVE_GROUP, TIMER_TOPIC, 0) > MARK_DISTANCE_MAX:
            self.mark(end)

    def forget_pops(self) -> None:
        """Exclude the pops so far from recovery: the offset of a group was set by another request."""
        if self._is_marked:
            self.mark(self._store.max_offset(TIMER_TOPIC, 0))
            self.persist()

    def commit_progress(self, queue_id: int, progress: int) -> None:
        """Record the last offset of a revive queue that is done with."""
        self._offsets.commit(REVIVE_GROUP, self._revive_topic, queue_id, progress)
        self._is_relied_on = True

    def persist(self) -> None:
        """Write the table of offsets, once the log is durable up to here if the offsets rely on it."""
        if not self._is_relied_on:
            self._offsets.persist()
            return
        self._is_relied_on = False
        self._offsets.persist(self._when_durable)

    def _when_durable(self, write: Callable[[bool], None]) -> None:
        def flushed(status: PutStatus) -> None:
            is_durable = status is PutStatus.PUT_OK
            self._is_relied_on |= not is_durable
            write(is_durable)

        end = self._store.max_physical_offset
        if self._store.flushed_offset >= end:
            write(True)
        else:
            self._store.when_flushed(end, flushed)

    def recover(self) -> Steps[int]:
        """Advance the offsets by the pops behind the mark; return the time of the last pop (ms).

        The pop before the mark is read too, for its time.
        """
        mark = self._offsets.query(REVIVE_GROUP, TIMER_TOPIC, 0)
        self._is_marked = mark != UNKNOWN
        if not self._is_marked:
            return 0
        store = self._store
        offset = max(mark - 1, store.min_offset(TIMER_TOPIC, 0))
        end = store.max_offset(TIMER_TOPIC, 0)
        count = newest = 0
        while offset < end:
            units = store.consume_queue_units(TIMER_TOPIC, 0, offset, UNITS_AT_ONCE)
            if not units:
                break
            for number, (physical_offset, _, code) in enumerate(units, offset):
                yield
                stored = store.look_up(physical_offset) if code == CHECK_POINT_CODE else None
                if stored is None or stored.properties.get(PROPERTY_REAL_TOPIC) != self._revive_topic:
                    continue
                point = CheckPoint.decode(stored.body)
                if point is not None:
                    newest = max(newest, point.key.pop_time)
                    count += number >= mark and self._repeat(stored, point)
            offset += len(units)
        if count:
            log.info("offsets were advanced for %d pops that were not recorded", count)
        return newest

    def _repeat(self, stored: StoredMessage, point: CheckPoint) -> bool:
        text = stored.properties.get(NEXT_OFFSET, "")
        if not text.isdecimal():
            return False
        key, next_offset = point.key, int(text)
        if key.broker_name != self._broker_name:
            return False  # popped from another broker, whose offsets are not ours
        if self._topics.is_past(key.topic, stored.physical_offset):
            return False  # of a topic that was deleted: the one of that name begins with its first message
        if next_offset <= self._offsets.query(key.group, key.topic, key.queue_id):
            return False
        self._offsets.commit(key.group, key.topic, key.queue_id, next_offset)
        return True
