"""Costs of each object of a broker, computed from the rows of its measured steps."""

from pathlib import Path

from bench.scale_broker import connections_model, connections_of, model
from bench.scale_part import Finding, Plan


def found(what: str, megabytes: float, start: float, percent: float = 0.0) -> Finding:
    figures = {"resident_mb": megabytes, "start_cpu_seconds": start, "cpu_percent": percent}
    return Finding("broker", "ours", what, figures)


def test_each_thing_costs_the_difference_to_the_row_before() -> None:
    findings = [
        found("an empty store", 80, 1),
        found("1,000 topics with a queue", 82, 1.1),
        found("10 timers that wait", 81, 1.0),
        found("the same, not stopped in order", 200, 9),
    ]
    assert model(findings[:1]) == []
    lines = model(findings)
    assert lines[-2:] == [
        "- topics with a queue: 2,000 bytes and 100.0 µs of a start each.",
        "- timers that wait: 0 bytes and 0.0 µs of a start each.",
    ]


def test_a_connection_costs_what_all_of_them_do() -> None:
    findings = [found("no connections", 80, 1, 0.2), found("10,000 connections", 120, 1, 3.2)]
    assert connections_model(findings[:1]) == []
    assert connections_model(findings)[0].startswith("A connection costs 4.0 KB, a thousand of them 0.30 %")


def test_there_are_no_more_connections_than_files_leave_room_for(tmp_path: Path) -> None:
    few, many = (connections_of(Plan(scale, False, tmp_path, print)) for scale in (0.001, 1000.0))
    assert few == 20 and few < many <= 20_000_000
