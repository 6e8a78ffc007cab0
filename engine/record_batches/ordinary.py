"""Batches as nearly all producers send them, checked in one call.

An ordinary batch is whole and not compressed, its checksum is right, its header has nothing but what a plain
or an idempotent producer writes, and its records number themselves from 0. Any other batch, good or wrong, is
left to the single checks, which name what is wrong with it. Standard: `LogValidator`.
"""

from __future__ import annotations

from mqgateway.engine.extension import native
from mqgateway.engine.record_batches.batches import HEADER_SIZE, Batch
from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.walk import walk_records


class OrdinaryBatch:
    """A batch that was checked, as a view, and fields of it. Times are in ms.

    `least_delta` and `greatest_delta` are those of the records' timestamps. `has_keys` is True if each record
    has a key. `producer_id` is negative if there is no idempotent producer.
    """

    __slots__ = (
        "base_timestamp",
        "count",
        "data",
        "greatest_delta",
        "has_keys",
        "least_delta",
        "max_timestamp",
        "producer_id",
    )

    def __init__(
        self,
        data: memoryview,
        count: int,
        base_timestamp: int,
        max_timestamp: int,
        least_delta: int,
        greatest_delta: int,
        has_keys: bool,
        producer_id: int,
    ) -> None:
        self.data = data
        self.count = count
        self.base_timestamp = base_timestamp
        self.max_timestamp = max_timestamp
        self.least_delta = least_delta
        self.greatest_delta = greatest_delta
        self.has_keys = has_keys
        self.producer_id = producer_id


def ordinary_batch(data: bytes, begin: int, end: int) -> OrdinaryBatch | None:
    """Check the batch that the bytes from `begin` to `end` are; None if it is not an ordinary one."""
    if native is None:
        return _ordinary_batch(data, begin, end)
    fields = native.ordinary_batch(data, begin, end)
    if fields is None:
        return None
    count, base_timestamp, max_timestamp, least_delta, greatest_delta, keyless, producer_id = fields
    return OrdinaryBatch(
        memoryview(data)[begin:end],
        count,
        base_timestamp,
        max_timestamp,
        least_delta,
        greatest_delta,
        keyless < 0,
        producer_id,
    )


def _ordinary_batch(data: bytes, begin: int, end: int) -> OrdinaryBatch | None:
    """Do the same by the single checks."""
    try:
        batch = Batch(memoryview(data)[begin:end])
        if len(batch.data) != end - begin or not _has_ordinary_header(batch):
            return None
        batch.check_crc()
        walk = walk_records(batch.data[HEADER_SIZE:], batch.count)
    except CodecError:
        return None
    return OrdinaryBatch(
        batch.data,
        batch.count,
        batch.base_timestamp,
        batch.max_timestamp,
        walk.least_delta,
        walk.greatest_delta,
        walk.first_keyless < 0,
        batch.producer_id,
    )


def _has_ordinary_header(batch: Batch) -> bool:
    if batch.base_offset or batch.attributes or not 0 < batch.count == batch.last_offset_delta + 1:
        return False
    return bool(batch.producer_id < 0 or (batch.producer_epoch >= 0 and batch.base_sequence >= 0))
