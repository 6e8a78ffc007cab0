"""Work of fixtures that starts before its scenarios are due."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from compat_tests.support.early import THREADS, Early, Work, declared

PEERS: Any = SimpleNamespace()


def item(*fixtures: str, **module: Any) -> Any:
    """A collected scenario of a module with these names."""
    return SimpleNamespace(module=SimpleNamespace(**module), fixturenames=fixtures)


def echo(peers: Any, *arguments: str) -> tuple[Any, ...]:
    return (peers, *arguments)


def test_work_is_that_of_the_fixtures_in_use() -> None:
    one, two, three = (Work(1, echo, (name,)) for name in "abc")
    early = {"first": (one, two), "second": (three,)}
    assert declared([item("tmp_path", "first", EARLY=early), item("first", EARLY=early)]) == [one, two]
    assert declared([item("first"), SimpleNamespace()]) == []  # type: ignore[list-item]


def test_longest_starts_first_and_some_at_a_time() -> None:
    began: list[str] = []
    resumed = threading.Event()

    def run(peers: Any, name: str) -> str:
        began.append(name)
        resumed.wait(60)
        return name

    work = [Work(seconds, run, (f"{seconds}",)) for seconds in range(1, THREADS + 3)]
    early = Early(PEERS, work)
    while len(began) < THREADS:
        resumed.wait(0.01)
    assert set(began) == {one.arguments[0] for one in work[-THREADS:]}
    resumed.set()
    assert [early.result(one) for one in work] == [one.arguments[0] for one in work]
    early.close()


def test_result_is_kept_and_failed_work_runs_again() -> None:
    runs: list[int] = []

    def fails_once(peers: Any) -> int:
        runs.append(len(runs))
        if len(runs) == 1:
            raise ValueError("the first time")
        return len(runs)

    work = Work(1, fails_once)
    early = Early(PEERS, [work])
    with pytest.raises(ValueError, match="the first time"):
        early.result(work)
    assert [early.result(work), early.result(work)] == [2, 2]
    early.close()


def test_work_that_was_not_declared_runs_when_due() -> None:
    early = Early(PEERS)
    assert early.result(Work(1, echo, ("x",))) == (PEERS, "x")
    early.close()
