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
    assert offsets.commit(operated.permit(Use.COMMIT_OFFSET), "G", "T", 0, 1) is True
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


def test_recorded_offset_replaces_a_reset_and_is_forgotten_by_queue() -> None:
    operated = OperatedBroker()
    offsets = operated.operations.offsets
    operated.broker.tables.offsets.assign_reset("G", "T", 0, 3)
    assert offsets.recorded("G", "T", 0) == 3
    offsets.record(operated.permit(Use.COMMIT_OFFSET), "G", "T", 0, 5)
    assert (offsets.recorded("G", "T", 0), offsets.recorded("G", "T", 1)) == (5, None)
    assert (offsets.keys("G"), offsets.groups()) == ([("T", 0)], {"G": ["T"]})
    offsets.forget(operated.permit(Use.COMMIT_OFFSET), "G", "T", 0)
    assert (offsets.keys("G"), offsets.groups()) == ([], {})


def test_offset_of_an_unknown_group_is_not_recorded() -> None:
    operated = OperatedBroker()
    with pytest.raises(OperationError) as refused:
        operated.operations.offsets.record(operated.permit(Use.COMMIT_OFFSET), "none", "T", 0, 5)
    assert refused.value.reason is Reason.SUBSCRIPTION_GROUP_NOT_EXIST


def test_range_is_that_of_the_queue_of_this_broker() -> None:
    operated = OperatedBroker()
    offsets = operated.operations.offsets
    assert offsets.range("T", 0) == (0, 0)
    stored = operated.memory.clock.millis()
    for body in (b"a", b"b", b"c"):
        operated.send(body)
    assert offsets.range("T", 0) == (0, 3) and offsets.range("T", 0).message_count == 3
    assert (offsets.store_time("T", 0, 2), offsets.store_time("T", 0, 3)) == (stored, -1)


def test_lag_counts_messages_after_committed_offsets() -> None:
    operated = OperatedBroker()
    offsets, table = operated.operations.offsets, operated.broker.tables.offsets
    for body in (b"a", b"b", b"c", b"d", b"e"):
        operated.send(body)
    assert offsets.lag("G", "T") == 0
    table.commit("G", "T", 0, 2)
    table.commit("G", "T", 1, 0)
    assert offsets.lag("G", "T") == 3


def test_lag_counts_popped_messages_until_they_are_acknowledged() -> None:
    operated = OperatedBroker()
    operated.send(b"a")
    operated.send(b"b")
    [first, _] = operated.memory.pop()
    assert operated.operations.offsets.lag("G", "T") == 2
    operated.memory.ack(first)
    assert operated.operations.offsets.lag("G", "T") == 1


def test_progress_has_the_reset_that_a_group_has_not_taken() -> None:
    operated = OperatedBroker(options={"use_server_side_reset_offset": True})
    offsets, table = operated.operations.offsets, operated.broker.tables.offsets
    for body in (b"a", b"b", b"c"):
        operated.send(body)
    assert offsets.progress("G", "T") == []
    table.commit("G", "T", 0, 2)
    table.commit_pull("G", "T", 0, 3, 0)
    [progress] = offsets.progress("G", "T")
    assert progress == (0, (0, 3), 2, 2, 3, 0, False) and progress.lag == 1
    table.assign_reset("G", "T", 0, 1)
    [progress] = offsets.progress("G", "T")
    assert (progress.position, progress.offset, progress.is_reset_pending) == (1, 1, True)


def test_progress_in_a_queue_without_offset_is_unknown() -> None:
    [progress] = OperatedBroker().operations.offsets.progress("G", "T", [0])
    assert progress == (0, (0, 0), -1, -1, None, 0, False) and progress.lag == 0


def test_entries_of_the_table_are_found_by_topic_and_group() -> None:
    operated = OperatedBroker()
    offsets = operated.operations.offsets
    operated.broker.tables.offsets.commit("G", "T", 0, 1)
    assert list(offsets.pairs()) == [("T", "G")]
    assert (offsets.topics_of("G"), offsets.groups_of("T")) == ({"T"}, {"G"})
    assert (offsets.topics_of("H"), offsets.groups_of("U")) == (set(), set())
