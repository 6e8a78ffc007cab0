"""The last result of each stage of the long run, as `docs/compatibility.md` shows it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from scripts.stages.plan import LONG_RUN
from scripts.stages.runner import Result, clock

PAGE = Path("docs") / "compatibility.md"
BEGIN = "<!-- long run: written by scripts/test --long -->"
END = "<!-- end of long run -->"
HEAD = ("| stage | result | time | commit, date | summary |", "| --- | --- | --- | --- | --- |")

_INSIDE = re.compile(f"{re.escape(BEGIN)}(.*?){re.escape(END)}", re.DOTALL)
_ROW = re.compile(r"^\| ([^|]+) \|.*\|$", re.MULTILINE)


def row(result: Result, commit: str, day: str) -> str:
    """Return the row of a stage that ran."""
    verdict = "passed" if result.has_passed else "failed"
    cells = (result.stage.name, verdict, clock(result.seconds), f"{commit}, {day}", result.summary)
    return f"| {' | '.join(cells)} |"


def updated(page: str, rows: Sequence[str]) -> str:
    """Return the page with these rows in place of earlier ones of their stages, in the order of the plan.

    Raises:
        ValueError: The page lacks the comments around the table.
    """
    inside = _INSIDE.search(page)
    if inside is None:
        raise ValueError(f"{PAGE} has no section {BEGIN}")
    of_stage = {found.group(1): found.group() for found in _ROW.finditer(inside.group(1))}
    of_stage |= {_ROW.sub(r"\1", line): line for line in rows}
    known = [of_stage[stage.name] for stage in LONG_RUN.stages if stage.name in of_stage]
    table = "\n".join((*HEAD, *known))
    return f"{page[: inside.start()]}{BEGIN}\n\n{table}\n\n{END}{page[inside.end() :]}"


def commit_of(root: Path) -> str:
    """Return the commit of the work tree, marked where files differ from it."""
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--exclude", "*"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def record(root: Path, results: Sequence[Result]) -> None:
    """Write the results of a long run, or of some of its stages, into the page."""
    page = root / PAGE
    commit, day = commit_of(root), datetime.now(UTC).date().isoformat()
    page.write_text(updated(page.read_text(), [row(one, commit, day) for one in results]))
    print(f"recorded in {PAGE}", flush=True)
