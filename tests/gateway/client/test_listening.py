"""Outcomes of listeners, and the number that run at once."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.gateway.client.listening import Consumed, Context, Slots, listened, outcome_of
from tests.support.gateway.client.cluster import queue_of


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        (None, Consumed.SUCCESS),
        (True, Consumed.SUCCESS),
        (False, Consumed.LATER),
        (Consumed.ROLLBACK, Consumed.ROLLBACK),
        ("COMMIT", Consumed.COMMIT),
    ],
)
def test_outcomes_of_a_listener(said: Any, outcome: Consumed) -> None:
    assert outcome_of(said) is outcome


def test_invalid_outcome_is_a_failure() -> None:
    with pytest.raises(ValueError):
        outcome_of("DONE")
    ended: list[Any] = []
    Deferred.fromCoroutine(listened(lambda *_: 7, [], Context(queue_of("T")))).addBoth(ended.append)  # type: ignore[arg-type, return-value]
    assert ended[0].check(ValueError)


def test_slots_are_given_in_turn() -> None:
    slots, entered = Slots(2), []

    async def work(number: int) -> None:
        await slots.enter()
        entered.append(number)

    for number in range(4):
        Deferred.fromCoroutine(work(number))
    assert entered == [0, 1] and slots.busy == 2
    idle: list[None] = []
    slots.idle().addCallback(idle.append)
    slots.leave()
    assert entered == [0, 1, 2]
    for _ in range(2):
        slots.leave()
    assert not idle and entered == [0, 1, 2, 3]
    slots.leave()
    assert idle == [None] and slots.busy == 0
    assert slots.idle().called


def test_thousands_of_waiters_leave_in_turn() -> None:
    """A consumer that closes lets all batches that wait for a slot through at once."""
    slots, left = Slots(1), list[int]()

    async def pass_through(number: int) -> None:
        await slots.enter()
        slots.leave()
        left.append(number)

    first = Deferred.fromCoroutine(slots.enter())
    for number in range(5_000):
        Deferred.fromCoroutine(pass_through(number))
    idle = slots.idle()
    assert first.called and not left and not idle.called
    slots.leave()
    assert left == list(range(5_000)) and idle.called and not slots.busy


def test_leave_is_an_outcome_of_its_own() -> None:
    assert outcome_of(Consumed.LEAVE) is Consumed.LEAVE is outcome_of("LEAVE")
