"""Batches of idempotent producers, put into stores as Kafka's front end does."""

from __future__ import annotations

from mqgateway.engine.producers.batch import ProducerBatch
from mqgateway.engine.producers.markers import Marker, control_batch
from mqgateway.engine.record_batches.batches import TRANSACTIONAL
from mqgateway.engine.store.message_store import MessageStore, PutResult
from tests.support.engine.store.kafka_batches import kafka_batch
from tests.support.engine.store.stores import message


def whole_batch(produced: ProducerBatch) -> bytes:
    """Return a producer's batch as it is sent."""
    return kafka_batch(
        *[b"v"] * produced.count,
        producer_id=produced.producer_id,
        producer_epoch=produced.epoch,
        base_sequence=produced.first_sequence,
        flags=TRANSACTIONAL if produced.is_transactional else 0,
    )


def put_whole(store: MessageStore, produced: ProducerBatch, topic: str = "batched") -> PutResult:
    """Put a batch as one record; it is not dispatched yet."""
    return store.batches.put(message(topic, 0, b"", {}), whole_batch(produced), produced.count, 0)


def put_mapped(store: MessageStore, produced: ProducerBatch) -> PutResult:
    """Put a batch as messages, the last of which names it; they are not dispatched yet."""
    messages = [
        message(properties={"UNIQ_KEY": "7F00000100002A139F5545CA0EDB0000"}) for _ in range(produced.count)
    ]
    messages[-1].properties["__KPID"] = produced.text
    return store.batches.put_messages(messages)


def put_marker(
    store: MessageStore,
    producer_id: int,
    is_commit: bool,
    topic: str = "batched",
    *,
    epoch: int = 0,
    coordinator_epoch: int = 0,
) -> PutResult:
    """Put the marker of a transaction; it is not dispatched yet."""
    data = control_batch(Marker(producer_id, epoch, is_commit, coordinator_epoch), 1_700_000_000_000)
    return store.batches.put(message(topic, 0, b"", {}), data, 1, 0)
