"""Records of a batch checked: their extremes, and the first one that is at fault."""

import pytest

from mqgateway.engine.record_batches.errors import BadRecord
from mqgateway.engine.record_batches.records import Record, write_record
from mqgateway.engine.record_batches.walk import walk_records

SMALLEST = "0c000000010100"
"""A record with null key and value."""
SECOND = "0c000002010100"


def data_of(*records: Record) -> bytes:
    """Return records as they stand in a batch."""
    out = bytearray()
    for record in records:
        write_record(out, record)
    return bytes(out)


def test_walk_gives_extremes_of_timestamps_and_first_null_key() -> None:
    data = data_of(
        Record(b"a", b"1", (), 5),
        Record(b"b", None, (), -7, 1),
        Record(None, b"3", (), 1, 2),
        Record(None, b""),
    )
    found = walk_records(data[: -len(data_of(Record(None, b"")))], 3)
    assert (found.least_delta, found.greatest_delta, found.first_keyless) == (-7, 5, 2)


def test_walk_of_records_with_keys_has_no_null_key() -> None:
    assert walk_records(data_of(Record(b"", b"")), 1).first_keyless == -1


@pytest.mark.parametrize(
    ("text", "count", "index", "reason"),
    [
        ("", 0, -1, "a batch has 0 records"),
        (SMALLEST, -1, -1, "a batch has -1 records"),
        (SMALLEST, 2, -1, "2 elements of 7 bytes or more expected, 7 bytes left"),
        (SMALLEST + "00", 1, -1, "1 bytes follow the last of 1 records"),
        (SMALLEST + SECOND, 1, -1, "7 bytes follow the last of 1 records"),
        (SMALLEST + "0e000002010100", 2, 1, "record of 7 bytes, 6 left"),
        (SMALLEST + "0c000002030100", 2, 1, "-2 bytes expected"),
        (SMALLEST + "0c000002010101", 2, 1, "negative number of headers -1"),
        (SMALLEST + "0c00000201017e", 2, 1, "63 elements of 2 bytes or more expected"),
        ("0a" + SMALLEST[2:] + SECOND, 2, 0, "record of 5 bytes ends at byte 7, not 6"),
        ("0e00000001010201" + SECOND, 2, 0, "-1 bytes expected"),
    ],
)
def test_malformed_records_are_refused_with_the_index(text: str, count: int, index: int, reason: str) -> None:
    with pytest.raises(BadRecord, match=reason) as raised:
        walk_records(bytes.fromhex(text), count)
    assert raised.value.index == index


def test_walk_refuses_offset_deltas_that_do_not_count_up() -> None:
    with pytest.raises(BadRecord, match=r"records\[1\]: offset delta 2") as raised:
        walk_records(data_of(Record(None, None), Record(None, None, (), 0, 2)), 2)
    assert raised.value.index == 1
