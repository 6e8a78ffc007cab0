"""Stores with compacted topics, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.message import PROPERTY_KEYS
from mqgateway.engine.record_batches.batches import TRANSACTIONAL, build_batch
from mqgateway.engine.record_batches.records import Record
from mqgateway.engine.store.message_store import MessageStore
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.topic_compaction import LOOK_MILLIS, TopicCompaction
from mqgateway.engine.worker import InlineWorker, Worker
from tests.support.engine.store.kafka_batches import TOPIC, put_kafka, read_all
from tests.support.engine.store.producing import put_marker
from tests.support.engine.store.stores import Bench, drain

Row = tuple[bytes | None, bytes | None]
"""Key and value."""
COMPACT = {
    "kafka.cleanup.policy": "compact",
    "kafka.segment.bytes": "1",
    "kafka.min.cleanable.dirty.ratio": "0",
    "kafka.delete.retention.ms": "1000",
}
"""Every batch is a segment, so all but the last one are compacted."""


def compaction_of(
    store: MessageStore, disk: CrashDisk, clock: ManualClock, attributes: dict[str, str], worker: Worker
) -> TopicCompaction:
    """Return the compaction of a store whose topic of batches has these attributes."""
    config = TopicConfig(TOPIC, attributes=attributes)
    return TopicCompaction(
        store._options, store, disk, clock, worker, lambda: [TopicConfig("orders"), config]
    )


class CompactedTopic:
    """A store whose topic of batches is compacted."""

    def __init__(self, bench: Bench | None = None, worker: Worker | None = None, **attributes: str) -> None:
        names = {f"kafka.{name.replace('_', '.')}": value for name, value in attributes.items()}
        self.bench = Bench() if bench is None else bench
        self.attributes = {**COMPACT, **names}
        self.worker = worker or InlineWorker()
        self.compaction = self._compaction()

    def _compaction(self) -> TopicCompaction:
        bench = self.bench
        return compaction_of(bench.store, bench.disk, bench.clock, self.attributes, self.worker)

    @property
    def store(self) -> MessageStore:
        return self.bench.store

    def add(self, *rows: Row, producer_id: int = -1, sequence: int = -1, queue_id: int = 0) -> None:
        """Put a batch, in a transaction if a producer is given."""
        now = self.bench.clock.millis()
        records = [Record(key, value, (), number, number) for number, (key, value) in enumerate(rows)]
        data = build_batch(
            records,
            base_timestamp=now,
            producer_id=producer_id,
            producer_epoch=0 if producer_id >= 0 else -1,
            base_sequence=sequence,
            flags=TRANSACTIONAL if producer_id >= 0 else 0,
        )
        assert put_kafka(self.store, bytes(data), queue_id=queue_id).status.name == "PUT_OK"

    def end(self, producer_id: int, is_commit: bool) -> None:
        """End a transaction."""
        put_marker(self.store, producer_id, is_commit)
        self.store.dispatch()

    def flush(self) -> None:
        """Put all that was stored on stable storage."""
        self.store.when_flushed(self.store.max_physical_offset, lambda _: None)
        self.store.dispatch()

    def wait(self, millis: int = LOOK_MILLIS) -> None:
        """Let time pass, with a flush, and with as many ticks as a look takes."""
        self.bench.clock.advance(millis)
        for _ in range(3):
            self.store.tick()
        for _ in range(20):
            self.compaction.tick()
        self.store.tick()

    def expire(self) -> None:
        """Let all files of the log be deleted whose age allows it."""
        self.store.admin.delete_expired_files()
        for _ in range(30):
            self.wait(10_000)

    def again(self, bench: Bench) -> None:
        """Continue with another store."""
        self.bench = bench
        self.compaction = self._compaction()

    def values(self, **more: Any) -> dict[bytes, bytes | None]:
        """Return the newest value of each key, as a consumer of Kafka reads them."""
        found: dict[bytes, bytes | None] = {}
        for batch in read_all(self.store, **more):
            if not batch.is_control:
                for record in batch.records():
                    assert record.key is not None
                    found[bytes(record.key)] = None if record.value is None else bytes(record.value)
        return found

    def offsets(self, **more: Any) -> Sequence[int]:
        """Return the offsets of the records that a consumer of Kafka reads."""
        return [
            batch.base_offset + record.offset_delta
            for batch in read_all(self.store, **more)
            if not batch.is_control
            for record in batch.records()
        ]

    def messages(self) -> list[tuple[int, str, bytes]]:
        """Return offset, key and body of the messages that a consumer of RocketMQ reads."""
        return [
            (one.queue_offset, one.properties.get(PROPERTY_KEYS, ""), one.body)
            for one in drain(self.store, TOPIC)
        ]
