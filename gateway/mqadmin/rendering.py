"""Rows as the standard's text, or as JSON; pure.

A template is that of `str.format` over a row: `{topic:<64.64}` is 64 columns, cut there, as the standard cuts
names. None is shown as Java shows it, `null`.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from mqgateway.engine import lenient_json
from mqgateway.gateway.cli.plain import escaped, escaped_json
from mqgateway.gateway.mqadmin.declaration import CommandCall, Row, Text


def each(template: str) -> Text:
    """Every row by one template, which has the ends of lines in it."""

    def text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
        for row in rows:
            yield shown(template, row)

    return text


def headed(titles: Sequence[str], widths: str, template: str) -> Text:
    """A line of titles by a template of their widths, then every row."""

    def text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
        yield widths.format(*titles)
        for row in rows:
            yield shown(template, row)

    return text


def nothing(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    """Of what is done without a word."""
    for _ in rows:
        yield ""


def shown(template: str, row: Row) -> str:
    """One row by a template."""
    return template.format_map({name: java(value) for name, value in row.items()})


def java(value: Any) -> Any:
    """A value as Java prints it; numbers stay numbers, so that a template can lay them out."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return escaped(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}={java(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list | tuple | set | frozenset):
        return "[" + ", ".join(str(java(one)) for one in value) + "]"
    return value


def pretty(value: Any) -> str:
    """JSON with a member a line, indented by tabs, as the standard prints it."""
    return lenient_json.dumps(value, indent=True).decode()


def as_json(command: str, rows: Sequence[Row], summary: Row, errors: Sequence[Row]) -> str:
    """The result of a call as one line of JSON."""
    told = {"command": command, "rows": rows, "summary": summary, "errors": errors}
    return escaped_json(orjson.dumps(told, default=_plain, option=orjson.OPT_NON_STR_KEYS).decode()) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def moment(millis: int, *, separator: str = " ", fraction: str = ",") -> str:
    """A time in ms since the epoch, by the local clock, with milliseconds."""
    found = datetime.datetime.fromtimestamp(millis / 1000)
    return f"{found:%Y-%m-%d}{separator}{found:%H:%M:%S}{fraction}{millis % 1000:03}"


def second(millis: int) -> str:
    """The same without milliseconds."""
    return f"{datetime.datetime.fromtimestamp(millis / 1000):%Y-%m-%d %H:%M:%S}"
