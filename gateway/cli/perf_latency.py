"""Latency histogram of bounded size, exact to 1 %; pure.

Latencies are in seconds. Buckets grow by 1 % from 1 µs, so an hour needs about 2,200 of them.
"""

from __future__ import annotations

from math import ceil, log

_LEAST = 1e-6
_GROWTH = log(1.01)

PERCENTILES = (50.0, 95.0, 99.0, 99.9)


class Latencies:
    """Numbers of latencies by bucket."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self.count = 0
        self.total = 0.0
        self.most = 0.0

    def add(self, seconds: float, times: int = 1) -> None:
        """Count a latency `times` times."""
        bucket = ceil(log(max(seconds, _LEAST) / _LEAST) / _GROWTH)
        self._counts[bucket] = self._counts.get(bucket, 0) + times
        self.count += times
        self.total += seconds * times
        self.most = max(self.most, seconds)

    @property
    def mean(self) -> float:
        """Mean latency; 0 if empty."""
        return self.total / self.count if self.count else 0.0

    def percentile(self, percent: float) -> float:
        """Return the latency that `percent` % of all do not exceed; 0 if empty."""
        wanted = ceil(self.count * percent / 100)
        seen = 0
        for bucket in sorted(self._counts):
            seen += self._counts[bucket]
            if seen >= wanted:
                return min(_LEAST * 1.01**bucket, self.most)
        return 0.0

    def as_millis(self) -> dict[str, float]:
        """Return mean, percentiles and maximum in ms, as printed."""
        named = {f"p{percent:g}": self.percentile(percent) for percent in PERCENTILES}
        return {
            name: round(value * 1000, 3)
            for name, value in {"mean": self.mean, **named, "max": self.most}.items()
        }
