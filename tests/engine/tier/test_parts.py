import logging
from collections.abc import Iterable
from typing import NamedTuple

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.store.older_messages import NothingYet
from mqgateway.engine.tier.object_store import ObjectStoreUnavailable
from mqgateway.engine.tier.parts import PAUSE_MILLIS, WAIT_MILLIS, Part, TierParts, TierRead
from mqgateway.engine.worker import InlineWorker, MemoryWorker


class _Part(NamedTuple):
    name: str
    weight: int = 10


class _Bench:
    """Parts with a worker that is stepped by hand, and a store that can be away."""

    def __init__(self) -> None:
        self.clock, self.worker = ManualClock(), MemoryWorker()
        self.parts = TierParts(self.worker, self.clock, 1000)
        self.is_away = False
        self.loads = 0

    def load(self) -> Iterable[Part]:
        self.loads += 1
        if self.is_away:
            raise ObjectStoreUnavailable("no route")
        return [("a", _Part("a")), ("b", _Part("b"))]

    def get(self, key: str = "a", may_wait: bool = False) -> object:
        return self.parts.get(key, self.load, may_wait, 7)


def test_reader_tries_again_once_the_part_is_loaded() -> None:
    bench, done = _Bench(), list[int]()
    with pytest.raises(TierRead) as read:
        bench.get()
    assert read.value.position == 7
    read.value.bring_by(InlineWorker(), lambda: done.append(1), ahead=True)
    assert not done
    bench.worker.perform_all()
    assert done == [1] and bench.get() == _Part("a") and bench.get("b") == _Part("b")
    read.value.bring_by(InlineWorker(), lambda: done.append(2), ahead=True)
    assert done == [1, 2]


def test_readers_of_one_part_cause_one_load() -> None:
    bench = _Bench()
    for _ in range(3):
        with pytest.raises(TierRead):
            bench.get()
    bench.worker.perform_all()
    assert bench.loads == 1


def test_reader_that_may_wait_does_not_wait_on_the_event_loop() -> None:
    bench = _Bench()
    with pytest.raises(NothingYet, match="they are being loaded"):
        bench.get(may_wait=True)
    bench.worker.perform_all()
    assert bench.get(may_wait=True) == _Part("a")


def test_worker_that_loads_at_once_answers_at_once() -> None:
    parts = TierParts(InlineWorker(), ManualClock(), 1000)
    assert parts.get("a", lambda: [("a", _Part("a"))], True, 0) == _Part("a")


def test_reader_waits_for_a_limited_time_and_the_part_is_kept() -> None:
    bench, done = _Bench(), list[int]()
    with pytest.raises(TierRead) as read:
        bench.get()
    read.value.bring_by(InlineWorker(), lambda: done.append(1), ahead=True)
    bench.clock.advance(WAIT_MILLIS - 1)
    bench.parts.tick()
    assert not done
    bench.clock.advance(1)
    bench.parts.tick()
    assert done == [1]
    with pytest.raises(NothingYet):
        bench.get()
    bench.worker.perform_all()
    assert bench.get() == _Part("a") and bench.loads == 1


def test_store_that_is_away_is_left_alone_for_a_while(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    bench, done = _Bench(), list[int]()
    bench.is_away = True
    with pytest.raises(TierRead) as read:
        bench.get()
    read.value.bring_by(InlineWorker(), lambda: done.append(1), ahead=True)
    bench.worker.perform_all()
    assert done == [1]
    for _ in range(3):
        with pytest.raises(NothingYet, match="no route"):
            bench.get()
    assert bench.worker.waiting == 0 and bench.loads == 1
    bench.clock.advance(PAUSE_MILLIS)
    bench.is_away = False
    with pytest.raises(TierRead):
        bench.get()
    bench.worker.perform_all()
    assert bench.get() == _Part("a") and bench.parts.fault == ""
    assert [record.getMessage() for record in caplog.records] == [
        "messages of the tier cannot be read: no route",
        "messages of the tier can be read again",
    ]


def test_parts_that_are_loaded_together_are_not_loaded_apart() -> None:
    bench = _Bench()
    assert bench.parts.begin(["a", "b"], bench.load) is not None
    with pytest.raises(TierRead):
        bench.get("b")
    bench.worker.perform_all()
    assert bench.loads == 1 and bench.get("b") == _Part("b")
