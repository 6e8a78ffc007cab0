"""Messages that wait for one queue: the committed offset is right in any order of completion."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from mqgateway.gateway.client.message import ReceivedMessage
from mqgateway.gateway.client.process_queue import ProcessQueue


def message(offset: int, size: int = 10) -> ReceivedMessage:
    made = ReceivedMessage.__new__(ReceivedMessage)
    made.topic, made.body, made.properties, made.queue_offset = "T", bytes(size), {}, offset
    return made


def filled(*offsets: int) -> ProcessQueue:
    queue = ProcessQueue(0)
    queue.put([message(offset) for offset in offsets])
    return queue


def test_flow_is_measured_by_count_size_and_span() -> None:
    queue = filled(5, 6, 9)
    assert (queue.count, queue.size, queue.span) == (3, 30, 4)
    assert ProcessQueue(0).span == 0


def test_repeated_message_counts_once() -> None:
    queue = filled(5, 6)
    queue.put([message(6), message(4)])
    assert (queue.count, queue.size, queue.span) == (3, 30, 2)


def test_the_first_message_not_done_with_is_committed() -> None:
    queue = filled(5, 6, 7)
    assert queue.remove([message(6)], 1) == 5
    assert queue.remove([message(5)], 2) == 7
    assert queue.remove([message(7)], 3) == 8
    assert queue.remove([message(7)], 4) == -1
    assert (queue.size, queue.consumed_at) == (0, 4)


@given(count=st.integers(1, 40), data=st.data())
@settings(max_examples=60, deadline=None)
def test_nothing_is_committed_before_it_is_done_with(count: int, data: st.DataObject) -> None:
    """Against a plain model: the smallest offset that is left, or the one behind the last."""
    offsets = sorted(data.draw(st.sets(st.integers(0, 100), min_size=count, max_size=count)))
    queue, left = filled(*offsets), set(offsets)
    for offset in data.draw(st.permutations(offsets)):
        left.discard(offset)
        assert queue.remove([message(offset)], 0) == (min(left) if left else offsets[-1] + 1)
        assert queue.count == len(left) and queue.size == 10 * len(left)


def test_ordered_messages_are_taken_from_the_front_and_committed() -> None:
    queue = filled(5, 6, 7)
    assert [one.queue_offset for one in queue.take(2, 1)] == [5, 6]
    assert queue.count == 3
    assert queue.commit() == 7
    assert (queue.count, queue.size) == (1, 10)
    assert queue.commit() == -1


def test_ordered_messages_that_failed_come_again_first() -> None:
    queue = filled(5, 6, 7)
    queue.put_back(queue.take(2, 1))
    assert [one.queue_offset for one in queue.take(9, 1)] == [5, 6, 7]
    queue.put_back()
    assert [one.queue_offset for one in queue.take(1, 1)] == [5]


def test_one_ordered_consumer_is_notified_at_a_time() -> None:
    queue = ProcessQueue(0)
    assert not queue.put([])
    assert queue.put([message(1)])
    assert not queue.put([message(2)])
    queue.take(9, 1)
    assert not queue.put([])
    assert queue.take(9, 1) == [] and not queue.is_consuming
    assert queue.put([message(3)])


def test_locks_run_out_and_pulls_are_missed() -> None:
    queue = ProcessQueue(0)
    assert not queue.has_lock(0)
    queue.lock(1000)
    assert queue.has_lock(31_000) and not queue.has_lock(31_001)
    assert not queue.is_pull_overdue(120_000) and queue.is_pull_overdue(120_001)


def test_a_cleared_queue_is_empty() -> None:
    queue = filled(1, 2)
    queue.take(1, 0)
    queue.clear()
    assert (queue.count, queue.size, queue.first()) == (0, 0, None)


def test_administrators_see_what_waits() -> None:
    queue = filled(5, 6, 7)
    queue.take(1, 9)
    info = queue.info(commit_offset=5)
    assert (info.cached_msg_min_offset, info.cached_msg_max_offset, info.cached_msg_count) == (6, 7, 2)
    assert (info.transaction_msg_min_offset, info.transaction_msg_count) == (5, 1)
    assert (info.commit_offset, info.last_consume_timestamp, info.droped) == (5, 9, False)
    assert queue.has(message(6)) and not queue.has(message(5))
