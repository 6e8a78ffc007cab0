"""Expected outcomes of the tests of a suite, and the differences of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "expected"

PASSED = "passed"
FAILED = "failed"
SKIPPED = "skipped"
"""The test found that the server, or its own set-up, lacks what it needs."""
LEFT = "left"
"""Not run, because it would wait for what the server lacks."""


class Expected(NamedTuple):
    """The expected outcome of a test; all but a pass has a reason."""

    outcome: str
    reason: str = ""


def load(suite: str, kind: str) -> dict[str, Expected]:
    """Return the table of a suite for servers of a kind, `apache` or `ours`."""
    lines = (FOLDER / kind / f"{suite}.tsv").read_text().splitlines()
    rows = [line.split("\t") for line in lines if line]
    return {name: Expected(*columns) for name, *columns in rows}


def save(suite: str, kind: str, expected: Mapping[str, Expected]) -> None:
    """Write the table of a suite for servers of a kind."""
    rows = ["\t".join((name, *entry)).rstrip() for name, entry in sorted(expected.items())]
    (FOLDER / kind / f"{suite}.tsv").write_text("".join(f"{row}\n" for row in rows))


def differences(expected: Mapping[str, Expected], outcomes: Mapping[str, str]) -> list[str]:
    """Return a line for each test that did something else than expected; `outcomes` has what ran."""
    lines = []
    for name in sorted({*outcomes, *(name for name, entry in expected.items() if entry.outcome != LEFT)}):
        wanted = expected.get(name, Expected("not listed")).outcome
        outcome = outcomes.get(name, "not run")
        if outcome != wanted:
            lines.append(f"{name}: {outcome}, expected: {wanted}")
    return lines


def recorded(expected: Mapping[str, Expected], outcomes: Mapping[str, str]) -> dict[str, Expected]:
    """Return the table after a run. Reasons of tests whose outcome is the same stay."""
    after = dict(expected)
    for name, outcome in outcomes.items():
        if name not in expected or expected[name].outcome != outcome:
            after[name] = Expected(outcome)
    return after
