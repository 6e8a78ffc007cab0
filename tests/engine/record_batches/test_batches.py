"""Record batches: header, checks, and equality with kafka-python's."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.record_batches.batches import (
    HEADER_SIZE,
    TRANSACTIONAL,
    Batch,
    assigned,
    batches,
    build_batch,
)
from mqgateway.engine.record_batches.compression import CompressionType
from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.records import Record

CRC_END = 21
RECORDS = [
    Record(b"key", b"value", [("name", b"1"), ("name", None)], 0, 0),
    Record(None, b"x" * 300, (), 5, 1),
    Record(b"gone", None, (), -2, 2),
]


@pytest.mark.parametrize("compression", CompressionType)
def test_batch_survives_a_round_trip(compression: CompressionType) -> None:
    data = build_batch(
        RECORDS,
        base_timestamp=1000,
        compression=compression,
        flags=TRANSACTIONAL,
        producer_id=7,
        producer_epoch=2,
        base_sequence=9,
    )
    batch = Batch(memoryview(data))
    batch.check_crc()
    assert list(batch.records()) == RECORDS
    assert (batch.count, batch.last_offset, batch.base_timestamp, batch.max_timestamp) == (3, 2, 1000, 1005)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (7, 2, 9)
    assert batch.is_transactional and not batch.is_control and not batch.has_log_append_time


def test_offset_and_epoch_are_assigned_outside_the_checksum() -> None:
    data = assigned(bytes(build_batch(RECORDS, base_timestamp=0)), 1 << 40, 12)
    batch = Batch(memoryview(data))
    batch.check_crc()
    assert (batch.base_offset, batch.last_offset, batch.leader_epoch) == (1 << 40, (1 << 40) + 2, 12)


def test_batches_that_follow_one_another_are_read() -> None:
    first, second = (build_batch(RECORDS, base_timestamp=0, base_offset=offset) for offset in (0, 3))
    assert [batch.base_offset for batch in batches(first + second)] == [0, 3]
    with pytest.raises(CodecError):
        list(batches(first + second[:-1]))


def test_batch_cut_short_at_any_byte_is_refused() -> None:
    data = memoryview(build_batch(RECORDS, base_timestamp=0))
    for size in range(len(data)):
        with pytest.raises(CodecError):
            Batch(data[:size])


@given(st.integers(21, 200), st.integers(1, 255))
def test_changed_byte_fails_the_checksum(place: int, change: int) -> None:
    data = build_batch(RECORDS, base_timestamp=0)
    data[place] ^= change
    with pytest.raises(CodecError, match="checksum"):
        Batch(memoryview(data)).check_crc()


@pytest.mark.parametrize(
    ("place", "changed", "reason"),
    [
        (8, "00000030", "batch length 48"),
        (8, "80000000", "batch length -2147483648"),
        (8, "7fffffff", "batch length 2147483647"),
        (16, "01", "batch of format 1, only 2 is supported"),
        (57, "ffffffff", "negative number of records -1"),
        (57, "7fffffff", "2147483647 elements of 7 bytes or more expected"),
        (57, "00000002", "bytes follow the last of 2 records"),
        (22, "05", "unknown compression type 5"),
    ],
)
def test_header_that_lies_is_refused(place: int, changed: str, reason: str) -> None:
    data = build_batch(RECORDS, base_timestamp=0)
    data[place : place + len(changed) // 2] = bytes.fromhex(changed)
    with pytest.raises(CodecError, match=reason):
        list(Batch(memoryview(data)).records())


def test_records_that_inflate_beyond_the_limit_are_refused() -> None:
    data = build_batch([Record(None, bytes(100_000))], base_timestamp=0, compression=CompressionType.ZSTD)
    assert len(data) < HEADER_SIZE + 200
    with pytest.raises(CodecError, match="exceed the limit of 5000 bytes"):
        list(Batch(memoryview(data)).records(5000))


def test_kafka_python_reads_and_writes_the_same_batch() -> None:
    theirs: Any = pytest.importorskip("kafka.record.default_records")
    builder = theirs.DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 1 << 20)
    for record in RECORDS:
        builder.append(
            record.offset_delta, 1000 + record.timestamp_delta, record.key, record.value, record.headers
        )
    made = bytes(builder.build())
    ours = build_batch(RECORDS, base_timestamp=1000)
    assert made[CRC_END:] == ours[CRC_END:]
    batch = Batch(memoryview(made))
    batch.check_crc()
    assert list(batch.records()) == RECORDS
    read = [(one.key, one.value, one.timestamp) for one in theirs.DefaultRecordBatch(bytes(ours))]
    assert read == [(one.key, one.value, 1000 + one.timestamp_delta) for one in RECORDS]
