"""Delivery counts from which on deliveries are limited."""

from __future__ import annotations

import pytest

from mqgateway.gateway.kafka.share_partitions.settings import is_last_attempt, throttled_from


@pytest.mark.parametrize(("limit", "least"), [(2, 2), (3, 2), (5, 3), (10, 5)])
def test_throttling_begins_at_half_the_limit(limit: int, least: int) -> None:
    assert throttled_from(limit) == least


@pytest.mark.parametrize(
    ("deliveries", "limit", "is_last"),
    [(3, 5, False), (4, 5, True), (6, 5, True), (1, 2, False), (2, 3, True)],
)
def test_last_attempts_are_counted_by_the_limit(deliveries: int, limit: int, is_last: bool) -> None:
    assert is_last_attempt(deliveries, limit) is is_last
