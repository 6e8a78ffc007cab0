"""Medians and ratios of runs on two sides."""

from __future__ import annotations

from typing import NamedTuple

from bench.pairs import Pair, cell, turns


class Run(NamedTuple):
    rate: float
    p50: float | None = None


def test_sides_take_turns_at_being_first() -> None:
    assert list(turns(2)) == [(0, "apache"), (0, "ours"), (1, "ours"), (1, "apache")]
    assert list(turns(1, ("java", "python"))) == [(0, "java"), (0, "python")]


def test_figures_are_medians_and_ratios() -> None:
    pair = Pair("row", {"ours": [Run(10), Run(30), Run(20)], "apache": [Run(40)]})
    assert (pair.median("ours", "rate"), pair.ratio("rate")) == (20, 0.5)
    assert pair.cell("rate", "{:.0f}") == "20 / 40 = 0.50"


def test_missing_figure_is_a_dash() -> None:
    pair = Pair("row", {"ours": [Run(10, 1.0)], "apache": [Run(40)]})
    assert pair.cell("p50", "{:.0f}") == "-" and pair.ratio("p50") is None
    assert Pair("row").cell("rate", "{:.0f}") == "-"


def test_figure_of_zero_has_no_ratio() -> None:
    assert cell(3, 0, "{:.0f}") == "3 / 0"
