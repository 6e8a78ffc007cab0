"""Consumers that join and leave: queues are rebalanced and no message is lost."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial

import pytest

from compat_tests.support.driver import PATIENCE_SECONDS, PushConsumer, message
from compat_tests.support.peers import Peer
from compat_tests.support.processes import wait_until

pytestmark = [pytest.mark.overlap, pytest.mark.timeout(600)]


def shares(consumers: list[PushConsumer], topic: str) -> list[int]:
    """Return how many queues each consumer holds, most first; empty while some queue is held twice."""
    held = [consumer.assigned(topic) for consumer in consumers]
    if len(set().union(*held)) != sum(map(len, held)):
        return []
    return sorted(map(len, held), reverse=True)


def has_shares(members: list[PushConsumer], topic: str, expected: list[int]) -> bool:
    return shares(members, topic) == expected


def has_received(members: list[PushConsumer], messages: int) -> bool:
    return count(members) >= messages


def count(members: list[PushConsumer]) -> int:
    return sum(len(member.collect(0, 0)) for member in members)


def test_nine_queues_over_four_consumers(peer: Peer) -> None:
    """3-2-2-2, then 3-3-3, then 9 queues; messages sent in between arrive exactly once per group."""
    topic, group = peer.topic("nine", 9), peer.name("nine_readers")
    with ExitStack() as stack:
        producer = stack.enter_context(peer.producer())
        members = [stack.enter_context(peer.push(group, {topic: "*"})) for _ in range(4)]
        received: list[str] = []
        for leave, expected in ((0, [3, 2, 2, 2]), (1, [3, 3, 3]), (2, [9])):
            for member in members[:leave]:
                received += [one.body for one in member.collect(0, 0)]
                member.close()
            members = members[leave:]
            wait_until(
                partial(has_shares, members, topic, expected), PATIENCE_SECONDS, f"shares {expected}", 0.3
            )
            before = count(members)
            producer.send([message(topic, f"{expected[0]}-{len(expected)}-{i}") for i in range(36)])
            wait_until(partial(has_received, members, before + 36), PATIENCE_SECONDS, "36 messages")
        received += [one.body for member in members for one in member.collect(0, 0)]
    assert len(set(received)) == 3 * 36
