"""Figures of the timers by RocketMQ's keys."""

from __future__ import annotations

_KEYS = ("timerReadBehind", "timerOffsetBehind", "timerCongestNum", "timerEnqueueTps", "timerDequeueTps")
_PERIOD_SECONDS = 1


class TimerRates:
    """Timers enqueued and delivered a second, measured over the last second or longer."""

    def __init__(self) -> None:
        self._began = 0.0
        self._counts = (0, 0)
        self.enqueued = self.delivered = 0.0

    def note(self, elapsed: float, enqueued: int, delivered: int) -> None:
        """Note the numbers since the start at a monotonic time, in seconds."""
        passed = elapsed - self._began
        if passed >= _PERIOD_SECONDS:
            self.enqueued = (enqueued - self._counts[0]) / passed
            self.delivered = (delivered - self._counts[1]) / passed
            self._counts, self._began = (enqueued, delivered), elapsed


def timer_figures(lag_seconds: int, offset_lag: int, pending: int, rates: TimerRates) -> dict[str, str]:
    """Return the figures of loaded timers. RocketMQ: `AdminBrokerProcessor.prepareRuntimeInfo`.

    `lag_seconds` is the time by which deliveries are late, `offset_lag` the number of messages of the timer
    topic that are not in the wheel yet.
    """
    values = lag_seconds, offset_lag, pending, rates.enqueued, rates.delivered
    return {key: str(value) for key, value in zip(_KEYS, values, strict=True)}


def no_timer_figures() -> dict[str, str]:
    """Return the figures of timers that are not loaded."""
    return dict.fromkeys(_KEYS, "0")
