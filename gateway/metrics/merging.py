"""Scrapes of several processes as one: the lines of a metric together, each with the process it is of.

Prometheus requires that all lines of a metric are one group below its description, and that no two series
have the same labels. Processes have the same metrics, so a label tells their series apart.
"""

from __future__ import annotations

from collections.abc import Iterable

from mqgateway.engine.steps import Steps

LINES_A_STEP = 1000
_TYPE, _HELP = b"# TYPE ", b"# HELP "


def merged(scrapes: Iterable[tuple[str, bytes]], label: str = "broker") -> Steps[list[bytes]]:
    """Return the text of one scrape, made of scrapes that each have a name: the value of the label.

    A series that has the label keeps its own, and series of a scrape without a name get none. A metric is
    described as in the first scrape that has it.
    """
    heads: dict[bytes, list[bytes]] = {}
    series: dict[bytes, list[bytes]] = {}
    has_label = f'{label}="'.encode()
    for name, text in scrapes:
        mark = f'{label}="{name}"'.encode() if name else b""
        metric, is_described = b"", False
        for number, line in enumerate(text.splitlines(keepends=True)):
            if not number % LINES_A_STEP:
                yield
            if line.startswith((_TYPE, _HELP)):
                described = line.split(b" ", 3)[2].strip()
                if described != metric:
                    metric, is_described = described, described in heads
                if not is_described:
                    heads.setdefault(metric, []).append(line)
            elif line.strip():
                series.setdefault(metric, []).append(_marked(line, mark, has_label))
    return [b"".join([*heads.get(metric, ()), *lines]) for metric, lines in series.items()]


def _marked(line: bytes, mark: bytes, has_label: bytes) -> bytes:
    """Return a line of a series with a label more, unless it has that."""
    if not mark:
        return line
    name, brace, rest = line.partition(b"{")
    if not brace:
        name, space, rest = line.partition(b" ")
        return name + b"{" + mark + b"}" + space + rest
    if rest.startswith(has_label) or b"," + has_label in rest:
        return line
    return name + b"{" + mark + (b"" if rest.startswith(b"}") else b",") + rest
