"""Numbers of records that are delivered together when they fail again and again."""

from __future__ import annotations

import pytest

from mqgateway.gateway.kafka.share_partitions.settings import delivered_together, throttled_from


@pytest.mark.parametrize(("limit", "least"), [(2, 2), (3, 2), (5, 3), (10, 5)])
def test_throttling_begins_at_half_the_limit(limit: int, least: int) -> None:
    assert throttled_from(limit) == least


@pytest.mark.parametrize(
    ("count", "limit", "together"), [(2, 5, 100), (3, 5, 50), (4, 5, 1), (5, 10, 50), (8, 10, 6), (1, 2, 100)]
)
def test_records_come_in_smaller_numbers(count: int, limit: int, together: int) -> None:
    assert delivered_together(count, 100, limit) == together
