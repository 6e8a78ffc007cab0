"""What waits in the timers of a store, for people to look at: from the files alone, running or not.

`survey` gives a table that prints as JSON; `mqgateway store timers` and other tools show it.
"""

from __future__ import annotations

from typing import Any

from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import StoreError
from mqgateway.engine.timers.checkpoint import TimerCheckpoint
from mqgateway.engine.timers.metrics import TimerMetrics
from mqgateway.engine.timers.timer_log import TimerLog
from mqgateway.engine.timers.wheel import SLOTS, Wheel

WITHIN = (5, 60, 300, 900, 3600, 14400, 28800, 86400)
"""Seconds by which pending timers are told apart. Standard: `TimerMetrics.timerDist`."""


def survey(
    disk: Disk,
    root: str,
    now: int,
    *,
    precision: int = 1000,
    log_file_size: int = 100 * 1024**2,
    limit: int = 20,
    slots: int = SLOTS,
) -> dict[str, Any]:
    """Pending timers of the store in a folder: how many, of which topics, within which time, next and last.

    Times are ms since the epoch. `precision` (ms) is believed only where the store does not say; `limit` is
    the number of next slots told. Raises `StoreError` where there are none, and `OSError`.
    """
    checkpoint = TimerCheckpoint(disk, f"{root}/config/timercheck")
    wheel = Wheel(disk, f"{root}/timerwheel", precision, slots)
    for path in (f"{root}/timerwheel", f"{root}/config/timercheck"):
        if not disk.exists(path):
            raise StoreError(f"{root} holds no timers: there is no {path}")
    checkpoint.load(create=False)
    wheel.precision = checkpoint.precision or precision
    wheel.open(create=False)
    metrics = TimerMetrics(disk, f"{root}/config/timermetrics")
    metrics.load()
    log = TimerLog(disk, f"{root}/timerlog", log_file_size)
    log.load(repair=False)
    within = dict.fromkeys((*map(str, WITHIN), "later"), 0)
    pending = overdue = last = 0
    coming: list[dict[str, int]] = []
    begin = checkpoint.read_time
    for slot in wheel.used(begin, begin + wheel.slots * wheel.precision):
        pending += slot.total
        last = slot.time + wheel.precision
        if last <= now:
            overdue += slot.total
        seconds = (last - now) / 1000
        within[next((str(most) for most in WITHIN if seconds <= most), "later")] += slot.total
        if len(coming) < limit:
            coming.append({"time": last, "timers": slot.total})
    return {
        "precisionMs": wheel.precision,
        "checkpoint": {
            "readTime": checkpoint.read_time,
            "logPosition": checkpoint.log_position,
            "queueOffset": checkpoint.queue_offset,
            "masterQueueOffset": checkpoint.master_queue_offset,
            "dataVersion": checkpoint.data_version.to_json(),
            "stable": None if checkpoint.stable is None else checkpoint.stable._asdict(),
        },
        "pending": pending,
        "overdue": overdue,
        "topics": metrics.counts(),
        "withinSeconds": within,
        "next": coming,
        "last": last,
        "log": {"files": len(log.files.starts), "begin": log.begin, "end": checkpoint.log_position},
    }
