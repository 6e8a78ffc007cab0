"""Points of curves in tables and panels."""

from pathlib import Path

from bench.curves import CURVES, Point, load_points, panels, section


def point(curve: str, server: str, x: float, rate: float) -> Point:
    """A point with this rate."""
    return Point(curve, server, x, rate, 50.0, 70.0, 1.0, 0)


POINTS = [
    point("topics", "ours", 1, 2000),
    point("topics", "ours", 64, 1900),
    point("topics", "apache", 1, 1000),
    point("log", "ours", 0.25, 1800),
]


def test_each_curve_has_a_panel_for_each_figure() -> None:
    rows = panels(POINTS)
    assert [len(row) for row in rows] == [3, 3]
    assert rows[0][0].lines == {"ours": [(1, 2000), (64, 1900)], "apache": [(1, 1000)]}


def test_tables_have_a_line_for_each_step_and_gaps_where_nothing_was_measured() -> None:
    lines = section(POINTS)
    assert "| 1 | 2,000 | 50.0 | 70 | 1.00 | 1,000 | 50.0 | 70 | 1.00 |" in lines
    assert "| 64 | 1,900 | 50.0 | 70 | 1.00 | - | - | - | - |" in lines
    assert "| 0.25 | 1,800 | 50.0 | 70 | 1.00 |" in lines


def test_curves_have_names_and_growing_steps() -> None:
    assert len({curve.name for curve in CURVES}) == len(CURVES)
    assert all(list(curve.steps) == sorted(set(curve.steps)) for curve in CURVES)


def test_no_file_has_no_points(tmp_path: Path) -> None:
    assert load_points(None) == load_points(tmp_path / "none.json") == []
