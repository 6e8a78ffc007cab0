"""Units and times in the reports of the store commands."""

import pytest

from mqgateway.gateway.cli.store_reports import in_bytes, in_time


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (3 << 40, "3.0 TiB")]
)
def test_bytes_are_printed_in_readable_units(count: int, text: str) -> None:
    assert in_bytes(count) == text


def test_times_are_printed_as_iso_8601() -> None:
    assert in_time(0) == "1970-01-01T00:00:00.000+00:00"
    assert in_time(None) == "-"
