"""Figures are compared with their limits."""

from __future__ import annotations

import pytest

from bench.aims import Aimed, misses


@pytest.mark.parametrize(
    ("aimed", "short"),
    [
        (Aimed("CPU", 0.51, 0.5), ["CPU 0.51, aimed at 0.5 or less"]),
        (Aimed("CPU", 0.5, 0.5), []),
        (Aimed("rate", 0.99, 1.0, is_least=True), ["rate 0.99, aimed at 1.0 or more"]),
        (Aimed("rate", 1.0, 1.0, is_least=True), []),
        (Aimed("p50", 1.4, 1.0, unit=" ms"), ["p50 1.40 ms, aimed at 1.0 ms or less"]),
        (Aimed("CPU", None, 0.5), []),
        (Aimed("CPU", 0.6, None), []),
    ],
)
def test_figure_beyond_its_limit_is_a_miss(aimed: Aimed, short: list[str]) -> None:
    assert misses([aimed]) == short


def test_misses_are_in_the_order_of_the_table() -> None:
    table = [Aimed("b", 2, 1), Aimed("c", 1, 1), Aimed("a", 2, 1)]
    assert [text[0] for text in misses(table)] == ["b", "a"]
