"""A stream's batches, told once each."""

from __future__ import annotations

from typing import Any

from mqgateway.engine.clock import ManualClock
from mqgateway.pipeline.jobs.progress import follow, line_of


def progress(number: int, rows: int) -> dict[str, Any]:
    return {
        "batchId": number,
        "numInputRows": rows,
        "processedRowsPerSecond": 12.3,
        "durationMs": {"triggerExecution": 40},
        "sources": [{"endOffset": '{"t":{"a":{"0":3}}}', "latestOffset": '{"t":{"a":{"0":8}}}'}],
    }


class Query:
    """A query that ends after some looks."""

    def __init__(self, *looks: list[dict[str, Any]]) -> None:
        self._looks = list(looks)
        self.recentProgress: list[dict[str, Any]] = []

    @property
    def status(self) -> dict[str, Any]:
        return {"message": "Initializing sources" if len(self.recentProgress) else "Getting offsets"}

    def awaitTermination(self, timeout: float) -> bool:
        self.recentProgress = self._looks.pop(0)
        return not self._looks


def test_a_line_says_rows_time_rate_and_lag() -> None:
    assert line_of(progress(4, 100)) == "batch 4: 100 rows in 40 ms, 12 rows/s, 5 messages behind"
    times = {"triggerExecution": 40, "addBatch": 30, "walCommit": 2, "commitOffsets": 1, "queryPlanning": 0}
    said = line_of({**progress(4, 100), "durationMs": times})
    assert said.endswith("5 messages behind (reading and writing 30 ms, checkpoint 3 ms)")
    assert line_of({"batchId": 0}) == "batch 0: 0 rows in 0 ms, 0 rows/s, 0 messages behind"


def test_batches_are_reported_once_and_added_up() -> None:
    lines: list[str] = []
    query = Query([progress(0, 5)], [progress(0, 5), progress(1, 7)], [progress(1, 7)])
    report = follow(query, "archive", lines.append, ManualClock())
    assert (report.rows, report.batches) == (12, 2)
    assert [line for line in lines if line.startswith("batch")] == lines[1:] and len(lines) == 3


def test_status_is_reported_until_the_first_batch() -> None:
    lines: list[str] = []
    query = Query([], [], [progress(0, 5)], [progress(0, 5)])
    follow(query, "archive", lines.append, ManualClock())
    assert lines[0] == "0.0 s: Getting offsets" and len(lines) == 2
