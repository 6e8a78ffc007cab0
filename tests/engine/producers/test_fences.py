"""Fences as control batches."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.producers.batch import of_header
from mqgateway.engine.producers.fences import NOT_FENCED, fence_batch, fence_of
from mqgateway.engine.producers.markers import Marker, control_batch, marker_of
from mqgateway.engine.record_batches.batches import CONTROL, Batch, build_batch
from mqgateway.engine.record_batches.records import Record
from tests.support.engine.store.kafka_batches import kafka_batch

NOW = 1_700_000_000_000


@given(st.integers(0, 2**31 - 1))
def test_move_is_read_from_its_fence(move: int) -> None:
    data = fence_batch(move, NOW)
    assert fence_of(data) == fence_of(memoryview(data)) == move


def test_fence_is_a_control_batch_without_a_producer() -> None:
    data = fence_batch(3, NOW)
    batch = Batch(memoryview(data))
    batch.check_crc()
    assert (batch.attributes, batch.producer_id, batch.count) == (CONTROL, -1, 1)
    assert of_header(data) is None and marker_of(data) is None
    [record] = batch.records()
    assert record.key is not None and struct.unpack(">hh", record.key) == (0, 2)


def control(*records: Record) -> bytes:
    """Return a control batch."""
    return bytes(build_batch(records, base_timestamp=NOW, flags=CONTROL))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        kafka_batch(b"\0\0\0\0\0\1", key=b"\0\0\0\2"),
        control_batch(Marker(7, 0, True, 0), NOW),
        control(Record(b"\0\0\0\3", b"\0\0\0\0\0\0")),
        control(Record(b"\0\0\0\2", None)),
        control(Record(None, b"\0\0\0\0\0\0")),
        control(Record(b"\0", b"\0\0\0\0\0\0")),
        control(Record(b"\0\0\0\2", b"\0\0\0\0\0\0"), Record(b"\0\0\0\2", b"\0\0\0\0\0\0", (), 0, 1)),
        fence_batch(0, NOW)[:-1],
    ],
)
def test_other_batches_are_no_fences(data: bytes) -> None:
    assert fence_of(data) == NOT_FENCED
