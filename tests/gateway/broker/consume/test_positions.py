"""Positions of groups: commits, and where members that have committed nothing began to read."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.gateway.broker.consume.positions import pairs, positions, topics_of
from tests.support.gateway.broker.helpers import MemoryBroker


def member(**data: Any) -> MemoryBroker:
    """A member that read both queues of T from 2 on, and committed offset 4 of queue 0."""
    memory = MemoryBroker()
    memory.subscribe("G", "T", **data)
    offsets = memory.broker.tables.offsets
    for queue_id in (0, 1):
        offsets.commit_pull("G", "T", queue_id, 9, 2)
    offsets.commit("G", "T", 0, 4)
    return memory


def test_position_is_the_commit_or_the_beginning_of_reads() -> None:
    memory = member()
    assert positions(memory.broker, "G", "T") == {0: 4, 1: 2}
    memory.broker.tables.offsets.commit("G", "T", 1, 3)
    assert positions(memory.broker, "G", "T") == {0: 4, 1: 3}


def test_group_without_any_commit_has_positions_too() -> None:
    memory = member()
    memory.subscribe("H", "T")
    memory.broker.tables.offsets.commit_pull("H", "T", 0, 1, 0)
    assert list(pairs(memory.broker)) == [("T", "G"), ("T", "H")]
    assert topics_of(memory.broker, "H") == {"T"} and topics_of(memory.broker, "I") == set()
    memory.broker.clients.unregister_consumer("H", memory.consumer)
    assert list(pairs(memory.broker)) == [("T", "G")] and topics_of(memory.broker, "H") == set()


@pytest.mark.parametrize("data", [{"message_model": "BROADCASTING"}, {"consume_type": "CONSUME_ACTIVELY"}])
def test_members_that_may_keep_offsets_elsewhere_have_their_commits_only(data: dict[str, str]) -> None:
    assert positions(member(**data).broker, "G", "T") == {0: 4}


def test_reads_of_another_topic_than_the_subscribed_do_not_count() -> None:
    memory = MemoryBroker()
    memory.subscribe("G", "T")
    memory.broker.tables.offsets.commit_pull("G", "U", 0, 9, 2)
    assert positions(memory.broker, "G", "U") == {} and list(pairs(memory.broker)) == []
