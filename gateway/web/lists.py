"""Pages of a long, sorted list, with a cursor that continues after the last row even if rows were added or
removed."""

from __future__ import annotations

import base64
import json
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple

from mqgateway.gateway.web.route import ApiError, RouteField

LIMIT_MAX = 500
PAGE_FIELDS = (
    RouteField("limit", int, "Maximum number of rows in a page.", 50, least=1, most=LIMIT_MAX),
    RouteField("cursor", str, "`cursor` of the previous page.", ""),
    RouteField("search", str, "Text in the names, case-insensitive.", ""),
    RouteField("descending", bool, "Sort in descending order.", False),
)

Row = tuple[Any, str]
"""Sort key (all numbers, or all text) and name."""


class Page(NamedTuple):
    """The names of a page. `total` is the number of all rows, `cursor` is empty on the last page."""

    names: list[str]
    total: int
    cursor: str


def page_of(rows: Sequence[Row], limit: int, cursor: str, *, descending: bool = False) -> Page:
    """Return a page of the rows, which may be unsorted. Raises `ApiError` for an invalid cursor."""
    ordered = sorted(rows, reverse=descending)
    start = _after(ordered, _read(cursor), descending) if cursor else 0
    end = start + limit
    names = [name for _, name in ordered[start:end]]
    return Page(names, len(ordered), _write(ordered[end - 1]) if end < len(ordered) else "")


def has(name: str, search: str) -> bool:
    """Return True if a name contains the text, ignoring case."""
    return not search or search.lower() in name.lower()


def _after(ordered: Sequence[Row], last: Row, descending: bool) -> int:
    try:
        if not descending:
            return bisect_right(ordered, last)
        return len(ordered) - bisect_left(list(reversed(ordered)), last)
    except TypeError:
        raise ApiError(400, "the cursor is of a list that is sorted otherwise") from None


def _write(row: Row) -> str:
    return base64.urlsafe_b64encode(json.dumps(row).encode()).decode()


def _read(cursor: str) -> Row:
    try:
        key, name = json.loads(base64.urlsafe_b64decode(cursor.encode()))
    except ValueError:
        raise ApiError(400, "the cursor is not from this list; start without one") from None
    return key, str(name)
