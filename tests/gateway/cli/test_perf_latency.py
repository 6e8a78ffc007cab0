"""Latencies are kept in little room, and are right to one part in a hundred."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqgateway.gateway.cli.perf_latency import Latencies


@given(st.lists(st.floats(1e-5, 100.0), min_size=1, max_size=200), st.sampled_from([50.0, 95.0, 99.0, 99.9]))
@settings(max_examples=60, deadline=None)
def test_percentiles_are_near(values: list[float], percent: float) -> None:
    latencies = Latencies()
    for value in values:
        latencies.add(value)
    place = -(-len(values) * percent // 100)
    exact = sorted(values)[int(place) - 1]
    assert latencies.percentile(percent) == pytest.approx(exact, rel=0.011)
    assert latencies.most == max(values) and latencies.mean == pytest.approx(sum(values) / len(values))


def test_printed_in_milliseconds() -> None:
    latencies = Latencies()
    assert set(latencies.as_millis().values()) == {0.0}
    for number in range(1, 1001):
        latencies.add(number / 1000)
    shown = latencies.as_millis()
    assert list(shown) == ["mean", "p50", "p95", "p99", "p99.9", "max"]
    assert shown["max"] == 1000.0 and shown["mean"] == 500.5
    assert shown["p50"] == pytest.approx(500, rel=0.011)


def test_nothing_is_shorter_than_a_microsecond() -> None:
    latencies = Latencies()
    latencies.add(0.0)
    assert latencies.percentile(50) == 0.0
