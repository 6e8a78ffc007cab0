"""Queues are taken in turn."""

from __future__ import annotations

from mqgateway.gateway.client.publishing import PublishInfo
from mqgateway.gateway.codec.bodies import MessageQueue

QUEUES = [MessageQueue("T", "a", number) for number in range(3)]


def test_queues_come_in_turn() -> None:
    info = PublishInfo(QUEUES, 4)
    chosen = [info.choose() for _ in range(4)]
    assert chosen == [QUEUES[2], QUEUES[0], QUEUES[1], QUEUES[2]]
    assert info.turn == 8


def test_conditions_leave_queues_out_and_none_may_be_left() -> None:
    info = PublishInfo(QUEUES, 0)
    assert info.choose(lambda queue: queue.queue_id != 1) == QUEUES[2]
    assert info.choose(lambda queue: False) is None
    info.restart(0)
    assert info.choose() == QUEUES[1]
