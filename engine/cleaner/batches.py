"""One batch without the records that newer ones of their keys replace.

A batch keeps its base offset and last offset delta, so no record changes its offset. Records that go:

- those of aborted transactions, and those without a key;
- those of a key that has a newer record in the part that is compacted;
- tombstones and markers whose delete horizon has passed.

The first pass that meets a tombstone, or a marker that no batch needs, writes the horizon into the batch:
`delete.retention.ms` after the time of the pass. A batch without records goes too, unless it is the last one
of a producer, whose sequence it has, or the last of the part, whose end readers must reach.
Kafka: `Cleaner.cleanInto`, `MemoryRecords.filterTo`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from mqgateway.engine.cleaner.offset_map import OffsetMap
from mqgateway.engine.cleaner.transactions import PassedTransactions
from mqgateway.engine.record_batches.batches import (
    CONTROL,
    DELETE_HORIZON,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
    Batch,
    pack_batch,
)
from mqgateway.engine.record_batches.compression import compress, compression_of
from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.mapping import java_long, time_of
from mqgateway.engine.record_batches.records import Data, Record, write_record

NONE: Final = -1
_KINDS: Final = LOG_APPEND_TIME | TRANSACTIONAL | CONTROL
"""Attributes that a batch without records keeps."""


class LastOfProducer(NamedTuple):
    """The offset of the last record of a producer in a queue, -1 if that is a marker, and its epoch."""

    offset: int
    epoch: int


def map_batch(batch: Batch, offsets: OffsetMap, transactions: PassedTransactions) -> bool:
    """Note the offsets of a batch's keys, in a pass over the batches that are to be compacted.

    Return False if there is no room for them; then nothing was noted, and the pass ends before this batch.
    A batch that cannot be read has no keys.
    """
    if transactions.can_remove(batch) or batch.is_control:
        return True
    try:
        records = _records_of(batch)
    except CodecError:
        return True
    if len(records) > offsets.room:
        return False
    for record in records:
        if record.key is not None:
            offsets.put(record.key, batch.base_offset + record.offset_delta)
    return True


class BatchCleaner:
    """A pass that removes records, over the batches of a queue in their order from the first on.

    `offsets` has the keys of the part that is compacted, which ends at the queue offset `end`. `last_records`
    has the active producers. `now` and `delete_retention` are in ms. `unreadable` counts the batches that
    cannot be read, and are kept as they are.
    """

    def __init__(
        self,
        offsets: OffsetMap,
        transactions: PassedTransactions,
        last_records: Mapping[int, LastOfProducer],
        end: int,
        now: int,
        delete_retention: int,
    ) -> None:
        self._offsets = offsets
        self._transactions = transactions
        self._last_records = last_records
        self._end = end
        self._now = now
        self._delete_retention = delete_retention
        self.unreadable = 0

    def clean(self, batch: Batch) -> Data | None:
        """Take the next batch; return what stays of it, None for nothing."""
        can_remove = self._transactions.can_remove(batch)
        has_passed = self._has_passed(batch)
        if not batch.count or (can_remove and (has_passed or not batch.is_control)):
            return self._emptied(batch)
        if batch.is_control and not can_remove:
            return batch.data
        try:
            records = _records_of(batch)
        except CodecError:
            self.unreadable += 1
            return batch.data
        if batch.is_control:
            return self._with(batch, records, True)
        kept = [record for record in records if self._stays(batch, record, has_passed)]
        if not kept:
            return self._emptied(batch)
        has_tombstone = any(record.value is None for record in kept)
        if len(kept) == len(records) and not has_tombstone:
            return batch.data
        return self._with(batch, kept, has_tombstone)

    def keeps(self, batch: Batch, stored: int) -> bool:
        """Take the next batch, which was made of messages stored at a time in ms; return False if none of
        them stays. It has no delete horizon: its tombstones go by that time."""
        self._transactions.can_remove(batch)
        has_passed = stored + self._delete_retention <= self._now
        is_needed = any(self._stays(batch, record, has_passed) for record in batch.records())
        return is_needed or batch.last_offset + 1 == self._end

    def _has_passed(self, batch: Batch) -> bool:
        """Return True if the delete horizon of a batch has passed."""
        return bool(batch.attributes & DELETE_HORIZON and batch.base_timestamp <= self._now)

    def _stays(self, batch: Batch, record: Record, has_passed: bool) -> bool:
        if record.key is None or (record.value is None and has_passed):
            return False
        offset: int = batch.base_offset + record.offset_delta
        return offset >= self._offsets.get(record.key)

    def _emptied(self, batch: Batch) -> Data | None:
        if batch.last_offset + 1 != self._end and not self._is_last_of_producer(batch):
            return None
        return _without_records(batch) if batch.count else batch.data

    def _is_last_of_producer(self, batch: Batch) -> bool:
        last = self._last_records.get(batch.producer_id) if batch.producer_id >= 0 else None
        if last is None:
            return False
        if last.offset != NONE:
            return batch.last_offset == last.offset
        return bool(batch.is_control and batch.producer_epoch == last.epoch)

    def _with(self, batch: Batch, kept: Sequence[Record], needs_horizon: bool) -> Data:
        """Return the batch with these of its records, and with a delete horizon if it needs one."""
        times = [time_of(batch, record) for record in kept]
        attributes, base_timestamp = batch.attributes, batch.base_timestamp
        if needs_horizon and not attributes & DELETE_HORIZON:
            attributes |= DELETE_HORIZON
            base_timestamp = self._now + self._delete_retention
        elif len(kept) == batch.count:
            return batch.data
        packed = bytearray()
        for record, time in zip(kept, times, strict=True):
            delta = java_long(time - base_timestamp)
            write_record(packed, Record(record.key, record.value, record.headers, delta, record.offset_delta))
        return _packed(batch, packed, len(kept), attributes, base_timestamp, max(times))


def _records_of(batch: Batch) -> list[Record]:
    """Return the records of a batch. Its checksum is verified, as it gets a new one with what stays of it.
    Raises `CodecError`."""
    batch.check_crc()
    # Not list(), which keeps other threads waiting for as long as it takes.
    return [record for record in batch.records()]  # noqa: C416


def _without_records(batch: Batch) -> Data:
    return _packed(batch, bytearray(), 0, batch.attributes & _KINDS, NONE, batch.max_timestamp)


def _packed(
    batch: Batch, packed: bytearray, count: int, attributes: int, base_timestamp: int, max_timestamp: int
) -> bytes:
    """Return a batch with the offsets and the producer of another one, and these records."""
    kind = compression_of(attributes)
    return bytes(
        pack_batch(
            compress(packed, kind) if kind else packed,
            count,
            batch.last_offset_delta,
            base_timestamp=base_timestamp,
            max_timestamp=max_timestamp,
            attributes=attributes,
            base_offset=batch.base_offset,
            leader_epoch=batch.leader_epoch,
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            base_sequence=batch.base_sequence,
        )
    )
