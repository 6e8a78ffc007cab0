"""A picture of small panels as SVG: figures against a growing parameter."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

COLOURS = ("#2a78d6", "#d9822b")
INK, PALE, PAPER = "#333333", "#d8d8d8", "#ffffff"
WIDTH, HEIGHT = 300, 190
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 30, 40
TICKS = 4


@dataclass(frozen=True)
class Panel:
    """One figure (`title`) against the varied parameter (`across`), a line for each name in `lines`."""

    title: str
    across: str
    lines: Mapping[str, Sequence[tuple[float, float]]]


def picture(rows: Sequence[Sequence[Panel]]) -> str:
    """Return the panels in their rows, with a legend, as an SVG document."""
    columns = max(len(row) for row in rows)
    names = list(dict.fromkeys(name for row in rows for panel in row for name in panel.lines))
    width, height = columns * WIDTH, len(rows) * HEIGHT + TOP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="sans-serif" font-size="10" fill="{INK}">',
        f'<rect width="{width}" height="{height}" fill="{PAPER}"/>',
    ]
    for number, name in enumerate(names):
        x = LEFT + number * 90
        parts.append(f'<rect x="{x}" y="10" width="14" height="4" fill="{_colour(number)}"/>')
        parts.append(f'<text x="{x + 20}" y="16">{escape(name)}</text>')
    for down, row in enumerate(rows):
        for right, panel in enumerate(row):
            parts.append(f'<g transform="translate({right * WIDTH} {TOP + down * HEIGHT})">')
            parts += _panel(panel, names)
            parts.append("</g>")
    return "\n".join([*parts, "</svg>", ""])


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _panel(panel: Panel, names: Sequence[str]) -> Iterator[str]:
    points = [point for line in panel.lines.values() for point in line]
    steps = sorted({x for x, _ in points})
    most = nice(max(y for _, y in points))
    inner_width, inner_height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def across(x: float) -> float:
        return LEFT + inner_width * place(x, steps)

    def up(y: float) -> float:
        return TOP + inner_height * (1 - y / most)

    yield f'<text x="{LEFT}" y="{TOP - 10}" font-weight="bold">{escape(panel.title)}</text>'
    for tick in range(TICKS + 1):
        value = most * tick / TICKS
        yield f'<path d="M{LEFT} {up(value):.1f}H{WIDTH - RIGHT}" stroke="{PALE}"/>'
        yield f'<text x="{LEFT - 6}" y="{up(value) + 3:.1f}" text-anchor="end">{short(value)}</text>'
    for x in steps:
        yield f'<text x="{across(x):.1f}" y="{HEIGHT - BOTTOM + 14}" text-anchor="middle">{short(x)}</text>'
    middle = LEFT + inner_width / 2
    foot = HEIGHT - BOTTOM + 28
    yield f'<text x="{middle:.1f}" y="{foot}" text-anchor="middle">{escape(panel.across)}</text>'
    for name, line in panel.lines.items():
        colour = _colour(names.index(name))
        path = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in line)
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
        for x, y in line:
            yield f'<circle cx="{across(x):.1f}" cy="{up(y):.1f}" r="2.5" fill="{colour}"/>'


def place(x: float, steps: Sequence[float]) -> float:
    """Return the position of a step, from 0 to 1, on a logarithmic axis.

    Zero has the position one step before the first other step.
    """
    others = [step for step in steps if step > 0]
    if len(steps) == 1 or not others:
        return 0.5
    low, high = math.log(others[0]), math.log(others[-1])
    if steps[0] <= 0:
        low -= (high - low) / max(1, len(others) - 1) or 1
    at = low if x <= 0 else math.log(x)
    return (at - low) / (high - low) if high > low else 1.0


def nice(most: float) -> float:
    """Return the top of an axis: the next of 1, 2, 4, 8 and 10 times a power of ten."""
    if most <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(most))
    return next(factor * power for factor in (1, 2, 4, 8, 10) if factor * power >= most * 0.999)


def short(value: float) -> str:
    """Abbreviate a number: 1.5k for 1,500."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.4g}{letter}" if value % size else f"{value / size:g}{letter}"
    return f"{value:.3g}"
