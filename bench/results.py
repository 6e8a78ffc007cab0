"""Results in a file: rows of different times are merged, and a row measured again is replaced."""

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.arrangements import Arrangement
from bench.report import Comparison, Sample
from bench.rows import ROWS


@dataclass
class Starts:
    """Seconds from each server's start until it serves, on defaults; empty if not measured."""

    seconds: dict[str, float] = field(default_factory=dict)
    date: str = ""


@dataclass
class Results:
    """All measurements; rows of compiled servers are kept alongside those of plain Python."""

    comparisons: dict[tuple[str, bool, Arrangement], Comparison] = field(default_factory=dict)
    starts: dict[bool, Starts] = field(default_factory=dict)

    def add(self, comparison: Comparison) -> None:
        """Add a row, replacing its previous result."""
        row = comparison.row
        self.comparisons[row.name, comparison.is_compiled, row.arrangement] = comparison

    def of(self, is_compiled: bool, arrangement: Arrangement = Arrangement.APART) -> list[Comparison]:
        """Return the results of one of the two forms, in the table's order."""
        keys = [(row.name, is_compiled, arrangement) for row in ROWS]
        return [self.comparisons[key] for key in keys if key in self.comparisons]


def load_results(path: Path) -> Results:
    """Load the results of a file, empty if it does not exist; rows that no longer exist are left out."""
    results = Results()
    if not path.exists():
        return results
    recorded = json.loads(path.read_text())
    rows = {row.name: row for row in ROWS}
    for one in recorded["rows"]:
        if one["row"] in rows:
            arrangement = Arrangement(one.get("arrangement", Arrangement.APART))
            comparison = Comparison(
                replace(rows[one["row"]], arrangement=arrangement),
                [Sample(**sample) for sample in one["ours"]],
                [Sample(**sample) for sample in one["apache"]],
                one["machine"],
                one["date"],
                one["commit"],
                one["compiled"],
            )
            results.add(comparison)
    for form, starts in recorded["starts"].items():
        results.starts[form == "compiled"] = Starts(**starts)
    return results


def save_results(path: Path, results: Results) -> None:
    """Write all results to a file."""
    rows: list[dict[str, Any]] = [
        {
            "row": one.row.name,
            "title": one.row.title,
            "compiled": one.is_compiled,
            "arrangement": one.row.arrangement,
            "date": one.date,
            "commit": one.commit,
            "machine": one.machine,
            "ours": [asdict(sample) for sample in one.ours],
            "apache": [asdict(sample) for sample in one.apache],
        }
        for arrangement in Arrangement
        for is_compiled in (False, True)
        for one in results.of(is_compiled, arrangement)
    ]
    starts = {"compiled" if form else "plain": asdict(one) for form, one in results.starts.items()}
    path.write_text(json.dumps({"starts": starts, "rows": rows}, indent=1) + "\n")
