"""Bytes of queues, counted once: the start that keeps so many."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest

from mqgateway.engine.steps import Steps, run
from mqgateway.engine.store import queue_sizes
from tests.support.engine.store.kafka_batches import fill_kafka
from tests.support.engine.store.stores import Bench, message

T = TypeVar("T")


def at_once(attempt: Callable[[bool], T], /) -> Steps[T]:
    """Read what may have to be read from the disk; see `ColdReading`."""
    yield
    return attempt(True)


def start_for(bench: Bench, size: int, topic: str = "orders") -> int:
    return run(bench.store.sizes.start_for(topic, 0, size, at_once))


@pytest.mark.parametrize("units_a_step", [1, 3, 4096])
def test_start_keeps_at_least_so_many_bytes_in_whole_records(
    units_a_step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_sizes, "_UNITS_A_STEP", units_a_step)
    bench = Bench()
    bench.put(*[message() for _ in range(30)])
    size = bench.store.consume_queue_units("orders", 0, 0, 1)[0][1]
    assert start_for(bench, 30 * size) == start_for(bench, 31 * size) == 0
    assert start_for(bench, 30 * size - 1) == 0
    assert start_for(bench, 29 * size) == 1
    bench.put(message())
    assert start_for(bench, 7 * size + 1) == 23
    assert start_for(bench, 0) == 31


def test_size_of_an_unknown_or_empty_queue_is_0() -> None:
    bench = Bench()
    assert start_for(bench, 0) == 0
    bench.put(message())
    assert bench.store.move_start("orders", 0, 1) is not None
    bench.store.dispatch()
    assert start_for(bench, 0) == start_for(bench, 100) == 1


def test_batches_are_kept_whole() -> None:
    bench = Bench()
    fill_kafka(bench, 3, 4, 2)
    last = bench.store.consume_queue_units("batched", 0, 7, 1)[0][1]
    assert start_for(bench, last, "batched") == 7
    assert start_for(bench, last + 1, "batched") == 3


def test_units_that_went_are_not_counted() -> None:
    bench = Bench()
    bench.put(*[message() for _ in range(60)])
    size = bench.store.consume_queue_units("orders", 0, 0, 1)[0][1]
    assert start_for(bench, 50 * size) == 10
    assert bench.store.move_start("orders", 0, 20) is not None
    bench.store.dispatch()
    assert start_for(bench, 40 * size) == 20 and start_for(bench, 39 * size) == 21
    bench.store.sizes.keep(set())
    assert start_for(bench, 39 * size) == 21


def size_of(bench: Bench, topic: str, queue_id: int = 0) -> int:
    return run(bench.store.sizes.size(topic, queue_id, at_once))


def test_size_is_that_of_the_records_that_can_be_read() -> None:
    bench = Bench()
    fill_kafka(bench, 3, 4, 2)
    bench.put(*[message() for _ in range(5)])
    size = bench.store.consume_queue_units("orders", 0, 0, 1)[0][1]
    assert size_of(bench, "orders") == 5 * size
    assert size_of(bench, "batched") == sum(
        bench.store.consume_queue_units("batched", 0, offset, 1)[0][1] for offset in (0, 3, 7)
    )
    assert size_of(bench, "none") == size_of(bench, "orders", 7) == 0
    assert bench.store.move_start("orders", 0, 3) is not None
    bench.store.dispatch()
    assert size_of(bench, "orders") == 2 * size
