"""Batches as they are copied."""

from __future__ import annotations

import struct

import pytest

from mqgateway.engine.record_batches.batches import (
    CONTROL,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
    Batch,
    build_batch,
)
from mqgateway.engine.record_batches.compression import CompressionType
from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.records import Record
from mqgateway.gateway.migration.kafka.records import (
    Aborted,
    Stamp,
    committed,
    copied,
    offsets_from,
    timestamp_of,
    whole_batches,
)

STAMP = Stamp(7, 0, 40)


def batch(base: int, *deltas: int, flags: int = 0, producer: int = -1, kind: int = 0) -> Batch:
    """Return a batch with records at these deltas of offset."""
    records = [Record(b"k", b"%d" % delta, [("h", b"1")], delta, delta) for delta in deltas]
    data = build_batch(
        records,
        base_timestamp=1000,
        compression=CompressionType(kind),
        flags=flags,
        base_offset=base,
        producer_id=producer,
    )
    return Batch(memoryview(data))


def marker(base: int, producer: int, *, is_commit: bool) -> Batch:
    """Return a batch with the marker of a transaction."""
    key = b"\0\0\0\1" if is_commit else b"\0\0\0\0"
    data = build_batch(
        [Record(key, b"\0\0\0\0\0\0")],
        base_timestamp=1,
        flags=CONTROL | TRANSACTIONAL,
        base_offset=base,
        producer_id=producer,
    )
    return Batch(memoryview(data))


@pytest.mark.parametrize("kind", list(CompressionType))
def test_batch_without_gaps_keeps_its_compressed_records(kind: int) -> None:
    source = batch(10, 0, 1, 2, flags=TRANSACTIONAL, producer=3, kind=kind)
    made = copied(source, 0, STAMP)
    assert made is not None and made.spans == ((10, 3),) and made.record_count == 3
    copy = Batch(memoryview(made.data))
    copy.check_crc()
    assert (copy.producer_id, copy.base_sequence, copy.is_transactional) == (7, 40, False)
    assert bytes(copy.data[61:]) == bytes(source.data[61:]) and copy.max_timestamp == 1002


def test_gaps_are_closed() -> None:
    made = copied(batch(10, 0, 2, 3, 7, kind=CompressionType.GZIP), 0, STAMP)
    assert made is not None and made.spans == ((10, 1), (12, 2), (17, 1))
    copy = Batch(memoryview(made.data))
    copy.check_crc()
    assert [(one.offset_delta, one.value, one.timestamp_delta) for one in copy.records()] == [
        *((0, b"0", 0), (1, b"2", 2), (2, b"3", 3), (3, b"7", 7))
    ]
    assert copy.attributes == CompressionType.GZIP


def test_records_before_the_position_are_left_out() -> None:
    made = copied(batch(10, 0, 1, 2), 11, STAMP)
    assert made is not None and made.spans == ((11, 2),)
    assert offsets_from(batch(10, 0, 1, 2), 11) == ((11, 2),)
    assert offsets_from(batch(10, 0, 1, 2), 0) == ((10, 3),)
    assert copied(batch(10, 0, 1), 12, STAMP) is None


def test_records_with_append_time_keep_it() -> None:
    source = batch(0, 0, 1, flags=LOG_APPEND_TIME)
    made = copied(source, 0, STAMP)
    assert made is not None
    copy = Batch(memoryview(made.data))
    assert not copy.has_log_append_time
    assert [timestamp_of(copy, one) for one in copy.records()] == [1001, 1001]
    assert [timestamp_of(source, one) for one in source.records()] == [1001, 1001]


def test_aborted_transactions_and_markers_are_left_out() -> None:
    log = [
        batch(0, 0, flags=TRANSACTIONAL, producer=1),
        batch(1, 0, flags=TRANSACTIONAL, producer=2),
        marker(2, 1, is_commit=False),
        batch(3, 0, flags=TRANSACTIONAL, producer=1),
        marker(4, 2, is_commit=True),
        marker(5, 1, is_commit=True),
        batch(6, 0),
        batch(7),
    ]
    assert [one.base_offset for one in committed(log, [Aborted(1, 0)])] == [1, 3, 6]


def test_batch_that_is_cut_short_is_not_read() -> None:
    data = bytes(batch(0, 0).data) + bytes(batch(1, 0).data)[:-1]
    assert [one.base_offset for one in whole_batches(data)] == [0]
    assert not list(whole_batches(data[:5]))


def test_small_message_of_an_old_format_is_refused() -> None:
    message = struct.pack(">qiIbb", 0, 22, 0, 1, 0) + bytes(16)
    with pytest.raises(CodecError, match="61 bytes or more"):
        list(whole_batches(message))
