"""The picture is an SVG document with a line for each server and a point for each figure."""

from xml.etree import ElementTree

import pytest

from bench.picture import Panel, nice, picture, place, short

NAME = "{http://www.w3.org/2000/svg}"


def test_every_point_is_drawn_within_the_picture() -> None:
    lines = {"ours": [(0, 10.0), (100, 20.0), (10_000, 5.0)], "apache": [(0, 1.0)]}
    drawing = ElementTree.fromstring(picture([[Panel("messages/s", "a < b", lines)]]))
    circles = list(drawing.iter(f"{NAME}circle"))
    assert len(circles) == 4 and len(list(drawing.iter(f"{NAME}polyline"))) == 2
    width, height = float(drawing.attrib["width"]), float(drawing.attrib["height"])
    assert all(0 <= float(one.attrib["cx"]) <= width for one in circles)
    assert all(0 <= float(one.attrib["cy"]) <= height for one in circles)


def test_steps_stand_evenly_in_logarithms_and_zero_before_them() -> None:
    assert [place(x, [1, 10, 100]) for x in (1, 10, 100)] == pytest.approx([0, 0.5, 1])
    assert [place(x, [0, 10, 100]) for x in (0, 10, 100)] == pytest.approx([0, 0.5, 1])
    assert [place(x, [0, 7]) for x in (0, 7)] == pytest.approx([0, 1])
    assert place(5, [5]) == 0.5


@pytest.mark.parametrize(("most", "top"), [(0, 1), (1, 1), (3, 4), (950, 1000), (1100, 2000), (0.3, 0.4)])
def test_axes_end_at_even_numbers(most: float, top: float) -> None:
    assert nice(most) == pytest.approx(top)


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (0.25, "0.25"), (999, "999"), (1000, "1k"), (65536, "65.54k"), (2e6, "2M")]
)
def test_numbers_are_short(value: float, text: str) -> None:
    assert short(value) == text
