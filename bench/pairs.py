"""Runs of the same work on two sides, in turn, and their medians as `ours / the other's = ratio`."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

R = TypeVar("R")
SIDES = ("apache", "ours")


def turns(pairs: int, sides: tuple[str, str] = SIDES) -> Iterator[tuple[int, str]]:
    """Yield the number and the side of each run; the sides take turns at being the first."""
    for number in range(pairs):
        for side in sides if number % 2 == 0 else reversed(sides):
            yield number, side


def cell(ours: float | None, other: float | None, form: str) -> str:
    """Return a figure of both sides and its ratio; a dash if one of them has no such figure."""
    if ours is None or other is None:
        return "-"
    ratio = f" = {ours / other:.2f}" if other else ""
    return f"{form.format(ours)} / {form.format(other)}{ratio}"


@dataclass
class Pair(Generic[R]):
    """All runs of one row by side. Figures are attributes of runs, None where the work has no such figure."""

    sides: ClassVar[tuple[str, str]] = SIDES
    """The other side, and ours."""

    row: R
    runs: dict[str, list[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for side in self.sides:
            self.runs.setdefault(side, [])

    def median(self, side: str, name: str) -> float | None:
        """Return the median of a figure; None without such a figure."""
        values = [getattr(run, name) for run in self.runs[side]]
        return None if not values or None in values else float(statistics.median(values))

    def ratio(self, name: str) -> float | None:
        """Return ours divided by the other's."""
        other, ours = (self.median(side, name) for side in self.sides)
        return None if ours is None or not other else ours / other

    def cell(self, name: str, form: str) -> str:
        """Return a figure of both sides and its ratio."""
        other, ours = (self.median(side, name) for side in self.sides)
        return cell(ours, other, form)
