"""Changes of a client's queues after a rebalance."""

from __future__ import annotations

import logging

import pytest

from mqgateway.gateway.client.allocation import Averagely
from mqgateway.gateway.client.process_queue import ProcessQueue
from mqgateway.gateway.client.rebalance import Changes, changes, share
from mqgateway.gateway.codec.bodies import MessageQueue

QUEUES = [MessageQueue("T", "a", number) for number in range(4)]


def test_queues_and_members_are_sorted_before_they_are_shared() -> None:
    shares = [share(Averagely(), "g", name, QUEUES[::-1], ["b", "a"]) for name in "ab"]
    assert shares == [set(QUEUES[:2]), set(QUEUES[2:])]


def test_client_that_is_no_member_gets_no_queues() -> None:
    assert share(Averagely(), "g", "c", QUEUES, ["a", "b"]) == set()
    assert share(Averagely(), "g", "a", [], ["a"]) == set()


def test_a_strategy_that_fails_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Averagely):
        def allocate(self, *_: object) -> list[MessageQueue]:  # type: ignore[override]
            raise ValueError("broken")

    with caplog.at_level(logging.ERROR):
        assert share(Broken(), "g", "a", QUEUES, ["a"]) is None
    assert "cannot share" in caplog.text


def test_changes_from_held_to_assigned_queues() -> None:
    other = MessageQueue("Other", "a", 0)
    held = {queue: ProcessQueue(0) for queue in (*QUEUES[:2], other)}
    assert changes("T", set(QUEUES[1:3]), held, 0) == Changes([QUEUES[0]], [QUEUES[2]])


def test_queue_not_pulled_for_too_long_is_started_again() -> None:
    held = {QUEUES[0]: ProcessQueue(0)}
    assert changes("T", {QUEUES[0]}, held, 120_000) == Changes([], [])
    assert changes("T", {QUEUES[0]}, held, 120_001) == Changes([QUEUES[0]], [QUEUES[0]])
