"""The time that a group begins at."""

from __future__ import annotations

import pytest

from mqgateway.gateway.client.begin_times import begin_time, checked_time
from mqgateway.gateway.client.errors import BadArgument
from mqgateway.gateway.client.options import ConsumerOptions


def test_times_are_checked() -> None:
    assert checked_time("20240131123000") == "20240131123000" and checked_time("") == ""
    with pytest.raises(BadArgument):
        checked_time("soon")


def test_group_begins_at_the_configured_time_or_half_an_hour_before_the_start() -> None:
    assert begin_time(ConsumerOptions(), 10_000_000) == 8_200_000
    chosen = ConsumerOptions(consume_timestamp="20240131123000")
    assert begin_time(chosen, 0) % 1_800_000 == 0 and begin_time(chosen, 0) > 1_700_000_000_000
