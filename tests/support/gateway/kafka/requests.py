"""Requests of Kafka clients, and batches for them."""

from __future__ import annotations

from typing import Any

from mqgateway.engine.producers.markers import Marker
from mqgateway.engine.record_batches.batches import TRANSACTIONAL, Batch, batches, build_batch
from mqgateway.engine.record_batches.records import Record
from mqgateway.gateway.broker.operations import Use
from mqgateway.gateway.kafka.codec.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from mqgateway.gateway.kafka.codec.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from mqgateway.gateway.kafka.codec.schema import NO_UUID
from mqgateway.gateway.kafka.transactions.status import TopicPartition, TxnState, TxnStatus
from tests.support.gateway.kafka.client import KafkaClient, KafkaScene

NAME_ONLY = 12
"""Version of Produce and Fetch that names topics."""


def batch_of_values(*values: bytes, now: int, **fields: Any) -> bytearray:
    """Return a batch of records with these values."""
    records = [Record(b"k", value, (), 0, number) for number, value in enumerate(values)]
    return build_batch(records, base_timestamp=now, **fields)


def produce_request(
    topic: str,
    data: bytes | bytearray | None,
    *,
    partition: int = 0,
    acks: int = -1,
    topic_id: bytes = NO_UUID,
    transactional_id: str | None = None,
) -> ProduceRequest:
    """Return a request with one batch."""
    one = PartitionProduceData(partition, None if data is None else bytes(data))
    return ProduceRequest(transactional_id, acks, 1000, [TopicProduceData(topic, topic_id, [one])])


def produced(client: KafkaClient, request: ProduceRequest, version: int = NAME_ONLY) -> Any:
    """Return the answer for the one partition of a request."""
    [topic] = client.ask(request, version).responses
    [partition] = topic.partition_responses
    return partition


def in_transaction(
    scene: KafkaScene,
    client: KafkaClient,
    producer_id: int,
    *values: bytes,
    topic: str = "a",
    version: int = NAME_ONLY,
    epoch: int = 0,
    sequence: int = 0,
    transactional_id: str | None = "t",
) -> Any:
    """Produce a batch of a transaction, which the coordinator knows of; return the answer for its
    partition."""
    if transactional_id is not None:
        status = TxnStatus(
            producer_id,
            epoch,
            600_000,
            TxnState.ONGOING,
            scene.server.clock.millis(),
            started=scene.server.clock.millis(),
            partitions=frozenset((TopicPartition(topic, 0),)),
        )
        scene.transactions.table.restore(transactional_id, status)
    data = batch_of_values(
        *values,
        now=scene.server.clock.millis(),
        flags=TRANSACTIONAL,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
    )
    return produced(client, produce_request(topic, data, transactional_id=transactional_id), version)


def end_transaction(
    scene: KafkaScene,
    producer_id: int,
    *,
    is_commit: bool,
    topic: str = "a",
    epoch: int = 0,
    coordinator_epoch: int = 0,
) -> None:
    """Write a marker into queue 0 of a topic, as a coordinator does."""
    operations = scene.operations
    marker = Marker(producer_id, epoch, is_commit, coordinator_epoch)
    operations.batches.write_marker(operations.gate.internal(Use.SEND), topic, 0, marker)


def fetch_request(
    topic: str,
    offset: int,
    *,
    partition: int = 0,
    max_wait: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 1 << 20,
    partition_bytes: int = 1 << 20,
    topic_id: bytes = NO_UUID,
    **more: Any,
) -> FetchRequest:
    """Return a request for one partition, without a session."""
    wanted = FetchPartition(partition, fetch_offset=offset, partition_max_bytes=partition_bytes)
    return FetchRequest(
        max_wait_ms=max_wait,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        session_epoch=-1,
        topics=[FetchTopic(topic, topic_id, [wanted])],
        **more,
    )


def fetched(client: KafkaClient, request: FetchRequest, version: int = NAME_ONLY) -> Any:
    """Return the answer for the one partition of a request."""
    [topic] = client.ask(request, version).responses
    [partition] = topic.partitions
    return partition


def batches_in(partition: Any) -> list[Batch]:
    """Return the batches of an answer, checked."""
    found = list(batches(bytes(partition.records or b"")))
    for batch in found:
        batch.check_crc()
    return found


def values_in(partition: Any) -> list[tuple[int, bytes]]:
    """Return offsets and values of the records of an answer."""
    return [
        (batch.base_offset + record.offset_delta, bytes(record.value or b""))
        for batch in batches_in(partition)
        for record in batch.records()
    ]
