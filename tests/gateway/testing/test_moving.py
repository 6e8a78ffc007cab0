"""The clock of a server for tests: it runs on, leaps, and may hurry."""

from __future__ import annotations

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.gateway.testing.moving import MovingClock


def test_it_runs_with_the_machines_clock() -> None:
    machine = ManualClock(1000)
    clock = MovingClock(machine=machine)
    assert clock.millis() == 1000
    machine.advance(250)
    assert clock.millis() == 1250 and clock.monotonic() == 0.25 and clock.ahead_millis == 0


def test_it_leaps_and_runs_on_from_there() -> None:
    machine = ManualClock(1000)
    clock = MovingClock(machine=machine)
    clock.leap(60)
    machine.advance(1000)
    assert clock.millis() == 62_000 and clock.monotonic() == 61 and clock.ahead_millis == 60_000
    with pytest.raises(ValueError, match="not go back"):
        clock.leap(-1)


def test_it_may_run_faster_but_not_slower() -> None:
    machine = ManualClock(1000)
    clock = MovingClock(100, machine)
    machine.advance(20)
    assert clock.millis() == 3000
    with pytest.raises(ValueError, match="speed"):
        MovingClock(0.5, machine)
