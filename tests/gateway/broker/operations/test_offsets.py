"""Offsets through operations."""

from __future__ import annotations

import pytest

from mqgateway.gateway.broker.operations import OperationError, Operations, Reason, Use
from tests.support.gateway.broker.clusters import BLOCK, TOPIC, Cluster
from tests.support.gateway.broker.operating import InlineRunner, OperatedBroker, principal


def test_committed_offset_is_returned() -> None:
    operated = OperatedBroker()
    offsets = operated.operations.offsets
    operated.send(b"a")
    assert offsets.commit(operated.permit(Use.COMMIT_OFFSET), "G", "T", 0, 1) is None
    assert offsets.committed(operated.permit(Use.QUERY), "G", "T", 0) == 1


def test_group_without_offset_is_not_found() -> None:
    operated = OperatedBroker()
    with pytest.raises(OperationError) as refused:
        operated.operations.offsets.committed(operated.permit(Use.QUERY), "G", "T", 0)
    assert refused.value.reason is Reason.QUERY_NOT_FOUND


def test_ends_and_times_of_a_queue() -> None:
    operated = OperatedBroker()
    offsets, query = operated.operations.offsets, operated.permit(Use.QUERY)
    operated.send(b"a")
    operated.memory.wait(1000)
    second = operated.memory.clock.millis()
    operated.send(b"b")
    assert (offsets.earliest(query, "T", 0), offsets.end(query, "T", 0)) == (0, 2)
    assert offsets.at_time(query, "T", 0, second) == 1


def test_end_of_a_moved_queue_is_mapped() -> None:
    brokers = Cluster("a", "b")
    brokers.create("a")
    brokers.fill("a", b"old")
    brokers.move(0, "b")
    brokers.move(0, "a")
    brokers.fill("a", b"new")
    operations = Operations(brokers["a"].broker, InlineRunner(brokers["a"]))
    permit = operations.gate.admit(principal(), Use.QUERY)
    assert operations.offsets.end(permit, TOPIC, 0) == 2 * BLOCK + 1
