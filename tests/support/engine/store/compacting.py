"""Helpers for tests of compacted queues: small files, and a consume queue to copy from."""

from __future__ import annotations

from typing import Any

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.compaction import Compaction
from mqgateway.engine.message import StoredMessage, format_properties, tags_code
from mqgateway.engine.options import StoreOptions
from mqgateway.engine.store.record import decode, encode, record_size, topic_field
from mqgateway.engine.store.results import GetResult
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import InlineWorker, Worker
from tests.support.engine.store.stores import message, options

QUEUE_SIZE = 460
"""Room for ten units; nine messages and the end."""
LOG_SIZE = 5 * QUEUE_SIZE
TOPIC = "states"


def record(offset: int, key: str | None, body: bytes = b"value", queue_id: int = 0) -> bytes:
    """Return the record of a message as in the commit log, at an arbitrary offset."""
    kept = {"TAGS": "a" if offset % 2 else "b"} if key is None else {"KEYS": key, "TAGS": "b"}
    made = message(TOPIC, queue_id, body)
    properties = format_properties(kept).encode()
    topic = topic_field(TOPIC, False)
    size = record_size(0, len(body), len(topic[1]), len(properties))
    return encode(made, body, properties, topic, size, 0, 0, offset, 1_000_000 + offset * 300, 5000 + offset)


def compaction_options(**changes: Any) -> StoreOptions:
    """Return settings with about five messages a file."""
    small = {"compaction_cq_mapped_file_size": QUEUE_SIZE, "compaction_mapped_file_size": 1024}
    return options(**{**small, "compaction_schedule_internal": 10_000, **changes})


class Queue:
    """The consume queue of one topic with one queue: records by queue offset, from `begin` on.

    Log offsets are counted in messages.
    """

    def __init__(self) -> None:
        self.messages: list[bytes] = []
        self.begin = 0
        self.flushed_offset = 0

    @property
    def max_physical_offset(self) -> int:
        return len(self.messages)

    def put(self, key: str | None, body: bytes = b"value") -> int:
        """Add a message and return its queue offset."""
        self.messages.append(record(len(self.messages), key, body))
        return len(self.messages) - 1

    def min_offset(self, topic: str, queue_id: int) -> int:
        return self.begin

    def max_offset(self, topic: str, queue_id: int) -> int:
        return len(self.messages) if (topic, queue_id) == (TOPIC, 0) else 0

    def readable_end(self, topic: str, queue_id: int) -> int:
        return self.max_offset(topic, queue_id)

    def records(self, topic: str, queue_id: int, offset: int, count: int) -> list[tuple[bytes, int]]:
        assert offset >= self.begin
        return [(each, tags_code("b")) for each in self.messages[offset : offset + count]]


class Bench:
    """Compacted queues on a disk in memory."""

    def __init__(
        self,
        disk: CrashDisk | None = None,
        queue: Queue | None = None,
        *,
        clean: bool = True,
        worker: Worker | None = None,
        clock: ManualClock | None = None,
        **changes: Any,
    ) -> None:
        self.clock = clock or ManualClock()
        self.disk = disk or CrashDisk(millis=self.clock.millis)
        self.queue = queue or Queue()
        self.changes = changes
        self.compaction = Compaction(
            compaction_options(**changes),
            disk=self.disk,
            clock=self.clock,
            worker=worker or InlineWorker(),
            root="/store",
            source=self.queue,
            topics=lambda: [(TOPIC, 1)],
            is_compacted=lambda topic: topic == TOPIC,
        )
        self.compaction.opened(clean)

    def again(self, disk: CrashDisk | None = None, *, clean: bool = False) -> Bench:
        """Return the queues as opened by a new process."""
        return Bench(disk or self.disk, self.queue, clean=clean, clock=self.clock, **self.changes)

    def get(self, offset: int = 0, count: int = 32, accept: Any = None) -> GetResult:
        """Read once."""
        return self.compaction.get(TOPIC, 0, offset, count, None, accept)

    def all(self) -> list[StoredMessage]:
        """Return all remaining messages, read as a consumer does."""
        found: list[StoredMessage] = []
        offset = 0
        while True:
            result = self.get(offset)
            at = 0
            while at < len(result.body):
                found.append(decode(result.body, at))
                at += found[-1].size
            if result.next_offset <= offset:
                return found
            offset = result.next_offset

    def kept(self) -> list[tuple[int, str, bytes]]:
        """Return queue offsets, keys and bodies of all remaining messages."""
        return [(each.queue_offset, each.properties["KEYS"], each.body) for each in self.all()]

    def compact(self) -> None:
        """Advance the time until full files are compacted."""
        self.compaction.tick()
        self.clock.advance(25_000)
        self.compaction.tick()
        self.queue.flushed_offset = len(self.queue.messages)
        self.compaction.tick()
