"""Fault avoidance: the last broker that failed, and with grading those that answer slowly."""

from __future__ import annotations

import pytest

from mqgateway.gateway.client.faults import FaultTable, avoided_for
from mqgateway.gateway.client.publishing import PublishInfo
from mqgateway.gateway.codec.bodies import MessageQueue

QUEUES = [MessageQueue("T", f"broker-{name}", number) for name in "abc" for number in range(2)]


def info() -> PublishInfo:
    return PublishInfo(QUEUES, -1)


def chosen(table: FaultTable, count: int = 12, last: str | None = None, now: int = 0) -> set[str]:
    turns = info()
    found = [table.choose(turns, last, now) for _ in range(count)]
    return {queue.broker_name for queue in found if queue is not None}


@pytest.mark.parametrize(
    ("latency", "duration"),
    [
        (0, 0),
        (49, 0),
        (100, 0),
        (549, 0),
        (550, 2000),
        (1800, 5000),
        (3000, 6000),
        (5000, 10_000),
        (10_000, 10_000),
        (15_000, 30_000),
        (99_000, 30_000),
    ],
)
def test_brokers_are_graded_by_latency(latency: int, duration: int) -> None:
    assert avoided_for(latency) == duration


def test_without_grading_only_the_last_broker_is_avoided() -> None:
    table = FaultTable(is_grading=False)
    table.failed("broker-a", 0)
    assert chosen(table) == {"broker-a", "broker-b", "broker-c"}
    assert chosen(table, last="broker-a") == {"broker-b", "broker-c"}


def test_a_slow_broker_is_shunned_for_a_while() -> None:
    table = FaultTable(is_grading=True)
    table.succeeded("broker-a", 600, now=0)
    assert chosen(table, now=1999) == {"broker-b", "broker-c"}
    assert chosen(table, now=2000) == {"broker-a", "broker-b", "broker-c"}


def test_a_failed_connection_counts_as_ten_seconds() -> None:
    table = FaultTable(is_grading=True)
    table.failed("broker-a", now=0)
    assert not table.is_available("broker-a", 9_999) and table.is_available("broker-a", 10_000)
    assert table.is_reachable("broker-a")


def test_a_longer_ban_is_not_cut_short_by_a_shorter_one() -> None:
    table = FaultTable(is_grading=True)
    table.succeeded("broker-a", 20_000, now=0)
    table.succeeded("broker-a", 600, now=0)
    assert not table.is_available("broker-a", 29_999)


def test_at_least_one_is_picked() -> None:
    table = FaultTable(is_grading=True)
    for name in "abc":
        table.refused(f"broker-{name}", now=0)
    assert chosen(table) == {"broker-a", "broker-b", "broker-c"}


def test_one_that_can_be_reached_comes_before_one_that_cannot() -> None:
    table = FaultTable(is_grading=True, is_detecting=True)
    table.failed("broker-a", now=0)
    table.failed("broker-b", now=0)
    table.succeeded("broker-c", 20_000, now=0)
    assert chosen(table) == {"broker-c"}


def test_the_detector_looks_now_and_then_until_it_gets_through() -> None:
    table = FaultTable(is_grading=True, is_detecting=True, detect_interval=2000)
    table.failed("broker-a", now=0)
    assert table.due(0) == ["broker-a"]
    assert table.due(1999) == []
    assert table.due(2000) == ["broker-a"]
    assert not table.is_reachable("broker-a")
    table.reached("broker-a")
    assert table.is_reachable("broker-a")
    table.forget("broker-a")
    assert table.due(9000) == []


def test_without_a_detector_no_broker_is_probed() -> None:
    table = FaultTable(is_grading=True)
    table.failed("broker-a", now=0)
    assert table.due(0) == []


def test_retries_begin_elsewhere_when_grading() -> None:
    table = FaultTable(is_grading=True)
    turns = info()
    assert table.choose(turns, None, 0, restart=lambda: 3) == QUEUES[4]


def test_without_queues_there_is_no_choice() -> None:
    assert FaultTable(is_grading=True).choose(PublishInfo((), 0), None, 0) is None
