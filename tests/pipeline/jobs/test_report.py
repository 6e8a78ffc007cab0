"""Reports of jobs."""

from __future__ import annotations

import json

from mqgateway.pipeline.jobs.report import Report, lag_of


def test_a_report_is_one_line_of_json() -> None:
    report = Report("archive", rows=10, batches=2, seconds=4.0, details={"target": "/x"})
    document = json.loads(report.as_json())
    assert document["rowsPerSecond"] == 2.5 and document["details"] == {"target": "/x"}
    assert "\n" not in report.as_json() and Report("x").rows_per_second == 0.0


def test_the_lag_is_what_lies_between() -> None:
    latest = {"t": {"a": {"0": 10, "1": 4}}, "u": {"a": {"0": 3}}}
    assert lag_of({"t": {"a": {"0": 7, "1": 9}}}, latest) == 3 + 0 + 3
    assert lag_of(None, latest) == 17 and lag_of({}, None) == 0
