"""Results of several runs come together in one file."""

from dataclasses import replace
from pathlib import Path

from bench.arrangements import Arrangement
from bench.report import Comparison, Sample
from bench.results import Results, Starts, load_results, save_results
from bench.rows import choose


def comparison(
    name: str,
    rate: float,
    *,
    date: str = "2026-01-02",
    is_compiled: bool = False,
    arrangement: Arrangement = Arrangement.APART,
) -> Comparison:
    """Return one run of a row on each server."""
    row = replace(choose((name,))[0], arrangement=arrangement)
    ours, apache = Sample(rate, 50.0, 70.0, 0, 300.0, 900.0), Sample(1000.0, 100.0, 1000.0)
    return Comparison(row, [ours], [apache], "a machine", date, "abc1234", is_compiled)


def test_a_file_that_is_not_there_has_no_results(tmp_path: Path) -> None:
    assert load_results(tmp_path / "none.json") == Results()


def test_saved_results_are_loaded(tmp_path: Path) -> None:
    results = Results()
    for one in (comparison("async", 1500.0), comparison("async", 2500.0, is_compiled=True)):
        results.add(one)
    results.starts[True] = Starts({"ours": 1.0, "apache": 7.0}, "2026-01-02")
    save_results(tmp_path / "all.json", results)
    assert load_results(tmp_path / "all.json") == results


def test_a_row_measured_again_replaces_itself_and_no_other(tmp_path: Path) -> None:
    results = Results()
    results.add(comparison("sync-1", 1.0))
    results.add(comparison("async", 2.0))
    save_results(tmp_path / "all.json", results)
    later = load_results(tmp_path / "all.json")
    later.add(comparison("sync-1", 3.0, date="2026-02-03"))
    save_results(tmp_path / "all.json", later)
    found = load_results(tmp_path / "all.json").of(False)
    assert [(one.row.name, one.ours[0].per_second, one.date) for one in found] == [
        ("sync-1", 3.0, "2026-02-03"),
        ("async", 2.0, "2026-01-02"),
    ]


def test_arrangements_are_kept_beside_each_other(tmp_path: Path) -> None:
    results = Results()
    results.add(comparison("async", 1.0))
    results.add(comparison("async", 2.0, arrangement=Arrangement.PINNED))
    save_results(tmp_path / "all.json", results)
    found = load_results(tmp_path / "all.json")
    assert found == results
    assert [one.ours[0].per_second for one in found.of(False)] == [1.0]
    assert [one.ours[0].per_second for one in found.of(False, Arrangement.PINNED)] == [2.0]
    assert found.of(False, Arrangement.TOGETHER) == []


def test_rows_come_in_the_tables_order_and_in_their_form() -> None:
    results = Results()
    for one in (comparison("pop", 1.0), comparison("sync-16", 1.0), comparison("tag", 1.0, is_compiled=True)):
        results.add(one)
    assert [one.row.name for one in results.of(False)] == ["sync-16", "pop"]
    assert [one.row.name for one in results.of(True)] == ["tag"]
