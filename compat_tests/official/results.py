"""The results of a run, saved as JSON, one file for each kind of server."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "results"

PASSED = "passed"
FAILED = "failed"
IGNORED = "ignored"
"""Switched off in Apache's source."""
INSIDE = "inside"
"""Needs the server in the process of the test."""

WHOLE_CLASS = "*"
"""Stands for the method when the class as a whole failed or was left out."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of one method: the best of all tries."""

    result: str
    seconds: float = 0.0
    reason: str = ""
    tries: int = 1


Outcomes = dict[str, Outcome]
"""By method."""


@dataclass
class Results:
    """A run against one kind of server."""

    server: str
    date: str
    classes: dict[str, Outcomes]

    def save(self, path: Path) -> None:
        """Write the results as JSON."""
        shape = {
            "server": self.server,
            "date": self.date,
            "classes": {
                name: {method: asdict(outcome) for method, outcome in sorted(outcomes.items())}
                for name, outcomes in sorted(self.classes.items())
            },
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(shape, indent=1) + "\n")

    def passed(self, name: str) -> set[str]:
        """The methods of a class that passed."""
        return self._with(name, PASSED)

    def failed(self, name: str) -> set[str]:
        """The methods of a class that failed."""
        return self._with(name, FAILED)

    def _with(self, name: str, result: str) -> set[str]:
        outcomes = self.classes.get(name, {})
        return {method for method, outcome in outcomes.items() if outcome.result == result}


def recorded(kind: str) -> Path:
    """The file of the recorded run against a kind of server."""
    return FOLDER / f"{kind}.json"


def load(path: Path) -> Results:
    """Read a file of :meth:`Results.save`; without a file, return results without classes."""
    if not path.exists():
        return Results(path.stem, "", {})
    shape = json.loads(path.read_text())
    classes = {
        name: {method: Outcome(**outcome) for method, outcome in outcomes.items()}
        for name, outcomes in shape["classes"].items()
    }
    return Results(shape["server"], shape["date"], classes)


def better(old: Outcome | None, new: Outcome) -> Outcome:
    """Return the outcome to keep after another try: a passed one wins, else the newer one."""
    if old is None:
        return new
    tries = old.tries + new.tries
    chosen = old if old.result == PASSED else new
    return Outcome(chosen.result, chosen.seconds, chosen.reason, tries)
