"""The last long run, as `docs/compatibility.md` shows it: commit, date and result of each stage."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from scripts.stages.runner import Result, clock

PAGE = Path("docs") / "compatibility.md"
BEGIN = "<!-- long run: written by scripts/test --long -->"
END = "<!-- end of long run -->"


def table(results: Sequence[Result], commit: str, day: str) -> str:
    """Return the section between the two comments."""
    lines = [
        f"Commit {commit}, {day}:",
        "",
        "| stage | result | time | summary |",
        "| --- | --- | --- | --- |",
    ]
    for one in results:
        verdict = "passed" if one.has_passed else "failed"
        lines.append(f"| {one.stage.name} | {verdict} | {clock(one.seconds)} | {one.summary} |")
    return "\n".join(lines)


def replaced(page: str, section: str) -> str:
    """Return the page with another section between the comments.

    Raises:
        ValueError: The page lacks the comments.
    """
    inside = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    if not inside.search(page):
        raise ValueError(f"{PAGE} has no section {BEGIN}")
    return inside.sub(lambda _: f"{BEGIN}\n\n{section}\n\n{END}", page, count=1)


def commit_of(root: Path) -> str:
    """Return the commit of the work tree, marked where files differ from it."""
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--exclude", "*"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def record(root: Path, results: Sequence[Result]) -> None:
    """Write the results of a long run into the page."""
    page = root / PAGE
    section = table(results, commit_of(root), datetime.now(UTC).date().isoformat())
    page.write_text(replaced(page.read_text(), section))
    print(f"recorded in {PAGE}", flush=True)
