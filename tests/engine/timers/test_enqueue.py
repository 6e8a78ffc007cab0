"""Into the wheel: units and slots, the window, marks, and messages that are not timers."""

import errno

from mqgateway.engine.message import TIMER_TOPIC
from mqgateway.engine.timers.timer_log import DEFAULT, DELETE, MARK, ROLL, Unit
from tests.support.engine.timers.bench import START, Bench, message


def units(bench: Bench) -> list[Unit]:
    return [unit for _, unit in bench.timers.log.scan(0) if unit is not None]


def test_units_of_a_slot_are_chained() -> None:
    bench = Bench()
    for delay in (2500, 9500, 2600, 2700):
        bench.set_at(b"x", START + delay)
    bench.tick()
    assert [unit.previous for unit in units(bench)] == [-1, -1, 0, 104]
    bench.clock.advance(100)
    bench.set_at(b"x", START + 2800)
    bench.tick()
    assert units(bench)[-1].previous == 156
    slot = bench.timers.wheel.get(START + 2000)
    assert slot is not None
    assert (slot.first, slot.last, slot.total) == (0, 208, 4)
    assert bench.timers.pending == 5


def test_beyond_the_window_a_message_is_only_set_again() -> None:
    """By half of the window if little would remain, so that nothing is done in haste."""
    bench = Bench(timer_roll_window_slot=60)
    for delay in (59_500, 61_500, 79_500, 80_500, 300_500):
        bench.set_at(b"x", START + delay)
    bench.tick()
    found = [(unit.magic & ROLL, unit.delay) for unit in units(bench)]
    assert found == [(0, 59_000), (ROLL, 30_000), (ROLL, 30_000), (ROLL, 60_000), (ROLL, 60_000)]


def test_the_window_leaves_before_the_files_do() -> None:
    bench = Bench(file_reserved_time=2, timer_roll_window_slot=172_800)
    assert bench.timers.enqueue.window <= 3_600_000


def test_mark_reports_how_far_the_topic_was_read() -> None:
    """RocketMQ's broker resumes after the message of the last unit."""
    bench = Bench()
    bench.set_at(b"one", START + 300)
    bench.set_at(b"two", START + 400)
    bench.clock.advance(1500)
    bench.tick()
    (mark,) = units(bench)
    assert (mark.magic, mark.mark) == (DEFAULT | DELETE, MARK)
    assert mark.physical_offset == bench.set_aside()[-1].physical_offset
    bench.pass_time(2000)
    assert bench.bodies() == [b"one", b"two"]
    assert bench.timers.log.position == 52


def test_messages_that_are_no_timers_are_left_out() -> None:
    bench = Bench()
    for properties in ({}, {"TIMER_OUT_MS": "soon"}, {"TIMER_OUT_MS": "", "REAL_TOPIC": "orders"}):
        bench.store.put(message(topic=TIMER_TOPIC, **properties))
        strange = message(topic=TIMER_TOPIC, **properties)
        strange.queue_id = 0
        bench.store.put(strange)
    bench.set_at(b"fine", START + 1500)
    bench.pass_time(2000)
    assert bench.bodies() == [b"fine"]
    assert bench.timers.enqueue.behind == 0


def test_times_between_steps_are_kept_as_well() -> None:
    """Only a sender that writes to the timer topic itself can request those."""
    bench = Bench()
    strange = message(b"odd", topic=TIMER_TOPIC, TIMER_OUT_MS=START + 1600, REAL_TOPIC="orders", REAL_QID=1)
    strange.queue_id = 0
    bench.store.put(strange)
    bench.store.dispatch()
    bench.pass_time(2500)
    assert bench.bodies() == []
    bench.pass_time(600)
    assert bench.bodies() == [b"odd"]


def test_a_log_that_cannot_be_written_is_tried_again_and_delivers_nothing_twice() -> None:
    bench = Bench()
    bench.set_at(b"at once", START + 300)
    bench.set_at(b"later", START + 5500)
    bench.clock.advance(1500)
    bench.disk.fail_next("write", "timerlog", errno.ENOSPC)
    bench.tick()
    assert bench.bodies() == [b"at once"]
    assert (bench.timers.pending, bench.timers.enqueue.queue_offset) == (0, 0)
    bench.pass_time(2000)
    assert bench.timers.pending == 1
    bench.pass_time(3000)
    assert bench.bodies() == [b"at once", b"later"]
    assert bench.timers.metrics.counts() == {"orders": 0}


def test_a_wheel_that_cannot_be_written_waits_with_what_it_owes() -> None:
    bench = Bench()
    for delay in (2500, 3500):
        bench.set_at(b"%d" % delay, START + delay)
    bench.disk.fail_next("write", "timerwheel", errno.EIO, times=2)
    bench.tick()
    bench.pass_time(5000)
    assert bench.bodies() == [b"2500", b"3500"]


def test_continues_where_the_queue_begins_or_ends() -> None:
    bench = Bench()
    bench.set_at(b"x", START + 5500)
    bench.timers.enqueue.queue_offset = 7
    bench.tick()
    assert bench.timers.enqueue.queue_offset == 1
