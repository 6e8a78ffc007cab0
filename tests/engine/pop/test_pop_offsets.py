"""Offsets of groups that pop survive kills, and are written no earlier than the log."""

import errno

import pytest

from mqgateway.engine.message import Message
from mqgateway.engine.pop import Ack
from mqgateway.engine.tables.offsets import UNKNOWN
from tests.support.engine.pop.pop_store import BORN, HOST, Bench

REVIVE_GROUP = "CID_RMQ_SYS_REVIVE_GROUP"
TIMERS = "rmq_sys_wheel_timer"


@pytest.fixture
def bench() -> Bench:
    made = Bench()
    for i in range(4):
        made.send(b"%d" % i)
    return made


def test_start_advances_offsets_by_unrecorded_pops(bench: Bench) -> None:
    bench.pop(0)
    bench.persist()
    assert bench.offsets.query(REVIVE_GROUP, TIMERS, 0) == 1
    bench.pop(1, 2)
    bench.send(b"timer", TIMER_DELAY_MS="5000")
    bench = bench.kill()
    assert bench.offsets.query("G", "T", 0) == 3


def test_offsets_are_not_written_before_their_checkpoints_are_durable(bench: Bench) -> None:
    """A power cut must not lose a checkpoint and keep the offset."""
    bench.disk.fail_next("sync", "/commitlog/", errno.EIO, times=1 << 30)
    bench.pop(0, 1)
    assert bench.offsets.query("G", "T", 0) == 2
    for _ in range(3):
        bench.persist()
        bench.wait(6000)
    bench.disk.heal()
    again = bench.kill(repeat=False)
    assert again.offsets.query("G", "T", 0) == UNKNOWN


def test_persist_writes_offsets_as_they_are_at_the_call(bench: Bench) -> None:
    bench.pop(0)
    bench.log.pop_offsets.persist()
    bench.pop(1)
    bench.store.tick()
    again = bench.kill(repeat=False)
    assert again.offsets.query("G", "T", 0) == 1


def test_mark_moves_to_the_end_without_pops(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mqgateway.engine.pop.pop_offsets.MARK_DISTANCE_MAX", 3)
    bench.pop(0)
    bench.wait(1000)
    for _ in range(4):
        bench.store.put(_timer(bench))
    bench.wait(1000)
    assert bench.offsets.query(REVIVE_GROUP, TIMERS, 0) == 5


def _timer(bench: Bench) -> Message:
    properties = {"TIMER_DELAY_MS": "60000", "UNIQ_KEY": "k"}
    message = Message("T", 0, b"t", properties, bench.clock.millis(), BORN, HOST)
    assert bench.timers.acceptance.rewrite(message, bench.clock.millis()) is None
    return message


def test_changed_invisible_time_does_not_advance_offset(bench: Bench) -> None:
    """Its pop may have been lost, with the messages before it."""
    bench.pop(0)
    bench.persist()
    point = bench.point(3)
    bench.log.change(point, Ack(point.key, (3,)), 3, point.revive_time)
    bench.store.dispatch()
    bench = bench.kill()
    assert bench.offsets.query("G", "T", 0) == 1


def test_start_does_not_undo_a_reset(bench: Bench) -> None:
    bench.pop(0, 1, 2)
    bench.offsets.commit("G", "T", 0, 1)
    bench.log.pop_offsets.forget_pops()
    bench.store.tick()
    bench = bench.kill()
    assert bench.offsets.query("G", "T", 0) == 1


def test_first_pop_writes_a_mark_at_once(bench: Bench) -> None:
    bench.pop(0)
    bench = bench.kill()
    assert bench.offsets.query("G", "T", 0) == 1


def test_no_mark_is_kept_without_pops(bench: Bench) -> None:
    bench.wait(1000)
    assert bench.offsets.query(REVIVE_GROUP, TIMERS, 0) == UNKNOWN
