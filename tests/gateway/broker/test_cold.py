"""Attempts that are repeated once a worker has loaded the missing data into memory."""

from typing import Any, cast

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.store.cold import ColdRead
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.cold import ROUNDS, reading
from tests.support.gateway.broker.helpers import MemoryBroker


class World:
    """A broker whose worker is the test, and an attempt that succeeds after `times` that did not."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
        self.broker: Broker = MemoryBroker().broker
        self.brought: list[Any] = []
        self.rounds: list[int] = []
        self.times = times
        monkeypatch.setattr(self.broker.store, "bring", lambda _cold, done: self.brought.append(done))

    def attempt(self, rounds: int) -> str:
        self.rounds.append(rounds)
        if rounds and len(self.rounds) <= self.times:
            raise ColdRead(0, [])
        return "found"


def result_of(outcome: object) -> list[object]:
    seen: list[object] = []
    cast("Deferred[object]", outcome).addBoth(seen.append)
    return seen


def test_message_in_memory_is_returned_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, 0)
    assert reading(world.broker, world.attempt) == "found"
    assert (world.rounds, world.brought) == ([ROUNDS], [])


def test_message_not_in_memory_is_returned_after_a_worker_loaded_it(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, 2)
    seen = result_of(reading(world.broker, world.attempt))
    for _ in range(2):
        assert seen == []
        world.brought.pop()()
    assert (seen, world.rounds) == (["found"], [8, 7, 6])


def test_the_last_attempt_may_wait_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, 1000)
    seen = result_of(reading(world.broker, world.attempt, 3))
    while world.brought:
        world.brought.pop()()
    assert (seen, world.rounds) == (["found"], [3, 2, 1, 0])


def test_attempt_may_return_a_deferred(monkeypatch: pytest.MonkeyPatch) -> None:
    world, later = World(monkeypatch, 0), Deferred[str]()
    times = [1]

    def attempt(_rounds: int) -> Deferred[str]:
        if times.pop():
            times.append(0)
            raise ColdRead(0, [])
        return later

    seen = result_of(reading(world.broker, attempt))
    world.brought.pop()()
    assert seen == []
    later.callback("at last")
    assert seen == ["at last"]


def test_cancelled_read_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, 1)
    waiting = reading(world.broker, world.attempt)
    assert isinstance(waiting, Deferred)
    waiting.addErrback(lambda _: None)
    waiting.cancel()
    world.brought.pop()()
    assert world.rounds == [ROUNDS]
