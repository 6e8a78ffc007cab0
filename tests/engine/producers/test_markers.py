"""Markers as control batches."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.producers.markers import Marker, control_batch, marker_of
from mqgateway.engine.record_batches.batches import CONTROL, TRANSACTIONAL, Batch, build_batch
from mqgateway.engine.record_batches.records import Record
from tests.support.engine.store.kafka_batches import kafka_batch

NOW = 1_700_000_000_000
SIZE = 78
"""Bytes of a marker that Apache Kafka 4.4.0 writes."""


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**15 - 1), st.booleans(), st.integers(-1, 2**31 - 1))
def test_marker_is_read_from_its_batch(
    producer_id: int, epoch: int, is_commit: bool, coordinator: int
) -> None:
    marker = Marker(producer_id, epoch, is_commit, coordinator)
    assert marker_of(control_batch(marker, NOW)) == marker


@pytest.mark.parametrize(("is_commit", "kind"), [(True, 1), (False, 0)])
def test_batch_has_the_fields_of_kafka(is_commit: bool, kind: int) -> None:
    data = control_batch(Marker(7, 3, is_commit, 5), NOW)
    batch = Batch(memoryview(data))
    batch.check_crc()
    assert len(data) == SIZE and batch.attributes == CONTROL | TRANSACTIONAL
    assert (batch.base_offset, batch.base_sequence, batch.base_timestamp) == (0, -1, NOW)
    [record] = batch.records()
    assert record.key is not None and struct.unpack(">hh", record.key) == (0, kind)
    assert record.value is not None and struct.unpack(">hi", record.value) == (0, 5)


def control(*records: Record, **fields: int) -> bytes:
    """Return a control batch of a producer."""
    given = {"producer_id": 7, "producer_epoch": 0, **fields}
    return bytes(build_batch(records, base_timestamp=NOW, flags=CONTROL | TRANSACTIONAL, **given))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        kafka_batch(b"a"),
        kafka_batch(b"a", producer_id=7, producer_epoch=0, base_sequence=0, flags=TRANSACTIONAL),
        control(Record(b"\0\0\0\2", b"\0\0\0\0\0\0")),
        control(Record(b"\0\0\0\1", None)),
        control(Record(None, b"\0\0\0\0\0\0")),
        control(Record(b"\0", b"\0\0\0\0\0\0")),
        control(Record(b"\0\0\0\1", b"\0\0\0\0\0\0"), producer_id=-1),
        control(Record(b"\0\0\0\1", b"\0\0\0\0\0\0"), Record(b"\0\0\0\1", b"\0\0\0\0\0\0", (), 0, 1)),
        control_batch(Marker(7, 0, True, 0), NOW)[:-1],
    ],
)
def test_other_batches_are_no_markers(data: bytes) -> None:
    assert marker_of(data) is None
