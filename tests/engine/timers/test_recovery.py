"""After a crash: units linked, slots filled again; after RocketMQ's broker: by its checkpoint."""

import pytest

from mqgateway.engine.store.message_store import PutStatus
from mqgateway.engine.timers.timer_log import DEFAULT, Unit
from mqgateway.engine.timers.wheel import Slot
from tests.support.engine.timers.bench import START, Bench, message


def filled() -> Bench:
    bench = Bench()
    for number in range(6):
        bench.set_at(b"%d" % number, START + 2500 + 1000 * (number % 2), f"k{number}")
    bench.tick()
    return bench


def delivered(bench: Bench) -> list[bytes]:
    bench.pass_time(10_000)
    assert bench.timers.pending == 0
    return bench.bodies()


def as_the_standard(bench: Bench) -> None:
    """Leave the checkpoint as RocketMQ's broker writes it."""
    checkpoint = bench.timers.checkpoint
    checkpoint.data_version.next(1)
    bench.disk.open("/store/config/timercheck").write(0, checkpoint.encode())


def test_slots_that_were_not_written_are_linked_again() -> None:
    bench = filled()
    bench.timers.wheel.clear(START, START + 100_000)
    bench = bench.kill()
    assert bench.timers.pending == 6
    assert delivered(bench) == [b"0", b"2", b"4", b"1", b"3", b"5"]


def test_slots_that_speak_of_lost_units_are_filled_from_the_log() -> None:
    bench = filled()
    bench.timers.wheel.put(Slot(START + 2000, 0, 52 * 40, 9))
    bench.timers.wheel.put(Slot(START + 8000, 52 * 30, 52 * 30, 1))
    bench = bench.kill()
    assert bench.timers.wheel.get(START + 2000) == Slot(START + 2000, 0, 52 * 4, 3)
    assert bench.timers.wheel.get(START + 8000) is None
    assert delivered(bench) == [b"0", b"2", b"4", b"1", b"3", b"5"]


def test_units_of_lost_messages_end_the_log() -> None:
    """Their offsets in the commit log are reused by other messages."""
    bench = filled()
    end = bench.store.max_physical_offset
    bench.timers.log.append(Unit(-1, DEFAULT, START, 2000, end, 99, 0))
    bench.timers.log.write()
    bench = bench.kill()
    assert bench.timers.log.position == 6 * 52
    bench.set_at(b"new", START + 2500)
    assert delivered(bench) == [b"0", b"2", b"4", b"new", b"1", b"3", b"5"]


def test_a_wheel_that_was_removed_is_made_again() -> None:
    bench = filled()
    bench.stop()
    bench.disk.unlink("/store/timerwheel")
    assert delivered(bench.again(bench.disk)) == [b"0", b"2", b"4", b"1", b"3", b"5"]


@pytest.mark.parametrize("clean", [True, False])
def test_continues_after_rocketmq(clean: bool) -> None:
    bench = filled()
    bench.pass_time(3000)
    assert bench.bodies() == [b"0", b"2", b"4"]
    bench.stop() if clean else None
    as_the_standard(bench)
    bench = bench.again(bench.disk.kill())
    assert bench.timers.checkpoint.stable is not None
    assert delivered(bench) == [b"0", b"2", b"4", b"1", b"3", b"5"]


def test_work_of_rocketmq_after_its_checkpoint_is_not_repeated() -> None:
    """It writes the checkpoint once a second: units and deliveries may be newer."""
    bench = filled()
    checkpoint = bench.timers.checkpoint
    checkpoint.read_time, checkpoint.queue_offset, checkpoint.master_queue_offset = START, 0, 0
    old = checkpoint.encode()
    bench.clock.advance(3000)
    for number in (0, 2):
        copy = message(b"%d" % number, f"k{number}", TIMER_OUT_MS=START + 2000, TIMER_DELIVER_MS=START + 2500)
        copy.properties |= {"TIMER_DEQUEUE_MS": str(START + 3000), "TIMER_ENQUEUE_MS": "1"}
        assert bench.store.put(copy).status is PutStatus.PUT_OK
    bench.store.dispatch()
    bench.disk.open("/store/config/timercheck").write(0, old)
    assert delivered(bench.kill()) == [b"0", b"2", b"4", b"1", b"3", b"5"]


def test_without_a_checkpoint_rather_twice_than_never() -> None:
    bench = filled()
    bench.stop()
    bench.disk.unlink("/store/config/timercheck")
    bench.clock.advance(60_000)
    bench = bench.again(bench.disk)
    assert delivered(bench) == [b"0", b"2", b"4", b"1", b"3", b"5"]


def test_a_clean_end_needs_no_search() -> None:
    bench = filled()
    bench = bench.restart()
    assert bench.timers.enqueue.written == set()
    assert bench.timers.pending == 6
