"""Progress of a stream: Spark's status until the first micro-batch is done, then a line a micro-batch with
rows, rate, lag and times, and the sum of all."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

from mqgateway.engine.clock import Clock, SystemClock
from mqgateway.pipeline.jobs.report import Report, lag_of

POLL_SECONDS = 0.5
STEPS = {
    "reading and writing": ("addBatch",),
    "asking for offsets": ("latestOffset", "getBatch"),
    "planning": ("queryPlanning",),
    "checkpoint": ("walCommit", "commitOffsets", "commitBatch"),
}
"""Steps of a micro-batch, each with Spark's names for its times."""

Notify = Callable[[str], None]


def to_stderr(line: str) -> None:
    """Print a line of progress to standard error, the default."""
    print(line, file=sys.stderr, flush=True)


def line_of(progress: Mapping[str, Any]) -> str:
    """Return the line of one micro-batch."""
    source = progress["sources"][0] if progress.get("sources") else {}
    lag = lag_of(_tree(source.get("endOffset")), _tree(source.get("latestOffset")))
    times = progress.get("durationMs") or {}
    millis = times.get("triggerExecution", 0)
    rate = progress.get("processedRowsPerSecond") or 0.0
    return (
        f"batch {progress['batchId']}: {progress.get('numInputRows', 0)} rows in {millis} ms, "
        f"{rate:.0f} rows/s, {lag} messages behind{_steps(times)}"
    )


def follow(query: Any, job: str, notify: Notify = to_stderr, clock: Clock | None = None) -> Report:
    """Wait for the end of a streaming query, reporting each micro-batch once. Raises the query's errors."""
    clock = clock or SystemClock()
    begin, seen, report = clock.monotonic(), -1, Report(job)
    ended, doing = False, ""
    while not ended:
        if seen < 0 and (now := query.status["message"]) != doing:
            doing = now
            notify(f"{clock.monotonic() - begin:.1f} s: {doing}")
        ended = query.awaitTermination(POLL_SECONDS)
        for one in query.recentProgress:
            progress = json.loads(one.json) if hasattr(one, "json") else dict(one)
            if progress["batchId"] > seen:
                seen = progress["batchId"]
                report.rows += progress.get("numInputRows", 0)
                report.batches += 1
                notify(line_of(progress))
    report.seconds = clock.monotonic() - begin
    return report


def _steps(times: Mapping[str, int]) -> str:
    sums = {step: sum(times.get(name, 0) for name in names) for step, names in STEPS.items()}
    listed = ", ".join(f"{step} {millis} ms" for step, millis in sums.items() if millis)
    return f" ({listed})" if listed else ""


def _tree(offset: Any) -> Mapping[str, Any] | None:
    parsed = json.loads(offset) if isinstance(offset, str) else offset
    return parsed if isinstance(parsed, dict) else None
