"""Timers as a whole: set, wait, deliver once, never early; restarts, and jumps of the clock."""

import errno

import pytest

from mqgateway.engine.store.message_store import PutStatus
from mqgateway.engine.timers.enqueue import BATCH
from mqgateway.engine.timers.messages import NEVER_WAITED
from tests.support.engine.timers.bench import START, Bench, message

DAY = 86_400_000


def test_delivered_in_its_own_queue_after_its_time() -> None:
    bench = Bench()
    bench.set_at(b"later", START + 2500, "k1")
    assert bench.bodies() == []
    bench.pass_time(2499)
    assert bench.bodies() == []
    bench.pass_time(501)
    (one,) = bench.delivered()
    assert (one.topic, one.queue_id, one.body) == ("orders", 1, b"later")
    properties = one.properties
    assert properties["UNIQ_KEY"] == "k1" and properties["TAGS"] == "red"
    assert "REAL_TOPIC" not in properties and "REAL_QID" not in properties
    assert properties["TIMER_OUT_MS"] == str(START + 2000)
    assert int(properties["TIMER_DEQUEUE_MS"]) == bench.now


def test_a_time_on_the_border_of_a_step_is_kept_exactly() -> None:
    bench = Bench()
    bench.set_at(b"exact", START + 3000)
    bench.pass_time(2999, step=1000)
    assert bench.bodies() == []
    bench.pass_time(1)
    assert bench.bodies() == [b"exact"]


@pytest.mark.parametrize(
    ("properties", "due"),
    [
        ({"TIMER_DELAY_SEC": 3}, 3000),
        ({"TIMER_DELAY_MS": 3000}, 3000),
        ({"TIMER_DELAY_SEC": 3, "TIMER_DELAY_MS": 9000}, 3000),
        ({"TIMER_DELAY_MS": 3000, "TIMER_DELIVER_MS": START + 9000}, 3000),
    ],
)
def test_the_ways_to_say_when(properties: dict[str, int], due: int) -> None:
    bench = Bench()
    assert bench.set(message(**properties)) == [None]
    bench.pass_time(due - 1)
    assert not bench.bodies()
    bench.pass_time(1)
    assert bench.bodies() == [b"hello"]


def test_message_due_already_is_not_a_timer() -> None:
    bench = Bench()
    assert bench.set(message(b"now", TIMER_DELIVER_MS=START)) == [None]
    assert bench.bodies() == [b"now"]
    assert bench.set_aside() == []


def test_shorter_than_a_step_is_delivered_without_the_wheel() -> None:
    bench = Bench()
    bench.clock.advance(950)
    bench.set_at(b"soon", START + 960)
    bench.clock.advance(60)
    bench.tick()
    (one,) = bench.delivered()
    assert one.properties["TIMER_ENQUEUE_MS"] == str(NEVER_WAITED)
    assert bench.timers.log.position > 0, "a mark says how far the topic was read"
    assert bench.timers.pending == 0


def test_refused_where_the_wheel_is_off() -> None:
    bench = Bench(timer_wheel_enable=False)
    assert bench.set(message(TIMER_DELAY_SEC=1)) == [PutStatus.WHEEL_TIMER_NOT_ENABLE]
    assert not bench.disk.exists("/store/timerwheel")
    assert bench.timers.runtime_info()["timerCongestNum"] == "0"


def test_in_the_order_in_which_they_were_set() -> None:
    bench = Bench(max_timers_per_tick=7)
    wanted = [b"%d" % number for number in range(300)]
    for body in wanted:
        bench.set_at(body, START + 1500)
    bench.pass_time(2000, step=500)
    assert bench.bodies() == wanted
    assert bench.timers.pending == 0


def test_deleted_by_key() -> None:
    bench = Bench()
    bench.set_at(b"goes", START + 2500, "k1")
    bench.set_at(b"stays", START + 2500, "k2")
    bench.tick()
    assert bench.timers.metrics.counts() == {"orders": 2}
    assert bench.delete("k1", START + 2001) is None
    bench.tick()
    assert bench.timers.metrics.counts() == {"orders": 1}
    bench.pass_time(4000)
    assert bench.bodies() == [b"stays"]
    assert bench.timers.metrics.counts() == {"orders": 0}


def test_deleted_by_topic_and_key() -> None:
    """Before version 5.4 the deleting key had the topic before it."""
    bench = Bench()
    bench.set_at(b"goes", START + 2500, "k1")
    bench.set_at(b"stays", START + 2500, "k2")
    for key in ("orders+k1", "other+k2"):
        bench.set(message(b"0", "x", TIMER_DELIVER_MS=START + 2500, TIMER_DEL_UNIQKEY=key))
    bench.pass_time(4000)
    assert bench.bodies() == [b"stays"]


@pytest.mark.parametrize("key", ["k1", "orders+k1"])
def test_deletion_of_another_topic_deletes_nothing(key: str) -> None:
    """The sender of a deletion was authorized for its own topic only."""
    bench = Bench()
    bench.set_at(b"stays", START + 2500, "k1")
    deletion = message(b"0", "x", TIMER_DELIVER_MS=START + 2500, TIMER_DEL_UNIQKEY=key)
    deletion.topic = "other"
    bench.set(deletion)
    bench.pass_time(4000)
    assert bench.bodies() == [b"stays"]


def test_a_late_deletion_delivers_nothing() -> None:
    bench = Bench()
    bench.delete("k1", START + 300)
    bench.pass_time(3000)
    assert bench.bodies() == []


def test_rolls_past_the_window() -> None:
    bench = Bench(timer_roll_window_slot=60)
    bench.set_at(b"far", START + 200_500, "k1")
    bench.pass_time(199_000, step=1000)
    assert bench.bodies() == []
    assert bench.timers.metrics.counts() == {"orders": 1}
    bench.pass_time(3000, step=500)
    (one,) = bench.delivered()
    assert one.properties["TIMER_ROLL_TIMES"] == str(len(bench.set_aside()) - 1)
    assert int(one.properties["TIMER_ROLL_TIMES"]) >= 3
    assert bench.timers.metrics.counts() == {"orders": 0}


def test_a_deletion_rolls_as_well() -> None:
    bench = Bench(timer_roll_window_slot=60)
    bench.set_at(b"far", START + 200_500, "k1")
    bench.pass_time(10_000, step=1000)
    bench.delete("k1", START + 200_001)
    bench.pass_time(195_000, step=1000)
    assert bench.bodies() == []
    assert bench.timers.metrics.counts() == {"orders": 0}


def test_after_a_year() -> None:
    bench = Bench(timer_precision_ms=60_000, timer_roll_window_slot=400)
    bench.set_at(b"old", START + 365 * DAY)
    bench.pass_time(365 * DAY - 1, step=DAY // 4)
    assert bench.bodies() == []
    bench.pass_time(60_000, step=10_000)
    assert bench.bodies() == [b"old"]


@pytest.mark.parametrize("precision", [1, 10, 100])
def test_fractions_of_a_second(precision: int) -> None:
    bench = Bench(timer_precision_ms=precision)
    bench.set_at(b"fine", START + 333)
    bench.pass_time(332, step=1)
    assert bench.bodies() == []
    bench.pass_time(precision, step=1)
    assert bench.bodies() == [b"fine"]


def test_another_precision_waits_until_no_timer_does() -> None:
    bench = Bench()
    bench.set_at(b"one", START + 2500)
    bench.tick()
    bench.changes["timer_precision_ms"] = 100
    bench = bench.restart()
    assert bench.timers.precision == 1000
    bench.pass_time(3000)
    assert bench.bodies() == [b"one"]
    bench = bench.restart()
    assert bench.timers.precision == 100
    bench.set_at(b"two", bench.now + 250)
    bench.pass_time(300)
    assert bench.bodies() == [b"one", b"two"]


def test_a_restart_keeps_what_waits() -> None:
    bench = Bench()
    for number in range(5):
        bench.set_at(b"%d" % number, START + 1500 + 1000 * number)
    bench.pass_time(2500)
    bench = bench.restart()
    assert bench.timers.pending == 4
    bench.pass_time(10_000)
    assert bench.bodies() == [b"0", b"1", b"2", b"3", b"4"]
    bench = bench.restart()
    bench.pass_time(5000)
    assert len(bench.bodies()) == 5


def test_timers_due_during_downtime_are_delivered_at_start() -> None:
    bench = Bench()
    for number in range(5):
        bench.set_at(b"%d" % number, START + 1500 + 1000 * number)
    bench.tick()
    bench.stop()
    bench.clock.advance(40 * DAY)
    bench = bench.again(bench.disk)
    bench.set_at(b"new", bench.now + 1500)
    bench.tick()
    assert bench.bodies() == [b"0", b"1", b"2", b"3", b"4"]
    bench.pass_time(2000)
    assert bench.bodies()[-1] == b"new"


@pytest.mark.parametrize("others", [0, 2 * BATCH])
@pytest.mark.parametrize("is_in_the_wheel", [True, False])
def test_recall_that_was_not_read_before_the_server_was_killed_counts(
    is_in_the_wheel: bool, others: int
) -> None:
    """It is down when both are due, and has more to read at its start than at a time."""
    bench = Bench()
    bench.set_at(b"goes", START + 2500, "k1")
    if is_in_the_wheel:
        bench.tick()
    for number in range(others):
        bench.set_at(b"%d" % number, START + 2500)
    bench.delete("k1", START + 2500)
    disk = bench.disk.kill()
    bench.clock.advance(60_000)
    bench = bench.again(disk)
    bench.pass_time(2000)
    assert sorted(bench.bodies(), key=int) == [b"%d" % number for number in range(others)]


@pytest.mark.parametrize("jump", [-50_000, -7_200_000, 3_600_000])
def test_clock_that_is_set_makes_no_timer_wait_longer_or_shorter(jump: int) -> None:
    bench = Bench()
    bench.set_at(b"done", START + 1500)
    bench.set_at(b"old", START + 100_000)
    bench.pass_time(60_000, step=1000)
    bench.jump(jump)
    bench.set_at(b"new", bench.now + 2000)
    bench.pass_time(1900)
    assert bench.bodies() == [b"done"]
    bench.pass_time(1100)
    assert bench.bodies() == [b"done", b"new"]
    bench.pass_time(36_000, step=1000)
    assert bench.bodies() == [b"done", b"new"]
    bench.pass_time(2000)
    assert bench.bodies() == [b"done", b"new", b"old"]


def test_clock_set_back_makes_no_timer_wait_longer_after_a_start() -> None:
    bench = Bench()
    bench.set_at(b"old", START + 100_000)
    bench.pass_time(60_000, step=1000)
    bench.jump(-50_000)
    bench = bench.kill()
    bench.set_at(b"new", bench.now + 2000)
    bench.pass_time(3000)
    assert bench.bodies() == [b"new"]
    bench.pass_time(35_000, step=1000)
    assert bench.bodies() == [b"new"]
    bench.pass_time(5000)
    assert bench.bodies() == [b"new", b"old"]
    bench = bench.restart()
    assert bench.steady == bench.now


def test_a_timer_waits_until_the_time_it_asked_for_by_the_clock_as_it_is() -> None:
    bench = Bench()
    bench.jump(-50_000)
    bench.set_at(b"x", START)
    bench.pass_time(49_900, step=100)
    assert bench.bodies() == []
    bench.pass_time(1100)
    assert bench.bodies() == [b"x"]


def test_stopped_by_settings() -> None:
    bench = Bench()
    bench.set_at(b"x", START + 1500)
    bench.options.timer_stop_enqueue = True
    bench.pass_time(3000)
    assert bench.timers.enqueue.behind == 1
    bench.options.timer_stop_enqueue = False
    bench.set_at(b"y", bench.now + 1500)
    bench.options.timer_stop_dequeue = True
    bench.pass_time(3000)
    assert bench.bodies() == []
    bench.options.timer_stop_dequeue = False
    bench.tick()
    assert sorted(bench.bodies()) == [b"x", b"y"]


def test_a_full_disk_delays_but_loses_nothing() -> None:
    bench = Bench()
    for number in range(40):
        bench.set_at(b"%d" % number, START + 1500)
    bench.disk.fail_next("write", "timerlog", errno.ENOSPC, times=1)
    bench.disk.fail_next("write", "timerwheel", errno.ENOSPC, times=2)
    bench.pass_time(1000)
    assert bench.timers.pending == 0 or bench.timers.log.position == 0
    bench.disk.fail_next("write", "commitlog", errno.EIO, times=1)
    bench.pass_time(9000)
    assert sorted(bench.bodies(), key=int) == [b"%d" % number for number in range(40)]


def test_wait_until_next_due_timer() -> None:
    bench = Bench()
    bench.tick()
    assert bench.timers.wait_millis(bench.now) is None
    bench.set_at(b"x", START + 2500)
    bench.clock.advance(300)
    bench.tick()
    assert bench.timers.wait_millis(bench.now) == 700


def test_figures() -> None:
    bench = Bench()
    for _ in range(3):
        bench.set_at(b"x", START + 5500)
    bench.pass_time(1000)
    info = bench.timers.runtime_info()
    assert info["timerCongestNum"] == "3" and info["timerOffsetBehind"] == "0"
    assert info["timerReadBehind"] == "0"
    assert float(info["timerEnqueueTps"]) > 0
