"""Cooperative tasks: lanes, turns, and dropped work."""

import logging
from collections.abc import Callable
from typing import Any

import pytest

from mqgateway.engine.steps import Steps
from mqgateway.gateway.remoting.long_work import SLICE_STEPS, LongWork
from mqgateway.gateway.remoting.turn import Turn


class Scene:
    """Works that record each step."""

    def __init__(self) -> None:
        self.calls: list[Callable[[], Any]] = []
        self.turns = 0
        self.works = LongWork(self, Turn(self.turned))  # type: ignore[arg-type]  # we are the loop
        self.steps: list[str] = []
        self.answers: list[object] = []

    def work(self, name: str, slices: int) -> Steps[bytes]:
        for _ in range(slices):
            self.steps.append(name)
            for _ in range(SLICE_STEPS):
                yield
        return name.encode()

    def turned(self) -> None:
        """After-read hook."""
        self.turns += 1

    def turn(self) -> None:
        """Run one turn of the event loop, without the calls that it schedules."""
        calls, self.calls = self.calls, []
        for call in calls:
            call()

    def callLater(self, delay: float, call: Callable[[], Any]) -> object:
        self.calls.append(call)
        return call


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_turn_runs_one_slice_and_last_one_answers(scene: Scene) -> None:
    scene.works.add(103, scene.work("a", 2), scene.answers.append)
    assert scene.steps == []
    scene.turn()
    assert scene.steps == ["a"]
    scene.turn()
    assert (scene.steps, scene.answers, len(scene.works)) == (["a", "a"], [], 1)
    scene.turn()
    assert (scene.answers, len(scene.works)) == ([b"a"], 0)
    assert scene.calls == []


def test_lane_is_ordered_and_lanes_take_turns(scene: Scene) -> None:
    for lane, name in ((103, "a"), (103, "b"), (34, "c")):
        scene.works.add(lane, scene.work(name, 2), scene.answers.append)
    for _ in range(12):
        scene.turn()
    assert scene.steps == ["a", "c", "a", "c", "b", "b"]
    assert scene.answers == [b"a", b"c", b"b"]


def test_queued_work_can_be_dropped(scene: Scene) -> None:
    first, second = (scene.works.add(103, scene.work(name, 1), scene.answers.append) for name in "ab")
    scene.works.drop(second)
    scene.works.drop(first)  # which is finished all the same: half of it may have been done
    for _ in range(4):
        scene.turn()
    assert (scene.steps, scene.answers) == (["a"], [b"a"])
    scene.works.drop(first)


def test_failed_work_does_not_stop_others(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    def fails() -> Steps[bytes]:
        yield
        raise ZeroDivisionError

    scene.works.add(34, fails(), scene.answers.append)
    scene.works.add(34, scene.work("b", 1), scene.answers.append)
    with caplog.at_level(logging.ERROR):
        for _ in range(4):
            scene.turn()
    assert "a long-running request failed" in caplog.text
    assert scene.answers == [None, b"b"]


def test_slice_ends_with_after_read_hook(scene: Scene) -> None:
    """So its changes become readable and are flushed without waiting for another read."""
    scene.works.add(103, scene.work("a", 2), scene.answers.append)
    scene.turn()
    assert scene.turns == 1
    scene.turn()
    assert scene.turns == 2
