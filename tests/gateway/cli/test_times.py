"""Times as our own commands print and read them."""

from datetime import UTC

import pytest

from mqgateway.gateway.cli.times import iso, millis_of_iso


def test_printed_time_reads_back_as_the_same_instant() -> None:
    assert iso(1_700_000_000_123, UTC) == "2023-11-14T22:13:20.123+00:00"
    assert millis_of_iso(iso(1_700_000_000_123)) == 1_700_000_000_123
    with pytest.raises(ValueError):
        millis_of_iso("yesterday")
