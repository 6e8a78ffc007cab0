"""Steady time continues however the wall clock is set, and converts store timestamps."""

import random

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.steady_clock import NOISE_MILLIS, READS, STEPS_MAX, SteadyClock

START = 1_700_000_000_000
HOUR = 3_600_000


def clocks() -> tuple[ManualClock, SteadyClock]:
    clock = ManualClock(START)
    return clock, SteadyClock(clock)


def test_it_begins_with_the_wall_clock_and_continues_by_the_monotonic_one() -> None:
    clock, steady = clocks()
    clock.advance(1000)
    assert steady.now() == clock.millis()
    clock.set_wall(START - HOUR)
    assert steady.now() == START + 1000
    clock.advance(500)
    assert steady.now() == START + 1500
    assert steady.ahead == HOUR + 1000


def test_clocks_that_are_read_a_moment_apart_go_together() -> None:
    clock, steady = clocks()
    clock.set_wall(START - NOISE_MILLIS)
    assert steady.ahead == 0
    clock.set_wall(START - NOISE_MILLIS - 1)
    assert steady.ahead == NOISE_MILLIS + 1


class BusyClock(ManualClock):
    """A clock whose process loses its processor between two reads, for these times in ms."""

    def __init__(self) -> None:
        super().__init__(START)
        self.waits: list[int] = []

    def millis(self) -> int:
        if self.waits:
            self.advance(self.waits.pop(0))
        return super().millis()


def test_clocks_are_read_again_if_the_process_had_to_wait_between() -> None:
    clock = BusyClock()
    steady = SteadyClock(clock)
    clock.set_wall(START + HOUR)
    clock.waits = [800, 300]
    assert steady.ahead == -HOUR
    clock.waits = [800, 300, 700, 500, 400]
    assert steady.ahead == -HOUR - 300


def test_wait_between_two_reads_is_no_step_of_the_clock() -> None:
    clock = BusyClock()
    steady = SteadyClock(clock)
    clock.waits = [500] * READS
    steady.look(1000)
    assert steady.ahead_at(1000, START) == 0
    assert not clock.waits


def test_a_store_timestamp_is_read_as_it_was_meant() -> None:
    clock, steady = clocks()
    steady.look(1000)
    clock.advance(60_000)
    clock.set_wall(START - HOUR)
    steady.look(2000)
    ahead = HOUR + 60_000
    assert steady.ahead_at(999, START) == 0
    assert steady.ahead_at(2000, START - HOUR) == ahead
    # For records stored between two checks the store timestamp shows the side of the step.
    assert steady.ahead_at(1500, START + 60_000) == 0
    assert steady.ahead_at(1600, START - HOUR) == ahead


def test_an_earlier_run_may_have_come_further() -> None:
    _, steady = clocks()
    steady.continue_from(START - 5)
    assert steady.now() == START
    steady.continue_from(START + 5000)
    assert steady.now() == START + 5000
    assert (steady.ahead, steady.ahead_at(0, START)) == (5000, 5000)
    steady.look(100)
    assert steady.ahead_at(200, START) == 5000


def test_any_clock_reports_when_a_record_was_stored() -> None:
    """Steps, drift and a frozen clock, both ways, by hours: a record's age is right."""
    for seed in range(50):
        chance = random.Random(seed)
        clock, steady = clocks()
        records: list[tuple[int, int, int]] = []
        position = 0
        for _ in range(100):
            kind = chance.randrange(6)
            before = clock.millis()
            clock.advance(chance.randrange(1, 400))
            if kind == 0:
                clock.set_wall(clock.millis() + chance.randrange(-5 * HOUR, 5 * HOUR))
            elif kind == 1:
                clock.set_wall(before)
            elif kind == 2:
                clock.set_wall(clock.millis() + chance.randrange(-50, 50))
            records.append((position, clock.millis(), int(clock.monotonic() * 1000)))
            position += 100
            steady.look(position)
        for at, stored, elapsed in records:
            assert abs(stored + steady.ahead_at(at, stored) - (START + elapsed)) <= NOISE_MILLIS


def test_a_clock_that_is_set_for_ever_costs_little() -> None:
    clock, steady = clocks()
    for number in range(3 * STEPS_MAX):
        clock.set_wall(START + number * 100)
        steady.look(number)
    clock.set_wall(START - HOUR)
    steady.look(10**6)
    for number in range(3 * STEPS_MAX):
        clock.set_wall(START - HOUR + number * 100)
        steady.look(10**6 + number)
    assert len(steady._steps) <= STEPS_MAX
    assert steady.ahead_at(10**6 + STEPS_MAX, START - HOUR) > HOUR - 3 * STEPS_MAX * 100
