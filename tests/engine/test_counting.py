"""Counters for the broker's own work, and the stand-in without counters."""

import inspect

import pytest

from mqgateway.engine.counting import UNCOUNTED, Counting, Uncounted
from tests.support.engine.pop.pop_store import GRACE, INVISIBLE, Bench


@pytest.mark.parametrize("name", ["put", "got"])
def test_uncounted_has_the_signatures_of_counting(name: str) -> None:
    assert inspect.signature(getattr(Uncounted, name)) == inspect.signature(getattr(Counting, name))


def test_nothing_is_counted_without_meters() -> None:
    bench = Bench(counts=UNCOUNTED)
    bench.send()
    bench.pop(0)
    bench.wait(INVISIBLE + GRACE)
    assert bench.revived == [b"x"]
    assert not bench.counted.puts
