"""Figures of a benchmark row and the limits that they are to keep."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Aimed(NamedTuple):
    """A figure and its limit, both in `unit`; None where the row has no such figure or no such limit.

    `is_least` makes the limit the least value of the figure instead of the greatest.
    """

    title: str
    figure: float | None
    limit: float | None
    is_least: bool = False
    unit: str = ""


def misses(table: Iterable[Aimed]) -> list[str]:
    """Return a text for each figure that does not keep its limit, in the order of the table."""
    short = []
    for title, figure, limit, is_least, unit in table:
        if figure is None or limit is None or (figure >= limit if is_least else figure <= limit):
            continue
        bound = "more" if is_least else "less"
        short.append(f"{title} {figure:.2f}{unit}, aimed at {limit}{unit} or {bound}")
    return short
