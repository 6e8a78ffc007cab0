"""Rows as RocketMQ's text, or as JSON; pure.

A template is that of `str.format` over a row: `{topic:<64.64}` is padded and truncated to 64 columns, as
RocketMQ does with names. None is shown as Java shows it, `null`.
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
    """Return a function that formats every row by a template, which contains the line ends."""

    def text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
        for row in rows:
            yield shown(template, row)

    return text


def headed(titles: Sequence[str], widths: str, template: str) -> Text:
    """Return a function that writes a title line by the template `widths`, then every row."""

    def text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
        yield widths.format(*titles)
        for row in rows:
            yield shown(template, row)

    return text


def nothing(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    """Run a command that prints nothing."""
    for _ in rows:
        yield ""


def shown(template: str, row: Row) -> str:
    """Return one row, formatted by a template."""
    return template.format_map({name: java(value) for name, value in row.items()})


def java(value: Any) -> Any:
    """Return a value as Java prints it; numbers stay numbers, so that a template can format them."""
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
    """Return JSON with one member a line, indented by tabs, as RocketMQ prints it."""
    return lenient_json.dumps(value, indent=True).decode()


def as_json(command: str, rows: Sequence[Row], summary: Row, errors: Sequence[Row]) -> str:
    """Return the result of a call as one line of JSON."""
    document = {"command": command, "rows": rows, "summary": summary, "errors": errors}
    return (
        escaped_json(orjson.dumps(document, default=_plain, option=orjson.OPT_NON_STR_KEYS).decode()) + "\n"
    )


def _plain(value: Any) -> Any:
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def moment(millis: int, *, separator: str = " ", fraction: str = ",") -> str:
    """Return a time in ms since the epoch as local time, with milliseconds."""
    found = datetime.datetime.fromtimestamp(millis / 1000)
    return f"{found:%Y-%m-%d}{separator}{found:%H:%M:%S}{fraction}{millis % 1000:03}"


def second(millis: int) -> str:
    """Return a time in ms since the epoch as local time, without milliseconds."""
    return f"{datetime.datetime.fromtimestamp(millis / 1000):%Y-%m-%d %H:%M:%S}"
