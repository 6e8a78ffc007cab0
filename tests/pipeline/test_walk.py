"""Reading a range from brokers that have gaps, filters and holes, and give up soon."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.gateway.client.message import PullStatus
from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.pipeline.errors import DataLoss, PipelineError
from mqgateway.pipeline.planning import Range
from mqgateway.pipeline.walk import STALLS_MAX, Answer, RangeWalk

QUEUE = MessageQueue("t", "a", 0)


def walk_of(
    start: int, end: int, *, count: int = 4, ahead: int = 3, fails: bool = True, filtered: bool = False
) -> RangeWalk:
    return RangeWalk(
        Range(QUEUE, start, end), count, ahead=ahead, fail_on_data_loss=fails, is_filtered=filtered
    )


def answer(
    present: set[int], asked: int, count: int, low: int, high: int, most: int
) -> tuple[Answer, list[int]]:
    """Return the answer of a broker with these messages: at most `most` at a time."""
    if asked < low:
        return Answer(PullStatus.OFFSET_ILLEGAL, low, low, high, b""), []
    if asked >= high:
        return Answer(PullStatus.NO_NEW_MSG, high, low, high, b""), []
    window = range(asked, min(asked + min(count, most), high))
    found = [offset for offset in window if offset in present]
    status = PullStatus.FOUND if found else PullStatus.NO_MATCHED_MSG
    return Answer(status, window.stop, low, high, b""), found


@given(
    st.sets(st.integers(0, 60)),
    st.tuples(st.integers(0, 61), st.integers(0, 61)).map(sorted),
    st.integers(1, 9),
    st.integers(1, 5),
    st.integers(1, 9),
    st.booleans(),
)
def test_every_message_of_the_range_is_read_once(
    present: set[int], span: list[int], count: int, ahead: int, most: int, filtered: bool
) -> None:
    start, end = span
    walk = walk_of(start, end, count=count, ahead=ahead, filtered=filtered)
    pending: list[tuple[int, int]] = []
    seen: list[int] = []
    while not walk.is_done:
        pending += walk.ask()
        assert len(pending) <= ahead
        asked, wanted = pending.pop(0)
        epoch = walk.epoch
        said, found = answer(present, asked, wanted, 0, 61, most)
        if walk.take(asked, said):
            seen += [offset for offset in found if asked <= offset < end]
        if walk.epoch != epoch:
            pending.clear()
    assert seen == sorted(offset for offset in present if start <= offset < end)


def test_offsets_removed_by_retention_are_reported_as_loss() -> None:
    said = Answer(PullStatus.OFFSET_ILLEGAL, 6, 6, 20, b"")
    walk = walk_of(2, 10)
    walk.ask()
    with pytest.raises(DataLoss, match="begins at offset 6, but 2 is to be read"):
        walk.take(2, said)
    walk = walk_of(2, 10, fails=False)
    walk.ask()
    assert not walk.take(2, said)
    assert walk.offset == 6 and not walk.is_done


def test_queue_that_ends_before_the_range_is_reported_as_loss(caplog: pytest.LogCaptureFixture) -> None:
    said = Answer(PullStatus.NO_NEW_MSG, 5, 0, 5, b"")

    def go(fails: bool) -> RangeWalk:
        walk = walk_of(5, 9, fails=fails)
        for _ in range(STALLS_MAX):
            assert walk.ask()[0][0] == 5
            walk.take(5, said)
        return walk

    with pytest.raises(DataLoss, match="ends at offset 5, but 9 is to be read"):
        go(True)
    with caplog.at_level(logging.WARNING):
        assert go(False).is_done


def test_temporarily_missing_message_is_pulled_again() -> None:
    walk = walk_of(0, 2)
    walk.ask()
    walk.take(0, Answer(PullStatus.NO_NEW_MSG, 0, 0, 2, b""))
    assert walk.needs_rest
    assert walk.ask() == [(0, 2)]
    assert walk.take(0, Answer(PullStatus.FOUND, 2, 0, 2, b""))
    assert walk.is_done and not walk.needs_rest


def test_endless_hole_is_reported_as_loss() -> None:
    walk = walk_of(0, 2)
    with pytest.raises(DataLoss, match="has no message at offset 0, though it ends at 9"):
        for _ in range(STALLS_MAX):
            walk.ask()
            walk.take(0, Answer(PullStatus.NO_NEW_MSG, 0, 0, 9, b""))


def test_wrong_prefetches_are_dropped_and_end_prefetching() -> None:
    walk = walk_of(0, 100, count=10)
    assert walk.ask() == [(0, 10), (10, 10), (20, 10)]
    assert walk.take(0, Answer(PullStatus.FOUND, 7, 0, 100, b""))
    assert walk.epoch == 1
    assert walk.ask() == [(7, 10)]


def test_invalid_answers_are_refused() -> None:
    walk = walk_of(0, 10)
    with pytest.raises(PipelineError, match="out of turn"):
        walk.take(0, Answer(PullStatus.FOUND, 4, 0, 10, b""))
    walk.ask()
    with pytest.raises(PipelineError, match="leads to none"):
        walk.take(0, Answer(PullStatus.FOUND, 0, 0, 10, b""))


def test_gap_between_mapping_items_is_no_loss() -> None:
    """A static topic's queue has gaps where it moved; messages lost from its first mapping item are a
    loss."""
    queue = MessageQueue("t", "__syslo__global__", 0)
    walk = RangeWalk(Range(queue, 3, 10_002), 4, ahead=3, fail_on_data_loss=True, is_filtered=False)
    [first, *_] = walk.ask()
    assert first == (3, 4)
    assert not walk.take(3, Answer(PullStatus.NO_MATCHED_MSG, 10_000, 10_000, 10_000, b"", 10_000))
    assert walk.offset == 10_000 and not walk.needs_rest
    assert walk.ask() == [(10_000, 2)]
    assert walk.take(10_000, Answer(PullStatus.FOUND, 10_002, 10_000, 10_002, b"", 10_000)) and walk.is_done
    walk = RangeWalk(Range(queue, 3, 9), 4, ahead=1, fail_on_data_loss=True, is_filtered=False)
    walk.ask()
    with pytest.raises(DataLoss, match="begins at offset 5, but 3 is to be read"):
        walk.take(3, Answer(PullStatus.OFFSET_ILLEGAL, 5, 5, 9, b""))
