"""Out of the wheel: incrementally, in order, and past damage."""

import pytest

from mqgateway.engine.timers.wheel import Slot
from tests.support.engine.timers.bench import START, Bench, message


def test_a_large_slot_is_delivered_in_steps() -> None:
    bench = Bench(max_timers_per_tick=10)
    for number in range(100):
        bench.set_at(b"%d" % number, START + 1500)
    bench.tick()
    bench.clock.advance(2000)
    bench.timers.tick(bench.now)
    bench.store.tick()
    assert 0 < len(bench.bodies()) <= 10
    assert bench.timers.is_behind and bench.timers.wait_millis(bench.now) == 0
    assert bench.timers.dequeue.first_open == START + 2000
    bench.tick()
    assert bench.bodies() == [b"%d" % number for number in range(100)]


def test_a_slot_in_work_takes_no_more() -> None:
    """Timers that become due in it, as the clock is set back, are delivered one step later."""
    bench = Bench(max_timers_per_tick=4)
    for number in range(20):
        bench.set_at(b"%d" % number, START + 1500)
    bench.tick()
    bench.clock.advance(2000)
    bench.timers.tick(bench.now)
    bench.clock._millis -= 900
    bench.set_at(b"new", bench.now + 100)
    bench.tick()
    assert b"new" not in bench.bodies()
    bench.pass_time(2000)
    assert len(bench.bodies()) == 21 and bench.bodies()[-1] == b"new"


def test_deletions_of_a_slot_come_first() -> None:
    """Even one that was set before the timer that it deletes."""
    bench = Bench()
    bench.delete("k", START + 1500)
    bench.set_at(b"x", START + 1500, "k")
    bench.pass_time(3000)
    assert bench.bodies() == []


def test_a_chain_that_is_broken_delivers_what_can_be_reached(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    for number in range(5):
        bench.set_at(b"%d" % number, START + 1500)
    bench.tick()
    bench.disk.flip("/store/timerlog/00000000000000000000", 2 * 52 + 3)
    bench.timers.log._window = (0, b"")
    bench.pass_time(2000)
    assert bench.bodies() == [b"3", b"4"]
    assert "ends at 104 of the timer log" in caplog.text


def test_a_unit_that_means_another_message_delivers_nothing(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    bench.store.put(message(b"plain"))
    bench.store.dispatch()
    bench.set_at(b"x", START + 1500)
    bench.tick()
    unit = bench.timers.log.read(0)
    assert unit is not None
    position = bench.timers.log.append(unit._replace(physical_offset=0))
    bench.timers.log.write()
    bench.timers.wheel.put(Slot(START + 1000, position, position, 1))
    bench.pass_time(2000)
    assert bench.bodies() == [b"plain"]
    assert "is not a timer" in caplog.text


def test_long_stretches_without_timers_are_passed_at_once() -> None:
    bench = Bench()
    bench.set_at(b"x", START + 1500)
    bench.tick()
    bench.clock.advance(400_000_000)
    bench.tick()
    assert bench.bodies() == [b"x"]
    assert bench.timers.dequeue.read_time == bench.timers.wheel.floor(bench.now)
