"""Table of parked pops: events that wake them, their order, and limits."""

import logging

import pytest

from mqgateway.engine.pop import OrderKey
from mqgateway.engine.store.message_store import Arrival
from mqgateway.gateway.broker.consume.long_polling import Wanted
from mqgateway.gateway.broker.parked_pops import ANY_QUEUE, ParkedPop, ParkedPops
from tests.support.gateway.broker.helpers import FakePeer


class Bench:
    """A table that records resumed pops; `answers` returns True if one has an answer."""

    def __init__(self, most: int = 100, most_at_place: int = 10, *, last_first: bool = False) -> None:
        self.parked = ParkedPops(lambda: most, lambda: most_at_place, last_first=last_first)
        self.resumed: list[tuple[str, bool]] = []
        self.answers = True

    def hold(
        self,
        name: str,
        queue_id: int = ANY_QUEUE,
        *,
        group: str = "G",
        wanted: Wanted = None,
        deadline: int = 10_000,
        peer: FakePeer | None = None,
    ) -> ParkedPop | None:
        def resume(is_last: bool) -> bool:
            self.resumed.append((name, is_last))
            return self.answers or is_last

        held = ParkedPop(peer or FakePeer(), OrderKey("T", group, queue_id), wanted, deadline, resume)
        return held if self.parked.hold(held) else None

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.resumed]


def arrival(topic: str = "T", queue_id: int = 0, code: int = 0, **properties: str) -> Arrival:
    return Arrival(topic, queue_id, 1, code, 0, properties)


def test_message_wakes_the_oldest_request_of_each_kind_and_group() -> None:
    bench = Bench()
    for name, queue_id, group in [
        ("any", -1, "G"),
        ("any too", -1, "G"),
        ("0", 0, "G"),
        ("1", 1, "G"),
        ("H", -1, "H"),
    ]:
        bench.hold(name, queue_id, group=group)
    bench.parked.arrived([arrival(queue_id=0)])
    assert sorted(bench.names) == ["0", "H", "any"]
    assert len(bench.parked) == 2


def test_newest_request_can_be_woken_first() -> None:
    bench = Bench(last_first=True)
    bench.hold("old")
    bench.hold("new")
    bench.parked.arrived([arrival()])
    assert bench.names == ["new"]


def test_tags_select_the_requests_to_wake() -> None:
    bench = Bench()
    bench.hold("x", wanted=frozenset({1}))
    bench.hold("y", wanted=frozenset({2}))
    bench.parked.arrived([arrival(code=3)])
    assert bench.names == []
    bench.parked.arrived([arrival(code=2)])
    assert bench.names == ["y"]


@pytest.mark.parametrize("kind", ["_", "+"])
def test_redelivered_message_wakes_its_own_group(kind: str) -> None:
    bench = Bench()
    bench.hold("G", wanted=frozenset({1}))
    bench.hold("H", group="H")
    bench.parked.arrived([arrival(f"%RETRY%G{kind}T")])
    assert bench.names == ["G"]
    bench.parked.arrived([arrival(f"%RETRY%G{kind}T")])
    assert bench.names == ["G"]


def test_pop_without_an_answer_keeps_waiting() -> None:
    bench = Bench()
    bench.answers = False
    bench.hold("a")
    bench.parked.arrived([arrival()])
    bench.parked.wake(OrderKey("T", "G", ANY_QUEUE))
    assert len(bench.parked) == 1
    bench.parked.due(9_999)
    assert bench.resumed == [("a", False)] * 2
    bench.parked.due(10_000)
    assert bench.resumed[-1] == ("a", True)
    assert len(bench.parked) == 0


def test_wake_resumes_one_request_at_the_first_occupied_place() -> None:
    bench = Bench()
    bench.hold("1", 1)
    bench.hold("2", 1)
    bench.parked.wake(OrderKey("T", "G", ANY_QUEUE), OrderKey("T", "G", 1))
    assert bench.names == ["1"]
    bench.parked.wake(OrderKey("T", "G", 5))
    assert bench.names == ["1"]


def test_nested_wake_is_queued() -> None:
    """However many wait, each is resumed in its turn and not within another's."""
    bench = Bench(most_at_place=5000, most=5000)
    depth = 0

    def resume(is_last: bool) -> bool:
        nonlocal depth
        depth += 1
        assert depth == 1
        bench.resumed.append(("", is_last))
        bench.parked.wake(OrderKey("T", "G", ANY_QUEUE))
        depth -= 1
        return True

    for _ in range(3000):
        assert bench.parked.hold(ParkedPop(FakePeer(), OrderKey("T", "G", ANY_QUEUE), None, 1, resume))
    bench.parked.arrived([arrival()])
    assert len(bench.resumed) == 3000


def test_table_is_limited() -> None:
    bench = Bench(most=2, most_at_place=1)
    assert bench.hold("a") is not None
    assert bench.hold("b") is None
    assert bench.hold("c", 0) is not None
    assert bench.hold("d", 1) is None
    assert bench.parked.count(OrderKey("T", "G", 0)) == 1


def test_lost_connection_removes_its_requests() -> None:
    bench = Bench()
    peer, other = FakePeer(), FakePeer()
    bench.hold("a", peer=peer)
    held = bench.hold("b", peer=other)
    assert held is not None
    bench.parked.forget(held)
    bench.parked.forget(held)
    peer.lose()
    other.lose()
    assert len(bench.parked) == 0
    assert not any(
        (
            bench.parked._places,
            bench.parked._slots,
            bench.parked._connections,
            bench.parked._groups,
            bench.parked._retried,
        )
    )


def test_failed_request_does_not_block_others(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()

    def fail(is_last: bool) -> bool:
        raise ValueError("no")

    bench.parked.hold(ParkedPop(FakePeer(), OrderKey("T", "G", ANY_QUEUE), None, 5, fail))
    bench.hold("b", deadline=5)
    with caplog.at_level(logging.ERROR):
        bench.parked.due(5)
    assert bench.names == ["b"]
    assert "could not be answered" in caplog.text
