"""Drawings are right in form and size."""

from __future__ import annotations

from xml.etree import ElementTree

from mqgateway.pipeline.jobs.picture import BARS_MAX, bars, merged


def test_a_bar_for_each_point() -> None:
    root = ElementTree.fromstring(bars("A & B", [("10:00", 5), ("10:01", 10), ("<x>", 0)]))
    rects = root.findall("{*}rect")[1:]
    heights = [float(rect.get("height") or 0) for rect in rects]
    assert len(rects) == 3 and heights[1] == 2 * heights[0] and heights[2] == 0
    assert root.findtext("{*}text") == "A & B"


def test_many_points_are_added_up() -> None:
    points = [(str(number), 1.0) for number in range(1000)]
    found = merged(points, BARS_MAX)
    assert len(found) <= BARS_MAX and sum(value for _, value in found) == 1000
    assert merged(points[:3], 3) == points[:3]


def test_nothing_can_be_drawn() -> None:
    assert bars("none", []).endswith("</svg>\n")
