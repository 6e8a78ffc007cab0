"""Delivery: temporary and permanent failures, and earlier deliveries."""

import errno

import pytest

from mqgateway.engine.message import PROPERTY_REAL_TOPIC, StoredMessage
from mqgateway.engine.steps import run
from mqgateway.engine.store.message_store import PutResult, PutStatus
from mqgateway.engine.timers.delivery import ATTEMPTS_MAX, NotNow, TimerDelivery
from mqgateway.engine.timers.messages import put_aside
from tests.support.engine.timers.bench import START, Bench, message


def made(bench: Bench) -> tuple[TimerDelivery, StoredMessage]:
    bench.store.put(message(b"before"))
    asked = message(b"x", "k")
    put_aside(asked, START)
    result = bench.store.put(asked)
    bench.store.dispatch()
    delivery = TimerDelivery(bench.store, bench.options)
    stored = delivery.look_up(result.physical_offset)
    assert stored is not None
    return delivery, stored


def bodies(bench: Bench) -> list[bytes]:
    bench.store.dispatch()
    return bench.bodies()[1:]


def refuse(bench: Bench, status: PutStatus) -> None:
    bench.store.put = lambda _: PutResult(status, remark="no")  # type: ignore[method-assign]


def test_earlier_deliveries_are_found_in_log() -> None:
    bench = Bench()
    delivery, stored = made(bench)
    delivery.deliver(stored, 1, 2)
    again = TimerDelivery(bench.store, bench.options)
    run(again.learn(0, bench.options.mapped_file_size_commit_log))
    assert again.known == {stored.physical_offset}
    again.deliver(stored, 3, 4)
    assert bodies(bench) == [b"x"]


def test_deliveries_by_rocketmq_are_known_by_properties() -> None:
    """RocketMQ writes no offset of the original."""
    bench = Bench()
    delivery, stored = made(bench)
    copy = message(b"x", "k", TIMER_OUT_MS=START, TIMER_DEQUEUE_MS=9, TIMER_ENQUEUE_MS=8)
    bench.store.put(copy)
    run(delivery.learn(0, bench.options.mapped_file_size_commit_log))
    assert delivery.is_done(stored)
    delivery.deliver(stored, 3, 4)
    assert bodies(bench) == [b"x"]


def test_timer_set_again_is_not_delivered() -> None:
    bench = Bench()
    delivery, stored = made(bench)
    delivery.deliver(stored, 1, 2, is_roll=True)
    bench.store.dispatch()
    run(delivery.learn(0, bench.options.mapped_file_size_commit_log))
    first, second = bench.set_aside()
    assert delivery.is_done(first) and not delivery.is_done(second)


def test_all_of_the_log_is_searched_over_file_borders() -> None:
    bench = Bench(mapped_file_size_commit_log=4096)
    delivery, stored = made(bench)
    for _ in range(60):
        bench.store.put(message(b"between" * 20))
    delivery.deliver(stored, 1, 2)
    run(delivery.learn(0, 4096))
    assert stored.physical_offset in delivery.known


@pytest.mark.parametrize("status", [PutStatus.SERVICE_NOT_AVAILABLE, PutStatus.UNKNOWN_ERROR])
def test_temporary_put_failure_is_retried(status: PutStatus) -> None:
    bench = Bench()
    delivery, stored = made(bench)
    refuse(bench, status)
    with pytest.raises(NotNow, match="no"):
        delivery.deliver(stored, 1, 2)


def test_unknown_error_is_skipped_if_configured() -> None:
    bench = Bench(timer_skip_unknown_error=True)
    delivery, stored = made(bench)
    refuse(bench, PutStatus.UNKNOWN_ERROR)
    delivery.deliver(stored, 1, 2)
    assert delivery.count == 0


def test_illegal_timer_is_skipped() -> None:
    bench = Bench()
    delivery, stored = made(bench)
    stored.properties[PROPERTY_REAL_TOPIC] = ""
    delivery.deliver(stored, 1, 2)
    refuse(bench, PutStatus.MESSAGE_ILLEGAL)
    delivery.deliver(stored, 1, 2)
    assert bodies(bench) == []


def test_long_properties_lose_the_notes_but_are_delivered() -> None:
    bench = Bench()
    delivery, stored = made(bench)
    stored.properties["PAD"] = "x" * (32_767 - 110)
    delivery.deliver(stored, 1_700_000_000_000, 1_700_000_000_000)
    assert bodies(bench) == [b"x"]
    assert "TIMER_DEQUEUE_MS" not in bench.delivered()[-1].properties


def test_an_unreadable_message_is_tried_and_then_left_out() -> None:
    bench = Bench()
    delivery, stored = made(bench)
    bench.disk.fail_next("read", "commitlog", errno.EIO, times=ATTEMPTS_MAX)
    for _ in range(ATTEMPTS_MAX - 1):
        with pytest.raises(NotNow):
            delivery.look_up(stored.physical_offset)
    assert delivery.look_up(stored.physical_offset) is None
    assert delivery.look_up(stored.physical_offset) is not None
