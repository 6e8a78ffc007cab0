"""Ordinary batches, and what makes a batch another one."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.engine.record_batches.batches import CONTROL, LOG_APPEND_TIME, TRANSACTIONAL, build_batch
from mqgateway.engine.record_batches.compression import CompressionType
from mqgateway.engine.record_batches.ordinary import OrdinaryBatch, ordinary_batch
from mqgateway.engine.record_batches.records import Record

RECORDS = [Record(b"k", b"v", (), 3, 0), Record(None, b"w", [("h", b"x")], -2, 1)]


def checked(data: bytes | bytearray) -> OrdinaryBatch | None:
    """Check a batch that has other bytes around it."""
    return ordinary_batch(b"before" + bytes(data) + b"after", 6, 6 + len(data))


def test_fields_of_an_ordinary_batch() -> None:
    data = build_batch(RECORDS, base_timestamp=1000, producer_id=7, producer_epoch=0, base_sequence=4)
    batch = checked(data)
    assert batch is not None and bytes(batch.data) == bytes(data)
    assert (batch.count, batch.base_timestamp, batch.max_timestamp) == (2, 1000, 1003)
    assert (batch.least_delta, batch.greatest_delta) == (-2, 3)
    assert (batch.has_keys, batch.producer_id) == (False, 7)


def test_batch_in_which_each_record_has_a_key() -> None:
    batch = checked(build_batch(RECORDS[:1], base_timestamp=0))
    assert batch is not None and batch.has_keys and batch.producer_id == -1


@pytest.mark.parametrize(
    "fields",
    [
        {"base_offset": 1},
        {"compression": CompressionType.GZIP},
        {"flags": CONTROL},
        {"flags": TRANSACTIONAL},
        {"flags": LOG_APPEND_TIME},
        {"flags": 1 << 8},
        {"producer_id": 7, "producer_epoch": -1, "base_sequence": 0},
        {"producer_id": 7, "producer_epoch": 0, "base_sequence": -1},
    ],
)
def test_header_of_another_batch(fields: dict[str, Any]) -> None:
    assert checked(build_batch(RECORDS, **{"base_timestamp": 0, **fields})) is None


def test_records_of_another_batch() -> None:
    assert checked(build_batch([], base_timestamp=0)) is None
    assert checked(build_batch([RECORDS[0], RECORDS[0]], base_timestamp=0)) is None
    assert checked(build_batch([RECORDS[1]], base_timestamp=0)) is None


def test_changed_or_truncated_bytes_are_no_ordinary_batch() -> None:
    data = build_batch(RECORDS, base_timestamp=0)
    for at in range(len(data)):
        changed = bytearray(data)
        changed[at] ^= 0x55
        # The leader epoch is the broker's, which the checksum leaves out.
        assert (checked(changed) is None) == (not 12 <= at < 16)
        assert checked(data[:at]) is None
    assert checked(data + b"\0") is None


def test_places_that_cannot_be_are_no_batch() -> None:
    assert ordinary_batch(b"", 0, 0) is None
