"""Helpers for tests of views: a view that limits readers, and the comparison of a view with its rebuild."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.message import StoredMessage
from mqgateway.engine.store.dispatch_request import DispatchRequest, enters_queue
from mqgateway.engine.store.message_store import Arrival, MessageStore
from mqgateway.engine.store.unit_queue import UnitQueue
from mqgateway.engine.store.views.view import NOTHING, View
from mqgateway.engine.store.whole_batches import messages_in
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.topic_compaction import TopicCompaction
from mqgateway.engine.worker import InlineWorker
from tests.support.engine.compaction import COMPACT
from tests.support.engine.store.stores import GIB, HOST, ROOT, options, records

COMPACTED_TOPIC = TopicConfig("batched", attributes=COMPACT)
HOLD, RELEASE = "HOLD", "RELEASE"
DERIVED = (
    "consumequeue",
    "batchconsumequeue",
    "index",
    "compaction",
    "producers",
    "kafkatransactions",
    "queuestarts",
    "kafkacompaction",
)


class Holds(View):
    """Keeps readers of a queue before a message with the property HOLD, until another one has RELEASE with
    the same value, as open transactions do. It keeps nothing on disk."""

    def __init__(self) -> None:
        self.marks: list[tuple[int, tuple[str, int], int, dict[str, str]]] = []

    @property
    def reads_properties(self) -> bool:
        return True

    @property
    def limits_reading(self) -> bool:
        return True

    def append(self, run: Sequence[DispatchRequest], arrivals: list[Arrival] | None) -> None:
        for request in run:
            properties = request.properties
            assert isinstance(properties, dict)
            if request.queue is not None:
                place = request.topic, request.queue.queue_id
                self._note(request.physical_offset, place, request.queue_offset, properties)

    def repeat(self, message: StoredMessage) -> bool:
        if enters_queue(message.sys_flag):
            place = message.topic, message.queue_id
            self._note(message.physical_offset, place, message.queue_offset, dict(message.properties))
        return True

    def _note(self, position: int, place: tuple[str, int], offset: int, properties: dict[str, str]) -> None:
        if HOLD in properties or RELEASE in properties:
            self.marks.append((position, place, offset, properties))

    def begin_again(self) -> None:
        self.marks.clear()

    def truncate(self, offset: int) -> int:
        self.marks = [mark for mark in self.marks if mark[0] < offset]
        return NOTHING

    def held(self, oldest: int) -> dict[tuple[str, int], dict[str, int]]:
        """Return the queue offset of each hold that is not released, by queue and value."""
        found: dict[tuple[str, int], dict[str, int]] = {}
        for position, place, offset, properties in self.marks:
            if position >= oldest:
                holds = found.setdefault(place, {})
                holds.pop(properties.get(RELEASE, ""), None)
                if HOLD in properties:
                    holds.setdefault(properties[HOLD], offset)
        return {place: holds for place, holds in found.items() if holds}

    def read_limit(self, queue: UnitQueue) -> int | None:
        holds = self.held(0).get((queue.topic, queue.queue_id))
        return min(holds.values()) if holds else None

    def state(self, oldest: int) -> object:
        return self.held(oldest)


Joins = Callable[[MessageStore, CrashDisk, ManualClock], None]
"""Gives a store a view that is not among its standard ones, before it starts."""


def newest_values(store: MessageStore, oldest: int) -> dict[tuple[int, str], tuple[int, bytes]]:
    """Return the offset and the value of the newest message of each queue and key of the compacted topic, of
    those whose records are at `oldest` of the log or later."""
    found: dict[tuple[int, str], tuple[int, bytes, int]] = {}
    topic = COMPACTED_TOPIC.topic_name
    for queue_id in (0, 1):
        offset, result = -1, store.get(topic, queue_id, store.min_offset(topic, queue_id), 32)
        while result.next_offset > offset:
            for one in [each for record in records(result) for each in messages_in(record)]:
                key = one.properties.get("KEYS", "")
                found[queue_id, key] = one.queue_offset, one.body, one.physical_offset
            offset = result.next_offset
            result = store.get(topic, queue_id, offset, 32)
    return {key: value[:2] for key, value in found.items() if value[2] >= oldest and key[1]}


class Viewed:
    """A store with a view that limits readers, and how it is opened again."""

    def __init__(
        self, disk: CrashDisk, clock: ManualClock, joins: Joins | None = None, **changes: Any
    ) -> None:
        self.disk = disk
        self.clock = clock
        self.joins = joins
        self.changes = changes
        self.holds = Holds()
        self.store = MessageStore(
            options(**changes),
            disk=disk,
            clock=clock,
            worker=InlineWorker(),
            store_host=HOST,
            is_batch_topic=lambda topic: topic == "batched",
            memory=GIB,
            views=[self.holds],
        )
        if joins is not None:
            joins(self.store, disk, clock)
        self.compaction = TopicCompaction(
            self.store._options, self.store, disk, clock, InlineWorker(), lambda: [COMPACTED_TOPIC]
        )
        self.report = self.store.start()

    def again(self, disk: CrashDisk | None = None) -> Viewed:
        """Open the store again, on the same disk or another."""
        return Viewed(disk or self.disk, self.clock, self.joins, **self.changes)

    def rebuilt(self) -> Viewed:
        """Kill the store and open it again without anything but its log."""
        disk = self.disk.kill()
        for name in DERIVED:
            disk.rmtree(f"{ROOT}/{name}")
        for name in ("checkpoint", "queuetable"):
            if disk.exists(f"{ROOT}/{name}"):
                disk.unlink(f"{ROOT}/{name}")
        return self.again(disk)

    def check(self) -> None:
        """Compare every view with that of the rebuilt store; this one is dead afterwards."""
        self.store.when_flushed(self.store.max_physical_offset, lambda _: None)
        self.store.dispatch()
        self.store.dispatch_all()
        oldest = self.store.min_physical_offset
        kept = [(type(view).__name__, view.state(oldest)) for view in self.store._views]
        other = self.rebuilt()
        assert other.store.max_physical_offset == self.store.max_physical_offset
        assert kept == [(type(view).__name__, view.state(oldest)) for view in other.store._views]
        assert newest_values(self.store, oldest) == newest_values(other.store, oldest)
        compacted = self.store.compacted_parts.parts
        for queue in other.store._queues:
            if queue.max_offset > queue.min_offset and (queue.topic, queue.queue_id) not in compacted:
                assert queue.min_offset == self.store.min_offset(queue.topic, queue.queue_id)
