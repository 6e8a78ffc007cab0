"""A slave that takes over its master's timers, and a master that resumes after its slave."""

from __future__ import annotations

import pytest

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.steps import run
from mqgateway.engine.store.message_store import PutResult, PutStatus
from mqgateway.engine.timers.checkpoint import TimerProgress
from mqgateway.engine.timers.timers import Timers
from tests.support.engine.timers.bench import SLOTS, START, Bench

DAY = 86_400_000


def progress(bench: Bench) -> TimerProgress:
    """Return the progress that a broker reports now."""
    return TimerProgress.decode(bench.timers.checkpoint.encode())


def take_over(bench: Bench, what: TimerProgress | None) -> Bench:
    """Replace the timers by others on the same log, as on a slave."""
    bench.timers = Timers(
        bench.store,
        bench.options,
        bench.disk,
        bench.clock,
        bench.worker,
        slots=SLOTS,
        on_delivered=bench.note,
    )
    bench.timers.stand_by()
    run(bench.timers.take_over(what))
    return bench


def test_pending_timers_are_delivered_after_takeover() -> None:
    bench = Bench()
    for second in range(1, 21):
        bench.set_at(b"%d" % second, START + second * 1000, f"k{second}")
    bench.pass_time(8000)
    take_over(bench, progress(bench))
    bench.tick()
    assert bench.bodies() == [b"%d" % second for second in range(1, 9)]
    bench.pass_time(4000)
    assert bench.bodies()[-1] == b"12"
    bench.pass_time(20_000)
    assert bench.bodies() == [b"%d" % second for second in range(1, 21)]


def test_deliveries_since_last_report_are_not_repeated() -> None:
    bench = Bench()
    for second in range(1, 21):
        bench.set_at(b"%d" % second, START + second * 1000, f"k{second}")
    bench.pass_time(3000)
    before = progress(bench)
    bench.pass_time(6000)
    take_over(bench, before)
    bench.pass_time(20_000)
    assert bench.bodies() == [b"%d" % second for second in range(1, 21)]


def test_timers_set_after_last_report_are_delivered() -> None:
    bench = Bench()
    before = progress(bench)
    bench.set_at(b"soon", START + 2000, "a")
    bench.set_at(b"late", START + 60_000, "b")
    bench.pass_time(1000)
    take_over(bench, before)
    bench.pass_time(61_000)
    assert bench.bodies() == [b"soon", b"late"]


def test_slave_without_reports_finds_everything_in_the_log() -> None:
    bench = Bench(timer_max_delay_sec=3600)
    for second in range(1, 11):
        bench.set_at(b"%d" % second, START + second * 1000, f"k{second}")
    bench.pass_time(5000)
    take_over(bench, None)
    bench.pass_time(10_000)
    assert bench.bodies() == [b"%d" % second for second in range(1, 11)]


def test_timer_that_the_master_set_again_is_delivered_once() -> None:
    """It has two messages of the timer topic; only the second one counts."""
    bench = Bench(timer_roll_window_slot=10)
    bench.set_at(b"far", START + 40_000, "k")
    bench.pass_time(12_000)
    assert len(bench.set_aside()) == 2
    take_over(bench, progress(bench))
    bench.pass_time(60_000)
    assert bench.bodies() == [b"far"]


def test_a_deleted_timer_stays_deleted() -> None:
    bench = Bench()
    bench.set_at(b"gone", START + 9000, "k")
    bench.set_at(b"stays", START + 9000, "l")
    assert bench.delete("k", START + 9000) is None
    bench.pass_time(2000)
    take_over(bench, progress(bench))
    bench.pass_time(10_000)
    assert bench.bodies() == [b"stays"]


def test_message_in_flight_to_another_broker_is_put_again_on_every_tick() -> None:
    """No pause, and nothing else overtakes it."""
    bench = Bench()
    bench.set_at(b"a", START + 1000, "a")
    bench.set_at(b"b", START + 1000, "b")
    take_over(bench, progress(bench))
    put, asked = bench.store.put, []

    def slow(message: object) -> PutResult:
        asked.append(message)
        if len(asked) < 4:
            return PutResult(PutStatus.PUT_TO_REMOTE_BROKER_FAIL)
        return put(message)  # type: ignore[arg-type]

    bench.store.put = slow  # type: ignore[method-assign]
    bench.clock.advance(2000)
    for _ in range(3):
        bench.timers.tick(bench.now)
        assert bench.bodies() == []
    bench.timers.tick(bench.now)
    bench.timers.tick(bench.now)
    assert bench.bodies() == [b"a", b"b"]


def test_no_delivery_after_hand_back() -> None:
    bench = Bench()
    bench.set_at(b"a", START + 2000, "a")
    take_over(bench, progress(bench))
    bench.timers.hand_back()
    bench.pass_time(5000)
    assert bench.bodies() == []
    bench.timers.hand_back()
    take_over(bench, progress(bench))
    bench.tick()
    assert bench.bodies() == [b"a"]


def test_a_master_leaves_out_what_its_slave_delivered() -> None:
    """By time and offset: timers that the slave did not have are delivered."""
    bench = Bench()
    for second in range(1, 11):
        bench.set_at(b"%d" % second, START + second * 1000, f"k{second}")
    bench.tick()
    bench.clock.advance(7000)
    slave = TimerProgress(START + 5000, 8, progress(bench).data_version)
    bench.set_at(b"only here", START + 3000, "k")
    bench.timers.checkpoint.read_time = slave.read_time
    bench.timers.take_back(bench.timers.checkpoint.encode())
    bench.pass_time(10_000)
    assert b"only here" in bench.bodies()
    assert b"6" in bench.bodies()
    assert b"3" not in bench.bodies()


def test_stale_progress_of_slave_changes_nothing() -> None:
    bench = Bench()
    before = bench.timers.checkpoint.encode()
    bench.set_at(b"a", START + 3000, "a")
    bench.pass_time(1000)
    bench.timers.take_back(before)
    bench.pass_time(5000)
    assert bench.bodies() == [b"a"]


def test_too_few_bytes_say_nothing() -> None:
    with pytest.raises(ConfigError):
        Bench().timers.take_back(b"\0" * 55)


def test_without_timers_there_is_nothing_to_take_over() -> None:
    bench = take_over(Bench(timer_wheel_enable=False), None)
    bench.tick()
    assert not bench.disk.exists("/store/timerwheel")
