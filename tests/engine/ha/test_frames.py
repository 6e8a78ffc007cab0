"""The bytes of replication, in any chunks."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqgateway.engine.ha.frames import (
    ReportCutter,
    StreamBroken,
    Transfer,
    TransferCutter,
    encode_header,
    encode_report,
)

TRANSFERS = st.lists(st.builds(Transfer, st.integers(0, 2**62), st.binary(max_size=40)), max_size=6)


def test_a_report_is_eight_bytes() -> None:
    assert encode_report(258) == bytes(6) + b"\1\2"


def test_a_transfer_begins_with_its_offset_and_size() -> None:
    assert encode_header(258, 3) == bytes(6) + b"\1\2" + bytes(3) + b"\3"


@settings(max_examples=60)
@given(st.lists(st.integers(0, 2**62), max_size=5), st.integers(1, 30))
def test_of_reports_that_come_together_the_last_complete_one_counts(offsets: list[int], step: int) -> None:
    data = b"".join(map(encode_report, offsets))
    cutter, seen = ReportCutter(), []
    for at in range(0, len(data), step):
        whole = min(at + step, len(data)) // 8
        found = cutter.feed(data[at : at + step])
        assert found is None or found == offsets[whole - 1]
        seen += [found] if found is not None else []
    assert seen[-1:] == offsets[-1:]


@settings(max_examples=60)
@given(TRANSFERS, st.integers(1, 50))
def test_transfers_are_cut_out_of_any_chunks(transfers: list[Transfer], step: int) -> None:
    data = b"".join(encode_header(offset, len(body)) + body for offset, body in transfers)
    cutter = TransferCutter(40)
    found: list[Transfer] = []
    for at in range(0, len(data), step):
        found += cutter.feed(data[at : at + step])
    assert found == transfers
    assert cutter.buffered == 0


@pytest.mark.parametrize("size", [41, -1])
def test_a_size_that_cannot_be_breaks_the_stream(size: int) -> None:
    with pytest.raises(StreamBroken, match=f"{size} bytes at 7"):
        TransferCutter(40).feed(encode_header(7, size))
