"""Since when offsets of groups have not moved."""

from __future__ import annotations

import pytest

from mqgateway.gateway.web import movements
from mqgateway.gateway.web.movements import Movements

KEY = ("broker-b", "G")


def test_time_counts_from_the_first_sample_with_lag_and_the_same_offsets() -> None:
    seen = Movements()
    assert seen.idle_millis(KEY, 1000, 5, 10) == 0
    assert seen.idle_millis(KEY, 61_000, 7, 10) == 60_000
    assert seen.idle_millis(KEY, 62_000, 6, 11) == 0
    assert seen.idle_millis(("broker-c", "G"), 63_000, 6, 11) == 0
    assert seen.idle_millis(KEY, 63_000, 6, 11) == 1000


@pytest.mark.parametrize("lags", [(0, 5), (5, 0)])
def test_group_without_lag_in_one_of_two_samples_has_not_waited(lags: tuple[int, int]) -> None:
    seen = Movements()
    seen.idle_millis(KEY, 1000, lags[0], 10)
    assert seen.idle_millis(KEY, 9000, lags[1], 10) == 0


def test_evicts_the_group_that_was_seen_least_recently(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(movements, "SEEN_MAX", 2)
    seen = Movements()
    first, second, third = (("b", name) for name in "FST")
    for now, key in enumerate((first, second, first, third)):
        seen.idle_millis(key, now, 5, 10)
    assert seen.idle_millis(first, 10, 5, 10) == 10
    assert seen.idle_millis(second, 10, 5, 10) == 0
