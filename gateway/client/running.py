"""Consumer statistics by topic: rates a second and mean times over the last minute; no I/O.

`tick` is called every 10 s and keeps a sample. Failures are counted over an hour.
RocketMQ: `ConsumerStatsManager`, `StatsItem`.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from mqgateway.gateway.codec.bodies import ConsumeStatus

TICK_SECONDS = 10.0
MINUTE_MILLIS = 60_000
HOUR_MILLIS = 3_600_000


class _Sums(NamedTuple):
    """Sums since the start; `at` in ms."""

    at: int
    pulls: int = 0
    pull_millis: int = 0
    pulled: int = 0
    calls: int = 0
    call_millis: int = 0
    done: int = 0
    failed: int = 0


class _Topic:
    def __init__(self, now: int) -> None:
        self.sums = _Sums(now)
        self.samples: deque[_Sums] = deque([self.sums])


class ConsumerStats:
    """Sums and samples of one group."""

    def __init__(self) -> None:
        self._topics: dict[str, _Topic] = {}

    def pulled(self, topic: str, millis: int, count: int, now: int) -> None:
        """Record a pull that took `millis` and returned `count` messages."""
        known = self._of(topic, now)
        sums = known.sums
        known.sums = sums._replace(
            pulls=sums.pulls + 1, pull_millis=sums.pull_millis + millis, pulled=sums.pulled + count
        )

    def consumed(self, topic: str, millis: int, done: int, failed: int, now: int) -> None:
        """Record a listener call that took `millis`, with its consumed and failed messages."""
        known = self._of(topic, now)
        sums = known.sums
        known.sums = sums._replace(
            calls=sums.calls + 1,
            call_millis=sums.call_millis + millis,
            done=sums.done + done,
            failed=sums.failed + failed,
        )

    def tick(self, now: int) -> None:
        """Keep a sample and drop those older than an hour."""
        for known in self._topics.values():
            known.samples.append(known.sums._replace(at=now))
            while len(known.samples) > 2 and known.samples[1].at <= now - HOUR_MILLIS:
                known.samples.popleft()

    def status(self, topic: str, now: int) -> ConsumeStatus:
        """Return the statistics of a topic for administrators."""
        known = self._topics.get(topic)
        if known is None:
            return ConsumeStatus()
        last = known.sums
        first = next(
            (one for one in reversed(known.samples) if one.at <= now - MINUTE_MILLIS), known.samples[0]
        )
        seconds = max(1, now - first.at) / 1000
        return ConsumeStatus(
            pull_rt=_mean(last.pull_millis - first.pull_millis, last.pulls - first.pulls),
            pull_tps=(last.pulled - first.pulled) / seconds,
            consume_rt=_mean(last.call_millis - first.call_millis, last.calls - first.calls),
            consume_ok_tps=(last.done - first.done) / seconds,
            consume_failed_tps=(last.failed - first.failed) / seconds,
            consume_failed_msgs=last.failed - known.samples[0].failed,
        )

    def _of(self, topic: str, now: int) -> _Topic:
        known = self._topics.get(topic)
        if known is None:
            known = self._topics[topic] = _Topic(now)
        return known


def _mean(total: int, count: int) -> float:
    return total / count if count else 0.0
