"""Log of statistics: a line for each count at every full minute, hour and day of the machine's time.

The logger is `mqgateway.stats`. It writes to `stats.log` if a folder for logs is set, and is off otherwise.
RocketMQ: `StatsItem.printAtMinutes`, `printAtHour`, `printAtDay`.
"""

from __future__ import annotations

import logging
from datetime import datetime

from mqgateway.engine.clock import Clock
from mqgateway.engine.steps import Steps, in_parts, run_for
from mqgateway.gateway.broker.stats import BrokerStats, Rate
from mqgateway.gateway.runtime.schedule import Schedule

log = logging.getLogger("mqgateway.stats")

SLICE_SECONDS = 0.002
"""Time the writing may hold the event loop."""
_LINES_A_STEP = 50
_MINUTE = 60_000
_WORDS = {"minute": "Minute", "hour": "Hour", "day": "Day"}


class StatsLog:
    """Statistics log of one broker; `start` it once, it ends with the schedule."""

    def __init__(self, stats: BrokerStats, clock: Clock, schedule: Schedule) -> None:
        self._stats = stats
        self._clock = clock
        self._schedule = schedule
        self._writing: Steps[None] | None = None

    def start(self) -> None:
        """Log at each full minute from now on."""
        self._schedule.later((_MINUTE - self._clock.millis() % _MINUTE) / 1000, self._minute)

    def _minute(self) -> None:
        self.start()
        if self._writing is None and log.isEnabledFor(logging.INFO):
            self._writing = write(self._stats, self._clock.millis())
            self._continue()

    def _continue(self) -> None:
        if self._writing is not None:
            if run_for(self._writing, self._clock, SLICE_SECONDS):
                self._writing = None
            else:
                self._schedule.later(0, self._continue)


def spans_that_end(now: int) -> list[str]:
    """Return the spans of counts that end at the full minute nearest to `now`, in ms since the epoch."""
    time = datetime.fromtimestamp((now + _MINUTE // 2) // _MINUTE * 60).astimezone()
    ends = {"minute": True, "hour": time.minute == 0, "day": time.minute == time.hour == 0}
    return [span for span, is_over in ends.items() if is_over]


def write(stats: BrokerStats, now: int) -> Steps[None]:
    """Log every count for the spans that end at `now`, in a cooperative task."""
    for span in spans_that_end(now):
        for name in stats.names:
            for part in in_parts(list(stats.table(name).items()), _LINES_A_STEP):
                for key, count in part:
                    log.info("%s", line(name, key, _WORDS[span], getattr(count, span).rate()))
                yield


def line(name: str, key: str, span: str, rate: Rate) -> str:
    """Return one line in RocketMQ's form, which other tools parse."""
    return (
        f"[{name}] [{key}] Stats In One {span}, SUM: {rate.sum} TPS: {rate.tps:.2f} AVGPT: {rate.avgpt:.2f}"
    )
