"""The page about compatibility has the last long run."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.stages.long_run import BEGIN, END, PAGE, commit_of, replaced, table
from scripts.stages.plan import ROOT, Stage
from scripts.stages.runner import Result


def test_table_has_commit_day_and_each_result(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("26 passed in 900.00s (0:15:00)\n")
    results = [Result(Stage("helm", "helm"), code, 905, tmp_path / "log") for code in (0, 1)]
    assert table(results, "abc123", "2026-11-27").splitlines() == [
        "Commit abc123, 2026-11-27:",
        "",
        "| stage | result | time | summary |",
        "| --- | --- | --- | --- |",
        "| helm | passed | 15:05 | 26 passed in 900.00s (0:15:00) |",
        "| helm | failed | 15:05 | 26 passed in 900.00s (0:15:00) |",
    ]


def test_section_is_replaced_and_the_rest_stays() -> None:
    page = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    assert replaced(page, r"new \1") == f"before\n{BEGIN}\n\nnew \\1\n\n{END}\nafter\n"
    with pytest.raises(ValueError, match="has no section"):
        replaced("nothing", "new")


def test_the_page_has_the_section() -> None:
    assert replaced((ROOT / PAGE).read_text(), "new")
    assert commit_of(ROOT)
