"""The state of share partitions as records of the topic `__share_group_state`, in Kafka's own schemas.

A snapshot has the whole state of a share partition. An update has all that has changed since the snapshot
with the same number, so that only the last record of each kind counts. A record without a value is a
tombstone.
Kafka: `ShareCoordinatorRecordHelpers`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.reader import Reader
from mqgateway.gateway.kafka.codec.messages import share_snapshot_value, share_update_value
from mqgateway.gateway.kafka.codec.messages.share_snapshot_key import ShareSnapshotKey
from mqgateway.gateway.kafka.codec.messages.share_snapshot_value import ShareSnapshotValue
from mqgateway.gateway.kafka.codec.messages.share_update_key import ShareUpdateKey
from mqgateway.gateway.kafka.codec.messages.share_update_value import ShareUpdateValue
from mqgateway.gateway.kafka.codec.plans import encode_into, read
from mqgateway.gateway.kafka.codec.schema import Message
from mqgateway.gateway.kafka.share_partitions.ranges import OffsetRange, RecordState

SNAPSHOT: Final = 0
UPDATE: Final = 1
"""Kinds of records, the versions of their keys."""
SCHEMA_VERSION: Final = 0
"""The only version of the schemas."""
LEADER_EPOCH: Final = 0
"""The leader epoch of partitions, which are not led by another broker."""


class ShareKey(NamedTuple):
    """A share partition: a partition, by the id of its topic, as a group has it."""

    group: str
    topic_id: bytes
    partition: int


class StoredState(NamedTuple):
    """The value of a record: the number of its snapshot, the start, the records done, and batches of state.

    `created` is the wall time of the share partition's first record, ms; 0 in an update.
    """

    snapshot: int
    start: int
    done: int
    batches: Sequence[OffsetRange]
    created: int = 0


def snapshot_key(key: ShareKey) -> bytes:
    """Return the key of a share partition's snapshots."""
    return _bytes(ShareSnapshotKey(*key), SNAPSHOT)


def update_key(key: ShareKey) -> bytes:
    """Return the key of a share partition's updates."""
    return _bytes(ShareUpdateKey(*key), UPDATE)


def snapshot_value(state: StoredState, now: int) -> bytes:
    """Return the value of a snapshot; `now` is the wall time, ms."""
    value = ShareSnapshotValue(
        snapshot_epoch=state.snapshot,
        leader_epoch=LEADER_EPOCH,
        start_offset=state.start,
        delivery_complete_count=state.done,
        create_timestamp=state.created,
        write_timestamp=now,
        state_batches=[share_snapshot_value.StateBatch(*one[:4]) for one in state.batches],
    )
    return _bytes(value, SCHEMA_VERSION)


def update_value(state: StoredState) -> bytes:
    """Return the value of an update."""
    value = ShareUpdateValue(
        snapshot_epoch=state.snapshot,
        leader_epoch=LEADER_EPOCH,
        start_offset=state.start,
        delivery_complete_count=state.done,
        state_batches=[share_update_value.StateBatch(*one[:4]) for one in state.batches],
    )
    return _bytes(value, SCHEMA_VERSION)


def read_key(key: bytes) -> tuple[int, ShareKey] | None:
    """Return kind and share partition of a record; None for a record of another kind. Raises `CodecError`."""
    reader = Reader(key)
    kind = reader.int16()
    if kind not in (SNAPSHOT, UPDATE):
        return None
    found = read(ShareSnapshotKey, reader, SCHEMA_VERSION)
    return kind, ShareKey(found.group_id, found.topic_id, found.partition)


def read_snapshot(value: bytes) -> StoredState:
    """Return the state of a snapshot. Raises `CodecError`."""
    reader = Reader(value)
    found = read(ShareSnapshotValue, reader, reader.int16())
    batches = _ranges(found.state_batches)
    return StoredState(
        found.snapshot_epoch,
        found.start_offset,
        found.delivery_complete_count,
        batches,
        found.create_timestamp,
    )


def read_update(value: bytes) -> StoredState:
    """Return the state of an update. Raises `CodecError`."""
    reader = Reader(value)
    found = read(ShareUpdateValue, reader, reader.int16())
    batches = _ranges(found.state_batches)
    return StoredState(found.snapshot_epoch, found.start_offset, found.delivery_complete_count, batches)


def _ranges(
    batches: Sequence[share_snapshot_value.StateBatch | share_update_value.StateBatch],
) -> list[OffsetRange]:
    found: list[OffsetRange] = []
    for one in batches:
        try:
            state = RecordState(one.delivery_state)
        except ValueError as error:
            raise CodecError(f"delivery state {one.delivery_state} is unknown", 0) from error
        if one.last_offset >= one.first_offset and state is not RecordState.ACQUIRED:
            found.append(OffsetRange(one.first_offset, one.last_offset, state, one.delivery_count))
    return found


def _bytes(message: Message, prefix: int) -> bytes:
    out = bytearray(prefix.to_bytes(2, "big"))
    encode_into(out, message, SCHEMA_VERSION)
    return bytes(out)
