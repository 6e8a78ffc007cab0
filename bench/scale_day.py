"""The part `day` of `bench.scale`: a day of mixed load compressed into minutes, and the growth in it.

Files are small, so that they fill up and are removed all the time; their times make them look old to the
broker. Memory, open files, threads and latency are sampled, and their slope over the second half counts.
"""

import os
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.scale_load import LoadProcess, beside, open_files
from bench.scale_part import Column, Finding, Part, Plan
from compat_tests.support.processes import free_ports
from compat_tests.support.servers import HOST, our_serve

SECONDS = 420.0
SAMPLE_SECONDS = 5.0
ROWS = 7
"""Rows of the table before the slopes."""
AGED_AFTER_SECONDS = 20.0
"""Age from which a log file is made to look old: longer than the longest timer."""
AGED_HOURS = 2
HOURS = ";".join(f"{hour:02d}" for hour in range(24))
SETTINGS = {
    "mappedFileSizeCommitLog": str(4 << 20),
    "mappedFileSizeConsumeQueue": str(20 * 1000),
    "mappedFileSizeTimerLog": str(52 * 1000),
    "maxHashSlotNum": "5000",
    "maxIndexNum": "20000",
    "fileReservedTime": "1",
    "deleteWhen": HOURS,
    "cleanResourceInterval": "1000",
    "deleteCommitLogFilesInterval": "1",
    "maxOpenFiles": "64",
}
NOISE = 3.0
"""Standard errors by which a flat slope may differ from zero."""
TOLERANCE = 0.05
"""Share of the mean that a figure may grow by over the second half even if its slope is significant."""
WATCHED = ("resident_mb", "files", "threads", "p50_ms", "p99_ms", "log_files", "queue_folders")

LEAD = (
    "Name server and broker in one process, small files (4 MiB of log, 1,000 units of a queue), which are",
    "removed after 20 s. Beside it a Python client process that sends plain messages, batches, delays,",
    "timers and transactions, consumes by push and POP, makes a topic, sends to it and deletes it each",
    "0.25 s, lets a producer come and go each second and a consumer with a group of its own each 3 s. Sends",
    "of one more connection, each 10 ms, are timed. Slopes are of least squares over the second half.",
)
COLUMNS = (
    Column("resident_mb", "resident MB", "{:,.1f}"),
    Column("files", "open files", "{:,.1f}"),
    Column("threads", "threads", "{:,.1f}"),
    Column("p50_ms", "send p50 ms", "{:,.2f}"),
    Column("p99_ms", "p99 ms", "{:,.1f}"),
    Column("cpu_percent", "% of a core", "{:,.0f}"),
    Column("log_files", "log files", "{:,.1f}"),
    Column("queue_folders", "queues on disk", "{:,.1f}"),
    Column("sent_count", "sent", "{:,.0f}"),
    Column("consumed_count", "consumed", "{:,.0f}"),
    Column("topics_count", "topics made and deleted", "{:,.0f}"),
    Column("clients_count", "clients that came and went", "{:,.0f}"),
    Column("failed_count", "failed", "{:,.0f}"),
)


@dataclass(frozen=True)
class Slope:
    """Trend of a figure over time: `per_minute`, within `error` (one standard error), about `mean`."""

    per_minute: float
    error: float
    mean: float
    minutes: float

    @property
    def is_flat(self) -> bool:
        """True if it is zero within noise, or adds little over the sampled time."""
        grown = abs(self.per_minute) * self.minutes
        return abs(self.per_minute) <= NOISE * self.error or grown <= TOLERANCE * abs(self.mean)


def slope(times: Sequence[float], values: Sequence[float]) -> Slope:
    """Return the slope of values over times (in seconds), by least squares. Needs at least three of each."""
    minutes = [one / 60 for one in times]
    fitted = statistics.linear_regression(minutes, values)
    residuals = [
        value - fitted.intercept - fitted.slope * at for at, value in zip(minutes, values, strict=True)
    ]
    middle = statistics.fmean(minutes)
    spread = sum((at - middle) ** 2 for at in minutes)
    error = (sum(one**2 for one in residuals) / (len(minutes) - 2) / spread) ** 0.5
    return Slope(fitted.slope, error, statistics.fmean(values), minutes[-1] - minutes[0])


def measure(plan: Plan) -> Iterator[Finding]:
    """Yield a row for each part of the time, then the slopes."""
    seconds = max(SECONDS * plan.scale, ROWS * SAMPLE_SECONDS)
    samples = list(sampled(plan, seconds))
    size = -(-len(samples) // ROWS)
    for first in range(0, len(samples), size):
        some = samples[first : first + size]
        figures = {
            name: (sum if name.endswith("_count") else statistics.fmean)(one.get(name, 0.0) for one in some)
            for name in (column.name for column in COLUMNS)
        }
        until = some[-1]["at"]
        yield Finding("day", "ours", f"until {until:.0f} s", figures)
    half = samples[len(samples) // 2 :]
    found = {name: slope([one["at"] for one in half], [one[name] for one in half]) for name in WATCHED}
    for what, of in (
        ("slope of the second half, a minute", lambda one: one.per_minute),
        ("its standard error", lambda one: one.error),
        ("flat (1) or not (0)", lambda one: float(one.is_flat)),
    ):
        yield Finding("day", "ours", what, {name: of(one) for name, one in found.items()})


def sampled(plan: Plan, seconds: float) -> Iterator[dict[str, float]]:
    """Yield figures every few seconds."""
    namesrv, port = free_ports(), free_ports((-2, 0, 1))
    folder = plan.work / "day"
    server = our_serve(folder, namesrv, port, SETTINGS)
    server.start()
    try:
        process = psutil.Process(server.pid)
        with LoadProcess("bench.scale_mixed", f"{HOST}:{namesrv}", port) as load:
            load.do("start")
            began = time.monotonic()
            while time.monotonic() - began < seconds:
                figures = beside([server.pid], lambda: load.do("watch", seconds=SAMPLE_SECONDS))
                figures["at"] = time.monotonic() - began
                figures["files"], figures["threads"] = open_files(server.pid), process.num_threads()
                figures["log_files"] = age_files(folder / "store" / "commitlog")
                figures["queue_folders"] = len(list((folder / "store" / "consumequeue").glob("*/*")))
                line = " ".join(f"{name} {figures[name]:.1f}" for name in WATCHED)
                plan.notify(f"{figures['at']:.0f} s: {line}")
                yield figures
    finally:
        server.stop()


def age_files(folder: Path) -> int:
    """Make files that were not written for a while look old; return the number of files."""
    now = time.time()
    files = list(folder.iterdir())
    for file in files:
        try:
            if AGED_AFTER_SECONDS < now - file.stat().st_mtime < AGED_HOURS * 3600:
                os.utime(file, (now - 2 * AGED_HOURS * 3600,) * 2)
        except FileNotFoundError:
            continue  # the broker was quicker
    return len(files)


PART = Part("day", "A day of load, compressed", LEAD, COLUMNS, measure)
