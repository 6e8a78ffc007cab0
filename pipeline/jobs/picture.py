"""A drawing of numbers over time, as SVG text; pure."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 900, 320
LEFT, TOP, BOTTOM = 70, 40, 50
LABELS = 6
BARS_MAX = 400

_FRAME = '<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif">'


def merged(points: Sequence[tuple[str, float]], count: int) -> list[tuple[str, float]]:
    """At most `count` points: neighbours are added up, and called by the first."""
    if len(points) <= count:
        return list(points)
    size = -(-len(points) // count)
    return [
        (points[at][0], sum(value for _, value in points[at : at + size]))
        for at in range(0, len(points), size)
    ]


def bars(title: str, points: Sequence[tuple[str, float]]) -> str:
    """Return a bar for each point: its label and its value."""
    points = merged(points, BARS_MAX)
    top = max((value for _, value in points), default=0) or 1
    room, height = WIDTH - LEFT - 10, HEIGHT - TOP - BOTTOM
    base = TOP + height
    lines = [_FRAME.format(width=WIDTH, height=HEIGHT), '<rect width="100%" height="100%" fill="white"/>']
    lines.append(f'<text x="{LEFT}" y="24" font-size="16">{escape(title)}</text>')
    for part in (0, 0.5, 1):
        y = base - height * part
        lines.append(f'<line x1="{LEFT}" y1="{y:.0f}" x2="{WIDTH - 10}" y2="{y:.0f}" stroke="#ddd"/>')
        lines.append(
            f'<text x="{LEFT - 6}" y="{y + 4:.0f}" font-size="11" text-anchor="end">{top * part:,.0f}</text>'
        )
    width = room / max(1, len(points))
    every = max(1, -(-len(points) // LABELS))
    for number, (label, value) in enumerate(points):
        x, tall = LEFT + number * width, height * value / top
        lines.append(
            f'<rect x="{x:.1f}" y="{base - tall:.1f}" width="{max(0.5, width - 1):.1f}" '
            f'height="{tall:.1f}" fill="#3b6ea5"><title>{escape(label)}: {value:,.0f}</title></rect>'
        )
        if number % every == 0:
            lines.append(f'<text x="{x:.1f}" y="{base + 18}" font-size="11">{escape(label)}</text>')
    lines.append("</svg>")
    return "\n".join(lines) + "\n"
