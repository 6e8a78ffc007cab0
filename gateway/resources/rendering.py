"""Rows as a table, for people; pure.

Titles are the rows' names in upper case. Times are those whose name ends in `At` or `Timestamp`, in ms since
the epoch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mqgateway.gateway.cli.plain import escaped
from mqgateway.gateway.cli.times import iso
from mqgateway.gateway.mqadmin.declaration import CommandCall, Row, Text

_GAP = "  "
_TIMES = ("At", "Timestamp")


def table(*names: str, nothing: str = "") -> Text:
    """The members of rows by these names, a column each; `nothing` is what stands there without rows."""

    def text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
        return lines(names, rows, nothing)

    return text


def lines(names: Sequence[str], rows: Iterable[Row], nothing: str = "") -> Iterator[str]:
    """Yield the lines of a table as `table` describes it."""
    found = [[row.get(name) for name in names] for row in rows]
    if not found:
        yield f"{nothing}\n" * bool(nothing)
        return
    columns = [
        [_title(name), *(cell(name, value) for value in values)]
        for name, values in zip(names, zip(*found, strict=True), strict=True)
    ]
    numeric = [
        not name.endswith(_TIMES) and all(isinstance(row[at], int | float | None) for row in found)
        for at, name in enumerate(names)
    ]
    widths = [max(map(len, column)) for column in columns]
    for line in zip(*columns, strict=True):
        words = (
            word.rjust(width) if is_number else word.ljust(width)
            for word, width, is_number in zip(line, widths, numeric, strict=True)
        )
        yield _GAP.join(words).rstrip() + "\n"


def listed(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    """Every row as lines `name: value`, rows apart; what is a table itself has its lines below its name."""
    for number, row in enumerate(rows):
        yield "\n" * bool(number) + "".join(_lines(row, ""))


def _lines(row: Mapping[str, Any], indent: str) -> Iterator[str]:
    width = max((len(str(name)) for name in row), default=0) + 1
    for name, value in row.items():
        if isinstance(value, Mapping) and value:
            yield f"{indent}{name}:\n"
            yield from _lines(dict(sorted(value.items())), indent + "  ")
        else:
            yield f"{indent}{f'{name}:':<{width}} {cell(str(name), value)}\n"


def cell(name: str, value: Any) -> str:
    """One value as text."""
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.1f}"
    if name.endswith(_TIMES) and isinstance(value, int):
        return iso(value) if value > 0 else "-"
    if isinstance(value, Mapping):
        return escaped(", ".join(f"{key}={one}" for key, one in value.items())) or "-"
    if isinstance(value, list | tuple | set | frozenset):
        return escaped(", ".join(map(str, value))) or "-"
    return escaped(str(value))


def _title(name: str) -> str:
    for ending in _TIMES:
        name = name.removesuffix(ending) or name
    return "".join(f" {one}" if one.isupper() else one for one in name).strip().upper()
