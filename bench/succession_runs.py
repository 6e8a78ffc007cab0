"""Runs of `bench.succession`, kept in a file so that they can be interrupted and continued, and their
table."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

Figures = dict[str, float]
Columns = tuple[tuple[str, str], ...]

KINDS = ("apache", "ours")


class OtherMachine(Exception):
    """The file has runs of another machine, which cannot be compared with runs of this one."""


class Runs:
    """All runs and failures by part and kind; read from the file if it exists, and written to it after each.
    Raises `OtherMachine`."""

    def __init__(self, parts: Sequence[str], path: Path | None, machine: str) -> None:
        self._path, self._machine = path, machine
        self.results: dict[str, dict[str, list[Figures]]] = {
            part: {kind: [] for kind in KINDS} for part in parts
        }
        self.failed: dict[str, dict[str, list[str]]] = {part: {kind: [] for kind in KINDS} for part in parts}
        if path is not None and path.exists():
            self._read(json.loads(path.read_text()))

    def _read(self, kept: dict[str, object]) -> None:
        if kept["machine"] != self._machine:
            raise OtherMachine(f"{self._path} has runs of {kept['machine']}, this is {self._machine}")
        for name, found in (("parts", self.results), ("failed", self.failed)):
            read = kept.get(name)
            assert isinstance(read, dict)
            found.update(read)

    def next(self, part: str, wanted: int) -> str | None:
        """Return the kind whose turn it is in a part, None if both have `wanted` runs, failed ones included.

        Kinds alternate, and so does the first kind of each pair of runs.
        """
        apache, ours = (len(self.results[part][kind]) + len(self.failed[part][kind]) for kind in KINDS)
        if min(apache, ours) >= wanted:
            return None
        if apache == ours:
            return KINDS[apache % 2]
        return "ours" if ours < apache else "apache"

    def take(self, part: str, kind: str, result: Figures | str) -> None:
        """Add a run, its figures or the reason of its failure, and save the file."""
        if isinstance(result, str):
            self.failed[part][kind].append(result)
        else:
            self.results[part][kind].append(result)
        if self._path is not None:
            kept = {"machine": self._machine, "parts": self.results, "failed": self.failed}
            aside = self._path.with_name(f"{self._path.name}.new")
            aside.write_text(json.dumps(kept, indent=1))
            aside.replace(self._path)

    def rows(self, part: str, columns: Columns) -> Iterator[str]:
        """Yield a row of the table for each figure, ours first."""
        for name, title in columns:
            cells = [self._cell(part, kind, name) for kind in ("ours", "apache")]
            yield f"| {part} | {title} | {cells[0]} | {cells[1]} |"

    def _cell(self, part: str, kind: str, name: str) -> str:
        values, failed = [run[name] for run in self.results[part][kind]], len(self.failed[part][kind])
        lacks = f", {failed} failed" if failed else ""
        if not values:
            return f"none came{lacks}"
        return f"{statistics.median(values):,.0f} ({p99(values):,.0f}; {len(values)} runs{lacks})"


def p99(values: Sequence[float]) -> float:
    """Return the least value that at most one in a hundred exceeds; the greatest of fewer than 100."""
    ordered = sorted(values)
    return ordered[-(len(ordered) // 100) - 1]
