"""What was counted, in the log: a line for each count with every minute, hour and day of the machine's time.

The logger is `mqgateway.stats`, which goes to `stats.log` where there is a folder for logs, and is off else.
Standard: `StatsItem.printAtMinutes`, `printAtHour`, `printAtDay`.
"""

from __future__ import annotations

import logging
from datetime import datetime

from mqgateway.engine.clock import Clock
from mqgateway.engine.steps import Steps, in_parts, run_for
from mqgateway.gateway.broker.stats import BrokerStats, Rate
from mqgateway.gateway.runtime.schedule import Schedule

log = logging.getLogger("mqgateway.stats")

PIECE_SECONDS = 0.002
"""How long the loop is held in one go."""
_LINES_A_STEP = 50
_MINUTE = 60_000
_WORDS = {"minute": "Minute", "hour": "Hour", "day": "Day"}


class StatsLog:
    """The lines of one broker; `start` once, they end with the schedule."""

    def __init__(self, stats: BrokerStats, clock: Clock, schedule: Schedule) -> None:
        self._stats = stats
        self._clock = clock
        self._schedule = schedule
        self._writing: Steps[None] | None = None

    def start(self) -> None:
        """Write with each full minute from now on."""
        self._schedule.later((_MINUTE - self._clock.millis() % _MINUTE) / 1000, self._minute)

    def _minute(self) -> None:
        self.start()
        if self._writing is None and log.isEnabledFor(logging.INFO):
            self._writing = write(self._stats, self._clock.millis())
            self._go_on()

    def _go_on(self) -> None:
        if self._writing is not None:
            if run_for(self._writing, self._clock, PIECE_SECONDS):
                self._writing = None
            else:
                self._schedule.later(0, self._go_on)


def spans_that_end(now: int) -> list[str]:
    """Which spans of counts are over at the full minute next to `now`, in ms since the epoch."""
    time = datetime.fromtimestamp((now + _MINUTE // 2) // _MINUTE * 60).astimezone()
    ends = {"minute": True, "hour": time.minute == 0, "day": time.minute == time.hour == 0}
    return [span for span, is_over in ends.items() if is_over]


def write(stats: BrokerStats, now: int) -> Steps[None]:
    """Log every count for the spans that end `now`, in steps."""
    for span in spans_that_end(now):
        for name in stats.names:
            for part in in_parts(list(stats.table(name).items()), _LINES_A_STEP):
                for key, count in part:
                    log.info("%s", line(name, key, _WORDS[span], getattr(count, span).rate()))
                yield


def line(name: str, key: str, span: str, rate: Rate) -> str:
    """One line in the standard's form, which others read."""
    return (
        f"[{name}] [{key}] Stats In One {span}, SUM: {rate.sum} TPS: {rate.tps:.2f} AVGPT: {rate.avgpt:.2f}"
    )
