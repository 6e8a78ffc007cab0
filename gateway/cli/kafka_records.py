"""Records of a partition with their batches' producers and transactions, as `mqgateway kafka records` shows.

Source of the choice of aborted records: `CompletedFetch` of Kafka's consumer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from mqgateway.engine.producers.markers import marker_of
from mqgateway.engine.record_batches.batches import Batch
from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.records import Record
from mqgateway.gateway.client.errors import ClientError, NoBroker
from mqgateway.gateway.kafka.codec.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from mqgateway.gateway.kafka.codec.messages.fetch_response import PartitionData
from mqgateway.gateway.migration.kafka.cluster import KafkaCluster, Partition
from mqgateway.gateway.migration.kafka.connection import check
from mqgateway.gateway.migration.kafka.records import whole_batches

READ_UNCOMMITTED, READ_COMMITTED = 0, 1
FETCH_BYTES: Final = 1 << 20
COMMITTED, ABORTED, OPEN = "committed", "aborted", "open"
"""States of a transaction. An open one may have been committed: readers wait for one before it."""


class ShownRecord(NamedTuple):
    """A record, or the marker of a transaction.

    `timestamp` is in ms. `producer_id`, `epoch` and `sequence` are -1 without an idempotent producer.
    `transaction` is the state of the record's transaction, `marker` that which the record ends a transaction
    with; both are empty for other records.
    """

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    producer_id: int
    epoch: int
    sequence: int
    transaction: str = ""
    marker: str = ""


def records(cluster: KafkaCluster, partition: Partition, offset: int, count: int) -> Iterator[ShownRecord]:
    """Yield at most so many records from an offset on, with the markers between them.

    Those of transactions that have ended come first, then those that readers of committed records wait for.
    Raises `NoBroker` without a leader, `ClientError`.
    """
    for isolation in (READ_COMMITTED, READ_UNCOMMITTED):
        while count > 0:
            found = _fetched(cluster, partition, offset, isolation)
            shown = [one for one in _decoded(found, isolation) if one.offset >= offset][:count]
            if not shown:
                break
            yield from shown
            offset = shown[-1].offset + 1
            count -= len(shown)


def _decoded(found: PartitionData, isolation: int) -> Iterator[ShownRecord]:
    """Yield the records of an answer. Raises `ClientError` for batches that cannot be decoded."""
    waiting = sorted((one.first_offset, one.producer_id) for one in found.aborted_transactions or ())
    aborted: set[int] = set()
    try:
        for batch in whole_batches(bytes(found.records or b"")):
            while waiting and waiting[0][0] <= batch.last_offset:
                aborted.add(waiting.pop(0)[1])
            marker = marker_of(batch.data)
            if marker is not None:
                aborted.discard(marker.producer_id)
                name = COMMITTED if marker.commit else ABORTED
                yield _shown(batch, next(batch.records()), marker=name)
                continue
            state = _state(batch, aborted, isolation)
            yield from (_shown(batch, record, transaction=state) for record in batch.records())
    except CodecError as error:
        raise ClientError(f"a batch cannot be decoded: {error}") from None


def _state(batch: Batch, aborted: Collection[int], isolation: int) -> str:
    """Return the state of a batch's transaction; empty for a batch of none."""
    if not batch.is_transactional:
        return ""
    if isolation == READ_UNCOMMITTED:
        return OPEN
    return ABORTED if batch.producer_id in aborted else COMMITTED


def _fetched(cluster: KafkaCluster, partition: Partition, offset: int, isolation: int) -> PartitionData:
    """Return the answer for one partition. Raises `NoBroker`, `ClientError`."""
    wanted = FetchPartition(partition.number, fetch_offset=offset, partition_max_bytes=FETCH_BYTES)
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=FETCH_BYTES,
        isolation_level=isolation,
        session_epoch=-1,
        topics=[FetchTopic(partition.topic, partitions=[wanted])],
    )
    for address in cluster.by_leader([partition]):
        answer = cluster.ask_at(address, request)
        check(answer.error_code, f"reading {partition}")
        found: PartitionData = answer.responses[0].partitions[0]
        check(found.error_code, f"reading {partition} at {offset}")
        return found
    raise NoBroker(f"{partition} does not exist, or has no leader")


def _shown(batch: Batch, record: Record, *, transaction: str = "", marker: str = "") -> ShownRecord:
    time = batch.max_timestamp if batch.has_log_append_time else batch.base_timestamp + record.timestamp_delta
    has_sequence = batch.producer_id >= 0 and batch.base_sequence >= 0
    return ShownRecord(
        batch.base_offset + record.offset_delta,
        time,
        _bytes(record.key),
        _bytes(record.value),
        tuple((name, _bytes(value)) for name, value in record.headers),
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence + record.offset_delta if has_sequence else -1,
        transaction,
        marker,
    )


def _bytes(data: bytes | memoryview | None) -> bytes | None:
    return None if data is None else bytes(data)
