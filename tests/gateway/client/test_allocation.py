"""Each strategy shares queues as Java's does, and the members of a group agree."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqgateway.gateway.client.allocation import (
    Averagely,
    AveragelyByCircle,
    ByConfig,
    ByMachineRoom,
    ConsistentHash,
    MachineRoomNearby,
    PinnedTo,
    Strategy,
)
from mqgateway.gateway.codec.bodies import MessageQueue
from tests.support.gateway.client.answers import JAVA

BROKERS = ("east@broker-a", "north@broker-c", "west@broker-b")
STRATEGIES: list[Strategy] = [
    Averagely(),
    AveragelyByCircle(),
    ByMachineRoom(["east"]),
    MachineRoomNearby(
        Averagely(),
        lambda queue: queue.broker_name.split("@")[0],
        lambda client_id: client_id.split("@")[1],
    ),
    ConsistentHash(),
]


def queues_of(count: int) -> list[MessageQueue]:
    return sorted(MessageQueue("Topic", BROKERS[number % 3], number) for number in range(count))


def members_of(count: int) -> list[str]:
    return sorted(f"10.0.0.{number}@{('east', 'west')[number % 2]}" for number in range(count))


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.name)
def test_each_strategy_gives_what_java_gives(strategy: Strategy) -> None:
    table = JAVA["allocations"][strategy.name]
    assert len(table) == 35
    for sizes, expected in table.items():
        count, members_count = map(int, sizes.split("/"))
        queues, members = queues_of(count), members_of(members_count)
        shares = [strategy.allocate("group", member, queues, members) for member in members]
        assert [[queues.index(queue) for queue in share] for share in shares] == expected, sizes


def test_java_answered_for_every_strategy() -> None:
    assert set(JAVA["allocations"]) == {strategy.name for strategy in STRATEGIES}


@pytest.mark.parametrize(
    ("queues", "members", "shares"),
    [(5, 2, [3, 2]), (9, 4, [3, 2, 2, 2]), (10, 11, [1] * 10 + [0])],
)
def test_averagely_as_in_the_design(queues: int, members: int, shares: list[int]) -> None:
    names = members_of(members)
    assert [len(Averagely().allocate("g", name, queues_of(queues), names)) for name in names] == shares


@pytest.mark.parametrize(
    "strategy",
    [one for one in STRATEGIES if one.name != "MACHINE_ROOM"] + [PinnedTo("10.0.0.1")],
    ids=lambda strategy: strategy.name,
)
@given(queues=st.integers(1, 40), members=st.integers(1, 12))
@settings(max_examples=40, deadline=None)
def test_every_queue_has_one_owner(strategy: Strategy, queues: int, members: int) -> None:
    names = members_of(members)
    owned = Counter(
        queue for name in names for queue in strategy.allocate("g", name, queues_of(queues), names)
    )
    assert owned == Counter(queues_of(queues))


def test_consistent_hash_moves_few_queues() -> None:
    before, after = members_of(4), members_of(5)
    queues = queues_of(40)
    moved = 0
    for name in before:
        had = set(ConsistentHash().allocate("g", name, queues, before))
        moved += len(had - set(ConsistentHash().allocate("g", name, queues, after)))
    assert moved <= 16


def test_consistent_hash_accepts_another_hash_function() -> None:
    strategy = ConsistentHash(1, len)
    assert strategy.allocate("g", "a", queues_of(3), ["a"]) == queues_of(3)
    with pytest.raises(ValueError):
        ConsistentHash(-1)


def test_by_config_gives_what_was_configured() -> None:
    chosen = queues_of(3)[:1]
    assert ByConfig(chosen).allocate("g", "whoever", queues_of(3), ["a", "b"]) == chosen


def test_pinned_consumption_stays_on_one_machine() -> None:
    strategy = PinnedTo("10.0.0.1")
    members = ["10.0.0.1@1", "10.0.0.1@2", "10.0.0.2@1"]
    shares = [len(strategy.allocate("g", name, queues_of(5), members)) for name in members]
    assert shares == [3, 2, 0]
    assert len(strategy.allocate("g", "10.0.0.2@1", queues_of(5), ["10.0.0.2@1"])) == 5


def test_queue_outside_machine_rooms_is_an_error() -> None:
    strategy = MachineRoomNearby(Averagely(), lambda queue: "", lambda client_id: "room")
    with pytest.raises(ValueError, match="no machine room"):
        strategy.allocate("g", "a", queues_of(1), ["a"])
