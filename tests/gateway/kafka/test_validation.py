"""Checks of produced batches, each with Kafka's code, and changes that settings of a topic ask for."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import lz4.frame
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.record_batches.batches import (
    CONTROL,
    CRC_AT,
    CRC_START,
    HEADER_SIZE,
    LENGTH_AT,
    LENGTH_MIN,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
    build_batch,
)
from mqgateway.engine.record_batches.compression import LZ4_BLOCK, CompressionType
from mqgateway.engine.record_batches.crc32c import crc32c
from mqgateway.engine.record_batches.records import Record
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.validation import BatchRefused, BatchRules, checked

NOW = 1_700_000_000_000
HOUR = 3_600_000
RULES = BatchRules(1_048_588, 2**63 - 1, HOUR, False, None, False)
RECORDS = [Record(b"k", b"value %d" % number, (), number, number) for number in range(3)]


def batch(records: list[Record] = RECORDS, **fields: Any) -> bytearray:
    """Return a batch of now."""
    return build_batch(records, **{"base_timestamp": NOW, **fields})


def with_crc(data: bytearray) -> bytearray:
    """Return a batch that was changed, with the right checksum."""
    struct.pack_into(">I", data, CRC_AT, crc32c(memoryview(data)[CRC_START:]))
    return data


def changed(at: int, layout: str, value: int) -> bytearray:
    """Return a batch with another value in its header."""
    data = batch()
    struct.pack_into(layout, data, at, value)
    return with_crc(data)


def code_of(data: bytes | bytearray, rules: BatchRules = RULES, version: int = 9) -> ErrorCode:
    """Return the code with which a batch is refused."""
    with pytest.raises(BatchRefused) as refused:
        checked(memoryview(data), rules, version, NOW)
    assert str(refused.value)
    return refused.value.code


@pytest.mark.parametrize("kind", list(CompressionType))
def test_a_batch_is_stored_as_it_was_sent(kind: CompressionType) -> None:
    data = batch(compression=kind)
    stored = checked(memoryview(data), RULES, 9, NOW)
    assert bytes(stored.data) == data


WRONG: dict[str, tuple[Callable[[], bytes | bytearray], ErrorCode]] = {
    "no bytes": (lambda: b"", ErrorCode.INVALID_RECORD),
    "two batches": (lambda: batch() + batch(), ErrorCode.INVALID_RECORD),
    "cut short": (lambda: batch()[:-1], ErrorCode.INVALID_RECORD),
    "old format": (lambda: changed(16, ">b", 1), ErrorCode.INVALID_RECORD),
    "newer format": (lambda: changed(16, ">b", 3), ErrorCode.CORRUPT_MESSAGE),
    "damaged": (lambda: batch()[:-1] + b"!", ErrorCode.CORRUPT_MESSAGE),
    "unknown compression": (lambda: changed(21, ">h", 5), ErrorCode.UNKNOWN_SERVER_ERROR),
    "base offset": (lambda: changed(0, ">q", 1), ErrorCode.INVALID_RECORD),
    "no records": (lambda: changed(57, ">i", 0), ErrorCode.INVALID_RECORD),
    "fewer records than offsets": (lambda: changed(23, ">i", 3), ErrorCode.INVALID_RECORD),
    "more records than bytes": (lambda: with_crc(many()), ErrorCode.INVALID_RECORD),
    "control": (lambda: batch(flags=CONTROL), ErrorCode.INVALID_RECORD),
    "producer without sequence": (lambda: batch(producer_id=1), ErrorCode.INVALID_RECORD),
    "transaction without producer": (lambda: batch(flags=TRANSACTIONAL), ErrorCode.INVALID_RECORD),
    "broken compression": (lambda: changed(21, ">h", 1), ErrorCode.UNKNOWN_SERVER_ERROR),
    "dependent blocks": (lambda: packed(block_linked=True), ErrorCode.UNKNOWN_SERVER_ERROR),
    "from the future": (lambda: batch(base_timestamp=NOW + HOUR + 1), ErrorCode.INVALID_TIMESTAMP),
}


def many() -> bytearray:
    """Return a batch that claims to have more records than it has."""
    data = batch()
    struct.pack_into(">i", data, 57, 100)
    struct.pack_into(">i", data, 23, 99)
    return data


def packed(**options: Any) -> bytearray:
    """Return a batch whose records are an LZ4 frame of several blocks with these options."""
    plain = batch([Record(None, bytes(100_000))])
    frame = lz4.frame.compress(plain[HEADER_SIZE:], block_size=LZ4_BLOCK, **options)
    data = plain[:HEADER_SIZE] + frame
    struct.pack_into(">i", data, LENGTH_AT, LENGTH_MIN + len(data) - HEADER_SIZE)
    struct.pack_into(">h", data, 21, CompressionType.LZ4)
    return with_crc(data)


@pytest.mark.parametrize("kind", WRONG)
def test_a_batch_that_is_wrong_is_refused_with_the_code_of_kafka(kind: str) -> None:
    make, code = WRONG[kind]
    assert code_of(make()) is code


@pytest.mark.parametrize("compression", [None, CompressionType.GZIP])
def test_lz4_frame_of_dependent_blocks_is_refused_in_any_topic(compression: CompressionType | None) -> None:
    rules = RULES._replace(compression=compression)
    assert code_of(packed(block_linked=True), rules) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert checked(memoryview(packed(block_linked=False, content_checksum=True)), rules, 9, NOW)


def test_a_batch_that_is_larger_than_the_topic_allows_is_refused() -> None:
    assert code_of(batch(), RULES._replace(size_max=50)) is ErrorCode.MESSAGE_TOO_LARGE


def test_zstd_needs_version_7() -> None:
    data = batch(compression=CompressionType.ZSTD)
    assert code_of(data, version=6) is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert checked(memoryview(data), RULES, 7, NOW)


def test_a_compressed_bomb_is_refused() -> None:
    data = batch([Record(None, bytes(40_000_000))], compression=CompressionType.ZSTD)
    assert len(data) < 100_000 and code_of(data) is ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_compacted_topic_needs_keys_and_names_the_record_without() -> None:
    data = batch([RECORDS[0], Record(None, b"x", (), 0, 1)])
    with pytest.raises(BatchRefused) as refused:
        checked(memoryview(data), RULES._replace(needs_keys=True), 9, NOW)
    assert refused.value.code is ErrorCode.INVALID_RECORD
    assert [record.batch_index for record in refused.value.records] == [1]


def test_a_timestamp_too_far_behind_is_refused() -> None:
    assert (
        code_of(batch(base_timestamp=NOW - 10), RULES._replace(behind_max=5)) is ErrorCode.INVALID_TIMESTAMP
    )
    assert checked(memoryview(batch(base_timestamp=-1)), RULES._replace(behind_max=5), 9, NOW)


def test_records_with_wrong_timestamps_are_named_with_their_own() -> None:
    records = [Record(b"k", b"v", (), delta, number) for number, delta in enumerate((0, -6, 0, -7))]
    with pytest.raises(BatchRefused, match="rejected due to invalid timestamp") as refused:
        checked(memoryview(batch(records, base_timestamp=NOW)), RULES._replace(behind_max=5), 9, NOW)
    limits = f"out of range. The timestamp should be within [{NOW - 5}, {NOW + HOUR}]"
    assert [(one.batch_index, one.batch_index_error_message) for one in refused.value.records] == [
        (number, f"Timestamp {NOW - behind} of message with offset {number} is {limits}")
        for number, behind in ((1, 6), (3, 7))
    ]


def test_a_topic_with_times_of_the_broker_gets_them() -> None:
    found = checked(memoryview(batch(base_timestamp=1)), RULES._replace(has_log_append_time=True), 9, NOW)
    found.check_crc()
    assert found.has_log_append_time and found.max_timestamp == NOW


def test_a_time_type_that_a_producer_sets_is_cleared() -> None:
    found = checked(memoryview(batch(flags=LOG_APPEND_TIME)), RULES, 9, NOW)
    found.check_crc()
    assert not found.has_log_append_time and found.base_timestamp == NOW


@given(st.sampled_from(list(CompressionType)), st.sampled_from(list(CompressionType)))
def test_a_topic_with_a_compression_of_its_own_has_all_batches_in_it(
    sent: CompressionType, wanted: CompressionType
) -> None:
    data = batch(compression=sent)
    found = checked(memoryview(data), RULES._replace(compression=wanted), 9, NOW)
    found.check_crc()
    assert found.attributes & 7 == wanted
    assert list(found.records()) == RECORDS
