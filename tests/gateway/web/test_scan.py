"""Looking through queues: in the order of time, within a budget, and on from where it stopped."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.gateway.broker.operations import Use
from mqgateway.gateway.web.route import ApiError
from mqgateway.gateway.web.scan import QueueSource, SearchCriteria, SearchResult, scan
from tests.support.gateway.console import ConsoleWorld


@pytest.fixture
def world() -> ConsoleWorld:
    """Sixty messages over three queues, a second apart."""
    made = ConsoleWorld()
    made.memory.add_topic("T", queues=3)
    for number in range(60):
        tags = "even" if number % 2 == 0 else "odd"
        made.put(
            "T", f"m{number}".encode(), queue=number * 7 % 3, TAGS=tags, KEYS=f"k{number} all", x=str(number)
        )
        made.memory.clock.advance(1_000)
    return made


def look(
    world: ConsoleWorld, wanted: SearchCriteria, limit: int = 100, budget: int = 1000, cursor: str = ""
) -> SearchResult:
    async def breathe() -> None: ...

    operations = world.console.operations
    source = QueueSource(operations, operations.gate.internal(Use.QUERY))
    steps = scan(source, wanted, limit=limit, budget=budget, cursor=cursor, breathe=breathe)
    found: list[Any] = []
    Deferred.fromCoroutine(steps).addBoth(found.append)
    if not isinstance(found[0], SearchResult):
        found[0].raiseException()
    result: SearchResult = found[0]
    return result


def bodies(found: SearchResult) -> list[int]:
    return [int(message.body[1:]) for message in found.messages]


@pytest.mark.parametrize("newest_first", [True, False])
def test_messages_come_in_the_order_of_time_from_all_queues(world: ConsoleWorld, newest_first: bool) -> None:
    found = look(world, SearchCriteria("T", newest_first=newest_first))
    assert bodies(found) == sorted(range(60), reverse=newest_first)
    assert (found.scanned, found.left, found.cursor) == (60, 0, "")


@pytest.mark.parametrize("newest_first", [True, False])
@pytest.mark.parametrize(("limit", "budget"), [(7, 1000), (1000, 7), (1, 1)])
def test_it_continues_where_it_stopped(
    world: ConsoleWorld, newest_first: bool, limit: int, budget: int
) -> None:
    wanted = SearchCriteria("T", newest_first=newest_first, tag="even")
    cursor, all_found, scanned = "", [], 0
    while True:
        found = look(world, wanted, limit, budget, cursor)
        all_found += bodies(found)
        scanned += found.scanned
        assert len(found.messages) <= limit and found.scanned <= budget
        assert found.left == 60 - scanned
        cursor = found.cursor
        if not cursor:
            break
    assert all_found == sorted(range(0, 60, 2), reverse=newest_first)
    assert scanned == 60


def test_criteria_select_messages(world: ConsoleWorld) -> None:
    begin = world.memory.clock.millis() - 60_000
    for wanted, expected in (
        (SearchCriteria("T", key="k5"), [5]),
        (SearchCriteria("T", property="x=33"), [33]),
        (SearchCriteria("T", property="y"), []),
        (SearchCriteria("T", text="m59"), [59]),
        (SearchCriteria("T", queue_id=1), [number for number in range(59, -1, -1) if number * 7 % 3 == 1]),
        (SearchCriteria("T", queue_id=9), []),
        (SearchCriteria("T", begin=begin + 55_000), [59, 58, 57, 56, 55]),
        (SearchCriteria("T", end=begin + 2_000), [2, 1, 0]),
        (SearchCriteria("T", begin=begin + 10_000, end=begin + 12_500), [12, 11, 10]),
        (SearchCriteria("T", end=begin - 1), []),
        (SearchCriteria("unknown"), []),
    ):
        assert bodies(look(world, wanted)) == expected, wanted


def test_another_cursor_is_refused(world: ConsoleWorld) -> None:
    for cursor in ("nonsense", "W10x", "bnVsbA==", "WzFd"):
        with pytest.raises(ApiError):
            look(world, SearchCriteria("T"), cursor=cursor)
