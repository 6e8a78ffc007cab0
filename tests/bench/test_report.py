"""Medians, ratios and their text on the page."""

from dataclasses import replace

from bench.arrangements import Arrangement
from bench.report import Comparison, Sample, arrangement_section, cells, falls, line, section, shortfalls
from bench.rows import choose


def measured(name: str, ours: list[Sample], apache: list[Sample]) -> Comparison:
    """Return a row with these runs."""
    return Comparison(choose((name,))[0], ours, apache, "a machine", "2026-01-02", "abc1234")


def rate(*figures: float, failed: int = 0) -> list[Sample]:
    """Return runs with these rates."""
    return [Sample(figure, 50.0, 70.0, failed) for figure in figures]


def test_a_cell_has_both_medians_and_their_ratio() -> None:
    one = measured("sync-1", rate(1, 3000, 9), rate(4, 1, 9999))
    assert cells(one, "per_second", "{:,.0f}") == "9 / 4 = 2.25"
    assert cells(one, "p50_us", "{:,.0f}") == "-"


def test_row_short_of_its_aim_is_named() -> None:
    one = measured("sync-1", rate(1100), [Sample(1000, 80.0, 1000.0)])
    assert shortfalls([one]) == [
        "sync send, 1 thread, 1 KB: throughput 1.10, aimed at 1.3 or more; CPU 0.62, aimed at 0.5 or less."
    ]


def test_a_compiled_server_has_aims_of_its_own() -> None:
    one = measured("sync-1", rate(1400), [Sample(1000, 200.0, 1000.0)])
    assert shortfalls([one]) == []
    one.is_compiled = True
    assert shortfalls([one]) == ["sync send, 1 thread, 1 KB: throughput 1.40, aimed at 1.5 or more."]


def test_arrangements_stand_side_by_side() -> None:
    apart, lone = measured("async", rate(2000), rate(1000)), measured("sync-1", rate(1), rate(1))
    pinned = measured("async", rate(1500), rate(1000))
    pinned.row = replace(pinned.row, arrangement=Arrangement.PINNED)
    text = "\n".join(arrangement_section([apart, lone, pinned]))
    assert (
        "| async send, 1 KB | - | 2,000 / 1,000 = 2.00 | 1,500 / 1,000 = 1.50 | -/1/1 | 2026-01-02 abc1234 |"
    ) in text
    assert "1 thread" not in text


def test_row_that_reaches_its_aim_is_not_named() -> None:
    assert shortfalls([measured("sync-1", rate(1300), [Sample(1000, 200.0, 1000.0)])]) == []


def test_failures_are_named_even_where_all_is_reached() -> None:
    one = measured("sync-1", rate(1300, failed=2), [Sample(1000, 200.0, 1000.0)])
    assert shortfalls([one]) == ["sync send, 1 thread, 1 KB: 2 failed."]
    assert line(one, "ours").endswith("2 FAILED")


def test_servers_at_rest_are_judged_by_their_share_of_a_core() -> None:
    rest = [Sample(cpu_percent=0.5, resident_mb=60.0)], [Sample(cpu_percent=10.0, resident_mb=600.0)]
    assert shortfalls([measured("rest", *rest)]) == ["nothing to do: CPU 0.05, aimed at 0.03 or less."]


def test_falls_compare_rows_of_one_server() -> None:
    both = [
        measured("topics-64", rate(1000), rate(2000)),
        measured("topics-256", rate(950), rate(2200)),
    ]
    assert falls(both) == ["From topics-64 to topics-256: ours -5%, apache +10%; may fall by 5%."]
    assert falls(both[:1]) == []
    signed = [measured("async", rate(1000), rate(2000)), measured("async-signed", rate(900), rate(1700))]
    assert falls(signed) == ["From async to async-signed: ours -10%, apache -15%; may fall as Apache's does."]


def test_section_reports_when_each_row_was_measured() -> None:
    work = measured("async", rate(2000), rate(1000))
    rest = measured("rest", [Sample(cpu_percent=0.1)], [Sample(cpu_percent=10.0)])
    text = "\n".join(section("Messages", [work, rest], {"ours": 1.0, "apache": 7.0}))
    assert "| async send, 1 KB | 2,000 / 1,000 = 2.00 |" in text
    assert "| 1 | 2026-01-02 abc1234 |" in text
    assert "| nothing to do | 0.10 / 10.00 = 0.01 | - | 1 |" in text
    assert "Start to ready: ours 1.00 s, Apache's 7.00 s." in text
    assert "2.00 ████████████████████" in text
