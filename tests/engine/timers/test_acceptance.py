"""Timers that are set: which are accepted."""

import pytest

from mqgateway.engine.store.message_store import PutStatus
from tests.support.engine.timers.bench import START, Bench, message


@pytest.mark.parametrize("text", ["soon", "", "1e3", "99999999999999999999", "9223372036854775807"])
def test_times_that_are_none_are_refused(text: str) -> None:
    bench = Bench()
    refused = PutStatus.WHEEL_TIMER_MSG_ILLEGAL
    assert bench.set(message(TIMER_DELAY_SEC=text)) == [refused]
    assert bench.set(message(TIMER_DELIVER_MS=text)) == [refused]


def test_too_far_ahead_is_refused() -> None:
    bench = Bench(timer_max_delay_sec=10)
    assert bench.set(message(TIMER_DELAY_MS=10_001)) == [PutStatus.WHEEL_TIMER_MSG_ILLEGAL]
    assert bench.set(message(TIMER_DELAY_MS=10_000)) == [None]


def test_a_step_with_too_many_is_refused() -> None:
    bench = Bench(timer_congest_num_each_slot=3)
    for _ in range(7):
        bench.set_at(b"x", START + 5500)
    bench.tick()
    assert bench.set(message(TIMER_DELIVER_MS=START + 5500)) == [PutStatus.WHEEL_TIMER_FLOW_CONTROL]
    assert bench.set(message(TIMER_DELIVER_MS=START + 6500)) == [None]


def test_a_deletion_in_the_past_is_refused() -> None:
    bench = Bench()
    assert bench.delete("k1", START) is PutStatus.WHEEL_TIMER_MSG_ILLEGAL


def test_every_watcher_is_notified_of_a_set_timer() -> None:
    bench, seen = Bench(), list[int]()
    bench.timers.acceptance.watch(seen.append)
    bench.timers.acceptance.watch(seen.append)
    bench.set_at(b"x", START + 2500)
    assert seen == [3000, 3000]
