"""Findings, tables and the file of figures, which all parts of the benchmark of scale share."""

from collections.abc import Iterator
from pathlib import Path

from click.testing import CliRunner

from bench import scale
from bench.scale import PARTS, section, together
from bench.scale_part import Column, Finding, Part, Plan, load_findings, percentiles, save_findings


def found(part: str, server: str, what: str, **figures: float) -> Finding:
    return Finding(part, server, what, figures, 1.5, "2026-11-25", "abc", "compiled")


def part(name: str = "p", *findings: Finding) -> Part:
    def measure(plan: Plan) -> Iterator[Finding]:
        plan.notify("is measured")
        yield from findings

    columns = (Column("seconds", "s"), Column("count", "number", "{:,.0f}"), Column("other", "other"))
    return Part(name, "Things", ("How.",), columns, measure, lambda own: [f"{len(own)} steps"])


def test_a_table_has_the_columns_that_were_found() -> None:
    lines = part().section([found("p", "ours", "start", seconds=2.04), found("q", "ours", "other", other=1)])
    assert "| what | s |" in lines and lines[-3:] == ["", "1 steps", ""]
    assert "| start | 2.0 |" in lines


def test_several_servers_have_a_column_and_what_is_missing_a_dash() -> None:
    lines = part().section(
        [found("p", "ours", "a", seconds=1), found("p", "apache", "a", seconds=2, count=12_345)]
    )
    assert "| ours | a | 1.0 | - |" in lines and "| apache | a | 2.0 | 12,345 |" in lines
    assert any("1.5 to 1.5" in line for line in lines)


def test_a_part_of_which_nothing_is_known_has_no_section() -> None:
    assert part().section([found("q", "ours", "a")]) == []
    assert len(section([])) <= 4


def test_findings_of_a_part_measured_again_are_replaced(tmp_path: Path) -> None:
    known = [found("p", "ours", "a"), found("p", "apache", "a"), found("q", "ours", "a")]
    again = [found("p", "ours", "b")]
    assert together(known, again) == [*known[1:], *again]
    path = tmp_path / "scale.json"
    assert load_findings(path) == load_findings(None) == []
    save_findings(path, known)
    assert load_findings(path) == known


def test_percentiles() -> None:
    assert percentiles([]) == {}
    computed = percentiles([number / 1000 for number in range(1, 101)])
    assert computed == {"p50_ms": 51.0, "p99_ms": 100.0, "longest_ms": 100.0}


def test_sizes_are_scaled_but_not_to_nothing(tmp_path: Path) -> None:
    plan = Plan(0.01, False, tmp_path, lambda _: None)
    assert (plan.scaled(1000), plan.scaled(10), plan.scaled(10, 3)) == (10, 1, 3)


def test_each_part_has_a_name_of_its_own() -> None:
    assert len({one.name for one in PARTS}) == len(PARTS) == 5


def test_the_page_has_all_parts_of_the_file(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    parts = (part("p", found("p", "ours", "start", seconds=1)), part("q"))
    monkeypatch.setattr(scale, "PARTS", parts)
    figures, page = tmp_path / "scale.json", tmp_path / "page.md"
    save_findings(figures, [found("q", "ours", "known", seconds=2)])
    given = ["--json", str(figures), "--page", str(page), "--work", str(tmp_path)]
    done = CliRunner().invoke(scale.main, given, catch_exceptions=False)
    assert done.exit_code == 0
    assert "| start | 1.0 |" in page.read_text() and "| known | 2.0 |" in page.read_text()
    assert [one.what for one in load_findings(figures)] == ["known", "start"]
