"""Runs of `bench.succession` that are kept in a file, so that they can be made in pieces, and the table of
them."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

Figures = dict[str, float]
Columns = tuple[tuple[str, str], ...]

KINDS = ("apache", "ours")


class OtherMachine(Exception):
    """The file has runs of another machine, beside which those of this one say nothing."""


class Runs:
    """All runs by part and kind, and why others failed; read from a file if there is one, and written to it
    after each. Raises `OtherMachine`."""

    def __init__(self, parts: Sequence[str], path: Path | None, machine: str) -> None:
        self._path, self._machine = path, machine
        self.came: dict[str, dict[str, list[Figures]]] = {
            part: {kind: [] for kind in KINDS} for part in parts
        }
        self.failed: dict[str, dict[str, list[str]]] = {part: {kind: [] for kind in KINDS} for part in parts}
        if path is not None and path.exists():
            self._read(json.loads(path.read_text()))

    def _read(self, kept: dict[str, object]) -> None:
        if kept["machine"] != self._machine:
            raise OtherMachine(f"{self._path} has runs of {kept['machine']}, this is {self._machine}")
        for name, found in (("parts", self.came), ("failed", self.failed)):
            read = kept.get(name)
            assert isinstance(read, dict)
            found.update(read)

    def next(self, part: str, wanted: int) -> str | None:
        """Whose turn it is in a part, None when both have so many runs, failed ones counted; both take turns,
        and who began last time comes second."""
        apache, ours = (len(self.came[part][kind]) + len(self.failed[part][kind]) for kind in KINDS)
        if min(apache, ours) >= wanted:
            return None
        if apache == ours:
            return KINDS[apache % 2]
        return "ours" if ours < apache else "apache"

    def take(self, part: str, kind: str, came: Figures | str) -> None:
        """One more run: its figures, or why it failed."""
        if isinstance(came, str):
            self.failed[part][kind].append(came)
        else:
            self.came[part][kind].append(came)
        if self._path is not None:
            kept = {"machine": self._machine, "parts": self.came, "failed": self.failed}
            aside = self._path.with_name(f"{self._path.name}.new")
            aside.write_text(json.dumps(kept, indent=1))
            aside.replace(self._path)

    def rows(self, part: str, columns: Columns) -> Iterator[str]:
        """A row of the table for each figure, ours first."""
        for name, title in columns:
            cells = [self._cell(part, kind, name) for kind in ("ours", "apache")]
            yield f"| {part} | {title} | {cells[0]} | {cells[1]} |"

    def _cell(self, part: str, kind: str, name: str) -> str:
        values, failed = [run[name] for run in self.came[part][kind]], len(self.failed[part][kind])
        lacks = f", {failed} failed" if failed else ""
        if not values:
            return f"none came{lacks}"
        return f"{statistics.median(values):,.0f} ({p99(values):,.0f}; {len(values)} runs{lacks})"


def p99(values: Sequence[float]) -> float:
    """The least of these that at most one in a hundred exceeds: of fewer than 100 the greatest."""
    ordered = sorted(values)
    return ordered[-(len(ordered) // 100) - 1]
