"""Records: round trips, and lengths and counts that lie."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.records import RECORD_SIZE_MIN, Record, read_records, write_record

data = st.none() | st.binary(max_size=80)
records = st.builds(
    Record,
    key=data,
    value=data,
    headers=st.lists(st.tuples(st.text(st.characters(codec="utf-8"), max_size=5), data), max_size=3),
    timestamp_delta=st.integers(-(1 << 63), (1 << 63) - 1),
    offset_delta=st.integers(0, (1 << 31) - 1),
)


@given(st.lists(records, max_size=5))
def test_records_survive_a_round_trip(given_records: list[Record]) -> None:
    out = bytearray()
    for record in given_records:
        write_record(out, record)
    assert list(read_records(bytes(out), len(given_records))) == given_records


def test_smallest_record_has_seven_bytes() -> None:
    out = bytearray()
    write_record(out, Record(None, None))
    assert out.hex() == "0c000000010100"
    assert len(out) == RECORD_SIZE_MIN


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("0e000000010100", r"records\[0\] at byte 0: record of 7 bytes, 6 left"),
        ("0b000000010100", r"record of -6 bytes"),
        ("0a000000010100", r"record of 5 bytes ends at byte 7, not 6"),
        ("0c000000030100", r"-2 bytes expected"),
        ("0c0000007e0100", r"63 bytes expected, 2 left"),
        ("0c000000010101", r"negative number of headers -1"),
        ("0c00000001017e", r"63 elements of 2 bytes or more expected, 0 bytes left"),
        ("0c00000001010000", r"1 bytes follow the last of 1 records"),
        ("0c0000000101", r"1 elements of 7 bytes or more expected, 6 bytes left"),
    ],
)
def test_malformed_record_is_refused(text: str, reason: str) -> None:
    with pytest.raises(CodecError, match=reason):
        list(read_records(bytes.fromhex(text), 1))
