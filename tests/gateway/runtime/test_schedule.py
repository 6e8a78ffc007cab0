"""Timers: once, repeated, cancelled, stopped; a failure is logged and ends nothing."""

from __future__ import annotations

import logging

import pytest
from twisted.internet.task import Clock

from mqgateway.gateway.runtime.schedule import Schedule


def test_once_and_again_and_again() -> None:
    clock = Clock()
    schedule = Schedule(clock)
    seen: list[str] = []
    schedule.later(2, seen.append, "later")
    schedule.every(1, 3, lambda: seen.append("every"))
    for _ in range(8):
        clock.advance(1)
    assert seen == ["every", "later", "every", "every"]
    assert schedule.seconds() == 8


def test_cancelled_and_stopped_timers_are_not_called() -> None:
    clock = Clock()
    schedule = Schedule(clock)
    seen: list[int] = []
    first = schedule.later(1, seen.append, 1)
    assert first.is_waiting
    first.cancel()
    first.cancel()
    again = schedule.every(1, 1, lambda: again.cancel())
    clock.pump([1, 1, 1])
    schedule.later(1, seen.append, 2)
    schedule.stop()
    assert not schedule.later(1, seen.append, 3).is_waiting
    clock.pump([1, 1, 1])
    assert seen == [] and not clock.getDelayedCalls()


def test_a_pause_is_over_when_its_time_has_come() -> None:
    clock = Clock()
    over: list[None] = []
    Schedule(clock).pause(3).addCallback(over.append)
    clock.advance(2)
    assert not over
    clock.advance(1)
    assert over == [None]


def test_a_failure_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()

    def fail() -> None:
        raise ValueError("it went wrong")

    with caplog.at_level(logging.ERROR):
        Schedule(clock).every(1, 1, fail)
        clock.pump([1, 1])
    assert caplog.text.count("fail failed") == 2 and "it went wrong" in caplog.text
