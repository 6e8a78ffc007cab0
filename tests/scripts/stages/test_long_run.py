"""The page about compatibility has the last result of each stage of the long run."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.stages.long_run import BEGIN, END, HEAD, PAGE, commit_of, row, updated
from scripts.stages.plan import LONG_RUN, ROOT
from scripts.stages.runner import Result

STAGES = {stage.name: stage for stage in LONG_RUN.stages}


def result(tmp_path: Path, name: str, code: int) -> Result:
    (tmp_path / "log").write_text("26 passed in 900.00s (0:15:00)\n")
    return Result(STAGES[name], code, 905, tmp_path / "log")


@pytest.mark.parametrize(("code", "verdict"), [(0, "passed"), (1, "failed")])
def test_row_has_result_commit_and_day(tmp_path: Path, code: int, verdict: str) -> None:
    line = row(result(tmp_path, "helm", code), "abc123", "2026-11-27")
    assert line == f"| helm | {verdict} | 15:05 | abc123, 2026-11-27 | 26 passed in 900.00s (0:15:00) |"
    assert line.count("|") == HEAD[0].count("|")


def test_rows_replace_those_of_their_stages_and_the_rest_stays() -> None:
    page = f"before\n{BEGIN}\n\nnothing yet\n\n{END}\nafter\n"
    once = updated(page, [r"| spark | passed | \1 |", "| helm | failed | old |"])
    assert once == "\n".join(
        (
            "before",
            BEGIN,
            "",
            *HEAD,
            r"| spark | passed | \1 |",
            "| helm | failed | old |",
            "",
            END,
            "after\n",
        )
    )
    again = updated(once, ["| helm | passed | new |", "| long Kafka | passed | x |"])
    assert [line for line in again.splitlines() if line.startswith("| ")][1:] == [
        HEAD[1],
        "| long Kafka | passed | x |",
        r"| spark | passed | \1 |",
        "| helm | passed | new |",
    ]
    with pytest.raises(ValueError, match="has no section"):
        updated("nothing", [])


def test_page_has_the_section() -> None:
    assert updated((ROOT / PAGE).read_text(), [])
    assert commit_of(ROOT)
