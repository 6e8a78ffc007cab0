"""Sampled rates and token buckets, compared with plain models of Kafka's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.gateway.kafka.quotas.rates import WINDOWS, SampledRate, TokenBucket

STEPS = st.lists(
    st.tuples(st.sampled_from((0, 1, 250, 999, 1000, 1001, 5000, 10_999, 11_000)), st.integers(-50, 5000)),
    min_size=1,
    max_size=40,
)
"""Times between two values, ms, and the values."""


class RingOfSamples:
    """Kafka's samples as it keeps them: a ring with one sample more than windows."""

    def __init__(self) -> None:
        self.samples: list[list[float]] = []  # start, last, value
        self.current = 0

    def record(self, value: float, now: int) -> None:
        if not self.samples:
            self.samples.append([now, now, 0.0])
        if now - self.samples[self.current][0] >= 1000:
            self.current = (self.current + 1) % (WINDOWS + 1)
            if self.current >= len(self.samples):
                self.samples.append([now, now, 0.0])
            else:
                self.samples[self.current] = [now, now, 0.0]
        sample = self.samples[self.current]
        sample[2] += value
        sample[1] = now

    def measure(self, now: int) -> tuple[float, int]:
        """Return the sum and the window, ms."""
        for number, sample in enumerate(self.samples):
            if now - sample[1] >= WINDOWS * 1000:
                self.samples[number] = [now, now, 0.0]
        elapsed = now - int(min(sample[0] for sample in self.samples))
        full = elapsed // 1000
        return sum(sample[2] for sample in self.samples), elapsed + max(0, WINDOWS - 1 - full) * 1000


@given(steps=STEPS)
def test_rates_are_those_of_kafkas_ring(steps: list[tuple[int, int]]) -> None:
    rate, model, now = SampledRate(), RingOfSamples(), 5_000_000
    for pause, value in steps:
        now += pause
        rate.record(value, now)
        model.record(value, now)
        total, window = model.measure(now)
        assert rate.window(now) == window
        assert rate.rate(now) == pytest.approx(total * 1000 / window)


def test_client_within_its_bound_is_not_throttled() -> None:
    rate = SampledRate()
    rate.record(10_000, 0)
    assert rate.rate(0) == 1000 and rate.excess_millis(1000, 0) == 0
    rate.record(1000, 0)
    assert rate.excess_millis(1000, 0) == 1000
    assert rate.excess_millis(500, 0) == 12_000


def test_values_expire() -> None:
    rate = SampledRate()
    rate.record(10_000, 0)
    assert rate.rate(10_999) > 0 and rate.rate(11_000) == 0
    rate.record(1, 30_000)
    assert rate.rate(30_000) == pytest.approx(0.1)


@given(steps=STEPS, rate=st.floats(0.1, 1000))
def test_tokens_come_at_the_rate_up_to_a_full_bucket(steps: list[tuple[int, int]], rate: float) -> None:
    now, burst = 0, rate * WINDOWS
    bucket, expected = TokenBucket(rate, now), burst
    for pause, count in steps:
        now += pause
        expected = min(burst, expected + rate * pause / 1000)
        assert bucket.tokens(rate, now) == pytest.approx(expected, abs=1e-6)
        tokens = bucket.tokens(rate, now)
        assert bucket.excess_millis(rate, now) == max(0, round(-tokens / rate * 1000))
        bucket.use(abs(count), rate, now)
        expected -= abs(count)


def test_bucket_lends_one_use() -> None:
    bucket = TokenBucket(1.0, 0)
    bucket.use(13, 1.0, 0)
    assert bucket.tokens(1.0, 0) == -2 and bucket.excess_millis(1.0, 0) == 2000
    assert bucket.excess_millis(1.0, 2000) == 0
