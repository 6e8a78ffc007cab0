"""Rounds that make the timers durable: their conditions, and idle periods."""

import errno

from mqgateway.engine.timers.checkpoint import Stable
from mqgateway.engine.worker import MemoryWorker
from tests.support.engine.timers.bench import START, Bench


def stable(bench: Bench) -> Stable:
    state = bench.timers.checkpoint.stable
    assert state is not None
    return state


def test_a_state_is_stable_when_files_are_synced_and_the_log_is_flushed() -> None:
    worker = MemoryWorker()
    bench = Bench(worker=worker, flush_commit_log_thorough_interval=100, flush_interval_commit_log=100)
    bench.set_at(b"x", START + 5500)
    bench.pass_time(1200)
    assert stable(bench).queue_offset == 0, "nothing is synced yet"
    worker.perform_all()
    bench.pass_time(100)
    worker.perform_all()
    bench.pass_time(200)
    assert stable(bench).queue_offset == 1
    assert stable(bench).log_position == 52


def test_a_sync_that_fails_leaves_the_older_state() -> None:
    bench = Bench(flush_commit_log_thorough_interval=100)
    bench.disk.fail_next("sync", "timerlog", errno.EIO)
    bench.set_at(b"x", START + 9500)
    bench.pass_time(1500)
    assert stable(bench).queue_offset == 0
    bench.pass_time(2500)
    assert stable(bench).queue_offset == 1


def test_idle_timers_are_not_synced() -> None:
    bench = Bench()
    bench.pass_time(3000)
    before = bench.disk.syncs
    bench.pass_time(20_000, step=500)
    assert bench.disk.syncs == before
    bench.pass_time(60_000, step=500)
    assert bench.disk.syncs > before, "now and then the time is written"


def test_a_slot_in_work_keeps_the_log_offset_at_which_it_was_begun() -> None:
    bench = Bench(max_timers_per_tick=5, timer_flush_interval_ms=1)
    for _ in range(30):
        bench.set_at(b"x", START + 1500)
    bench.tick()
    bench.clock.advance(2000)
    end = bench.store.max_physical_offset
    bench.timers.tick(bench.now)
    bench.timers.tick(bench.now)
    assert bench.store.max_physical_offset > end
    assert bench.timers._state().commit_log_offset == end
    assert bench.timers._state().read_time == START + 1000
