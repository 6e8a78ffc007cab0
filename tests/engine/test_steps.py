"""Cooperative tasks."""

from __future__ import annotations

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.steps import Steps, columns_in_parts, in_parts, run, run_for


def count(done: list[int], most: int, clock: ManualClock | None = None) -> Steps[int]:
    for number in range(most):
        done.append(number)
        if clock is not None:
            clock.advance(4)
        yield
    return sum(done)


def test_all_of_it_in_one_go() -> None:
    done: list[int] = []
    assert run(count(done, 4)) == 6
    assert done == [0, 1, 2, 3]


def test_run_for_yields_after_its_time() -> None:
    done: list[int] = []
    clock = ManualClock()
    steps = count(done, 7, clock)
    rounds = []
    while not run_for(steps, clock, 0.01):
        rounds.append(len(done))
    assert rounds == [3, 6]
    assert len(done) == 7


def test_error_of_a_task_is_raised_by_run() -> None:
    def fails() -> Steps[None]:
        yield
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        run(fails())


def test_a_list_is_gone_through_in_parts() -> None:
    assert list(in_parts([1, 2, 3, 4, 5], 2)) == [[1, 2], [3, 4], [5]]
    assert list(in_parts([])) == []


def test_a_table_is_looked_through_as_it_was() -> None:
    table = dict(zip("abcde", range(5), strict=True))
    parts = columns_in_parts(table, 2)
    assert next(parts) == (["a", "b"], [0, 1])
    del table["c"]
    table["f"] = 6
    assert list(parts) == [(["c", "d"], [2, 3]), (["e"], [4])]
    assert list(columns_in_parts({})) == []
