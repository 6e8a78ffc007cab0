"""Rates as Kafka measures them. Times in ms, steady. Kafka: `Rate`, `SampledStat`, `TokenBucket`."""

from __future__ import annotations

from collections import deque
from typing import Final

WINDOWS: Final = 11
"""Windows of a rate: ten whole ones and the current one (`quota.window.num`)."""
WINDOW_MILLIS: Final = 1000
"""`quota.window.size.seconds`."""
_EXPIRY_MILLIS: Final = WINDOWS * WINDOW_MILLIS


class _Sample:
    """The values recorded in one window."""

    __slots__ = ("last", "start", "value")

    def __init__(self, start: int) -> None:
        self.start = self.last = start
        self.value = 0.0


class SampledRate:
    """A rate a second, over the last windows. A window begins with the first value after the one before."""

    __slots__ = ("_samples",)

    def __init__(self) -> None:
        self._samples: deque[_Sample] = deque()

    def record(self, value: float, now: int) -> None:
        """Add a value; negative ones take back."""
        samples = self._samples
        while samples and now - samples[0].last >= _EXPIRY_MILLIS:
            samples.popleft()
        if not samples or now - samples[-1].start >= WINDOW_MILLIS:
            samples.append(_Sample(now))
        samples[-1].value += value
        samples[-1].last = now

    def rate(self, now: int) -> float:
        """Return the rate."""
        total = sum(one.value for one in self._samples if now - one.last < _EXPIRY_MILLIS)
        return total * 1000 / self.window(now)

    def window(self, now: int) -> int:
        """Return the time that the rate is over, ms: at least ten windows."""
        oldest = next((one.start for one in self._samples if now - one.last < _EXPIRY_MILLIS), now)
        elapsed = now - oldest
        missing = max(0, WINDOWS - 1 - elapsed // WINDOW_MILLIS)
        return elapsed + missing * WINDOW_MILLIS

    def excess_millis(self, bound: float, now: int) -> int:
        """Return the time after which the rate is within the bound again, if nothing is added."""
        rate = self.rate(now)
        return 0 if rate <= bound else round((rate - bound) / bound * self.window(now))


class TokenBucket:
    """Tokens that come at a rate and are used up; a full bucket holds those of all windows.

    The number of tokens may fall below zero by one use. A new bucket is full.
    """

    __slots__ = ("_filled_at", "_tokens")

    def __init__(self, rate: float, now: int) -> None:
        self._tokens = _burst(rate)
        self._filled_at = now

    def tokens(self, rate: float, now: int) -> float:
        """Return the number of tokens."""
        self._tokens = min(_burst(rate), self._tokens + rate * (now - self._filled_at) / 1000)
        self._filled_at = now
        return self._tokens

    def use(self, count: float, rate: float, now: int) -> None:
        """Take tokens, whether there are so many or not."""
        self._tokens = self.tokens(rate, now) - count

    def excess_millis(self, rate: float, now: int) -> int:
        """Return the time after which there are tokens again."""
        tokens = self.tokens(rate, now)
        return 0 if tokens >= 0 else round(-tokens / rate * 1000)


def _burst(rate: float) -> float:
    """Return the number of tokens of a full bucket."""
    return rate * WINDOWS * WINDOW_MILLIS / 1000
