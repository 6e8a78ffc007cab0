"""State of share partitions as records of Kafka's schemas."""

from __future__ import annotations

import pytest

from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.gateway.kafka.share_partitions.ranges import OffsetRange, RecordState
from mqgateway.gateway.kafka.share_partitions.records import (
    SNAPSHOT,
    UPDATE,
    ShareKey,
    StoredState,
    read_key,
    read_snapshot,
    read_update,
    snapshot_key,
    snapshot_value,
    update_key,
    update_value,
)

KEY = ShareKey("g", bytes(range(16)), 3)
BATCHES = [OffsetRange(5, 9, RecordState.AVAILABLE, 2), OffsetRange(10, 10, RecordState.ARCHIVED, 5)]


def test_keys_are_those_of_kafka() -> None:
    assert snapshot_key(KEY) == b"\0\0" + b"\0\1g" + bytes(range(16)) + b"\0\0\0\3"
    assert update_key(KEY) == b"\0\1" + snapshot_key(KEY)[2:]
    assert read_key(snapshot_key(KEY)) == (SNAPSHOT, KEY)
    assert read_key(update_key(KEY)) == (UPDATE, KEY)
    assert read_key(b"\0\7x") is None


def test_values_survive_a_round_trip() -> None:
    state = StoredState(4, 5, 1, BATCHES, 1000)
    assert read_snapshot(snapshot_value(state, 2000)) == state
    assert read_update(update_value(state)) == state._replace(created=0)


def test_odd_batches_of_stored_state_are_left_out() -> None:
    odd = [OffsetRange(9, 5, RecordState.AVAILABLE, 1), OffsetRange(1, 2, RecordState.ACQUIRED, 1)]
    assert read_update(update_value(StoredState(1, 0, 0, odd))).batches == []
    wrong = update_value(StoredState(1, 0, 0, BATCHES)).replace(b"\4\0\5", b"\5\0\5")
    with pytest.raises(CodecError):
        read_update(wrong)


def test_values_that_are_cut_short_are_errors() -> None:
    value = snapshot_value(StoredState(4, 5, 1, BATCHES), 0)
    with pytest.raises(CodecError):
        read_snapshot(value[:-3])
