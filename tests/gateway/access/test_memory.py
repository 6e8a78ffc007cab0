"""Outcomes are remembered for a while, for a connection, and not too many of them."""

from __future__ import annotations

from mqgateway.engine.clock import ManualClock
from mqgateway.gateway.access.memory import Outcomes
from mqgateway.gateway.access.settings import Memory
from tests.support.gateway.broker.helpers import FakePeer


class Found:
    """Answers a question, and counts how often it is asked."""

    def __init__(self, answer: str = "") -> None:
        self.answer, self.asked = answer, 0

    def __call__(self) -> str:
        self.asked += 1
        return self.answer


def test_an_outcome_is_found_once_until_it_is_too_old() -> None:
    clock, found = ManualClock(), Found("no")
    outcomes = Outcomes(Memory(10, 60), clock)
    peer = FakePeer()
    assert [outcomes.get(peer, "a", found) for _ in range(3)] == ["no"] * 3
    assert found.asked == 1
    clock.advance(61_000)
    found.answer = ""
    assert outcomes.get(peer, "a", found) == "" and found.asked == 2 and len(outcomes) == 1


def test_other_connections_and_questions_have_their_own() -> None:
    outcomes, found = Outcomes(Memory(10, 60), ManualClock()), Found()
    one, other = FakePeer(), FakePeer()
    for peer, question in ((one, "a"), (one, "b"), (other, "a")):
        outcomes.get(peer, question, found)
    assert found.asked == 3


def test_there_are_never_more_than_the_limit() -> None:
    outcomes, found = Outcomes(Memory(5, 60), ManualClock()), Found()
    for number in range(100):
        outcomes.get(FakePeer(), number, found)
        assert len(outcomes) <= 5
    peer = FakePeer()
    for number in range(100):
        outcomes.get(peer, number, found)
        assert len(outcomes) <= 5


def test_a_connection_that_is_gone_is_forgotten() -> None:
    outcomes, found = Outcomes(Memory(5, 60), ManualClock()), Found()
    peer = FakePeer()
    outcomes.get(peer, "a", found)
    peer.lose()
    assert len(outcomes) == 0


def test_a_connection_that_is_gone_already_is_not_kept() -> None:
    outcomes, peer = Outcomes(Memory(5, 60), ManualClock()), FakePeer()
    peer.lose()
    assert outcomes.get(peer, "a", Found("no")) == "no"
    assert len(outcomes) == 0
