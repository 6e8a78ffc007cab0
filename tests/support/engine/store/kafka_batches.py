"""Record batches of Kafka as producers send them, and stores that hold them."""

from __future__ import annotations

from typing import Any

from mqgateway.engine.record_batches.batches import Batch, batches, build_batch
from mqgateway.engine.record_batches.records import Record
from mqgateway.engine.store.message_store import MessageStore, PutResult
from mqgateway.engine.store.whole_batches import BatchesResult
from tests.support.engine.store.stores import Bench, message

TOPIC = "batched"
BASE = 1_700_000_000_000
EPOCH = 3


def kafka_batch(*values: bytes | None, key: bytes | None = b"k", **more: Any) -> bytes:
    """Build a batch of records, the n-th n ms after the first; `more` is as for `build_batch`."""
    records = [Record(key, value, (), index, index) for index, value in enumerate(values)]
    return bytes(build_batch(records, **{"base_timestamp": BASE, **more}))


def put_kafka(store: MessageStore, data: bytes, topic: str = TOPIC, queue_id: int = 0) -> PutResult:
    """Put a batch and dispatch it."""
    batch = Batch(memoryview(data))
    put = message(topic, queue_id, b"", {})
    put.born_timestamp = batch.max_timestamp
    result = store.batches.put(put, memoryview(data), batch.count, EPOCH)
    store.dispatch()
    return result


def fill_kafka(bench: Bench, *counts: int) -> list[bytes]:
    """Put batches of so many records and return them as they were sent."""
    sent = []
    for number, count in enumerate(counts):
        sent.append(kafka_batch(*[b"%d-%d" % (number, index) for index in range(count)]))
        assert put_kafka(bench.store, sent[-1]).status.name == "PUT_OK"
    return sent


def with_place(data: bytes, base_offset: int, epoch: int = EPOCH) -> bytes:
    """Return a batch as it is stored."""
    return base_offset.to_bytes(8, "big") + data[8:12] + epoch.to_bytes(4, "big") + data[16:]


def fetched(result: BatchesResult) -> list[Batch]:
    """Return the batches of a result."""
    return [batch for span in result.spans for batch in batches(span)]


def read_all(store: MessageStore, topic: str = TOPIC, queue_id: int = 0, **more: Any) -> list[Batch]:
    """Return all batches of a queue, read as a consumer does."""
    found: list[Batch] = []
    offset = store.min_offset(topic, queue_id)
    while True:
        result = store.batches.get(topic, queue_id, offset, 1 << 20, **more)
        if not result.spans:
            return found
        found += fetched(result)
        offset = found[-1].last_offset + 1


def values(found: list[Batch]) -> list[bytes | None]:
    """Return the values of all records."""
    return [
        None if record.value is None else bytes(record.value) for batch in found for record in batch.records()
    ]
