"""Clocks: the hand-moved one moves only by hand, the machine's moves by itself."""

from mqgateway.engine.clock import ManualClock, SystemClock, elapsed_millis, seconds_since_boot


def test_the_manual_clock_moves_both_times_together() -> None:
    clock = ManualClock(millis=1000)
    assert (clock.millis(), clock.monotonic()) == (1000, 0.0)
    clock.advance(1500)
    assert (clock.millis(), clock.monotonic()) == (2500, 1.5)


def test_setting_the_wall_leaves_durations_alone() -> None:
    clock = ManualClock(millis=1000)
    clock.set_wall(5)
    assert (clock.millis(), clock.monotonic()) == (5, 0.0)


def test_the_system_clock_never_goes_back() -> None:
    clock = SystemClock()
    first = clock.monotonic()
    assert clock.monotonic() >= first
    assert clock.millis() > 1_700_000_000_000


def test_elapsed_time_does_not_follow_the_wall() -> None:
    clock = ManualClock()
    before = elapsed_millis(clock)
    clock.set_wall(0)
    clock.advance(250)
    assert elapsed_millis(clock) == before + 250


def test_time_since_the_start_of_the_machine_continues() -> None:
    first = seconds_since_boot()
    assert 0 < first <= seconds_since_boot()
