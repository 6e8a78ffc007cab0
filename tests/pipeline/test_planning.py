"""Ranges: what is read, split, limited, and what is lost."""

from __future__ import annotations

import logging
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.pipeline.errors import DataLoss
from mqgateway.pipeline.planning import Bounds, Range, carried, limited, ranges, resolved, shown, split

A, B = MessageQueue("t", "a", 0), MessageQueue("t", "a", 1)
SPANS = st.dictionaries(
    st.builds(MessageQueue, st.just("t"), st.just("a"), st.integers(0, 9)),
    st.tuples(st.integers(0, 1000), st.integers(0, 1000)).map(sorted),
    min_size=1,
)


def test_words_become_numbers() -> None:
    bounds = {A: Bounds(3, 9), B: Bounds(0, 5)}
    assert resolved({A: -2, B: -1}, bounds) == {A: 3, B: 5}
    assert resolved({A: 4}, bounds) == {A: 4}


def test_new_queues_begin_at_the_begin() -> None:
    found = ranges({A: 2}, {A: 5, B: 3}, {A: Bounds(0, 9), B: Bounds(0, 3)}, True)
    assert found == [Range(A, 2, 5), Range(B, 0, 3)]


def test_queues_that_disappear_keep_their_place(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert carried({A: 2, B: 7}, {A: 5}) == {A: 5, B: 7}
    assert "queue 1 of t on a" in caplog.text
    assert carried({A: 2}, {A: 5, B: 1}) == {A: 5, B: 1}


@pytest.mark.parametrize(
    ("start", "end", "bounds", "left", "said"),
    [
        (2, 9, Bounds(5, 9), [Range(A, 5, 9)], "begins at offset 5, but 2 is to be read"),
        (2, 4, Bounds(5, 9), [], "begins at offset 5, but 2 is to be read"),
        (7, 3, Bounds(0, 3), [], "ends at offset 3, but was read up to 7 before"),
        (2, 9, Bounds(0, 6), [Range(A, 2, 6)], "ends at offset 6, but 9 is to be read"),
    ],
)
def test_the_rule_of_data_loss(
    start: int, end: int, bounds: Bounds, left: list[Range], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Lost is what retention removed, and what was deleted: it fails, or the rest is read."""
    with pytest.raises(DataLoss, match=said):
        ranges({A: start}, {A: end}, {A: bounds}, True)
    with caplog.at_level(logging.WARNING):
        assert ranges({A: start}, {A: end}, {A: bounds}, False) == left
    assert said in caplog.text


def test_a_queue_that_cannot_be_seen_is_read_as_planned() -> None:
    assert ranges({A: 1}, {A: 4}, {}, True) == [Range(A, 1, 4)]


@given(SPANS, st.integers(0, 200), st.integers(1, 64))
def test_parts_are_the_whole(spans: dict[MessageQueue, list[int]], tasks: int, most: int) -> None:
    whole = [Range(queue, low, high) for queue, (low, high) in sorted(spans.items()) if low < high]
    parts = split(whole, tasks, most)
    assert all(part.size > 0 for part in parts)
    for one in whole:
        own = [part for part in parts if part.queue == one.queue]
        assert len(own) <= most
        assert [own[0].start, own[-1].end] == [one.start, one.end]
        assert all(before.end == after.start for before, after in pairwise(own))


@given(SPANS, st.integers(1, 5000))
def test_limit_is_shared_and_no_queue_starves(spans: dict[MessageQueue, list[int]], limit: int) -> None:
    start = {queue: low for queue, (low, _) in spans.items()}
    end = {queue: high for queue, (_, high) in spans.items()}
    found = limited(start, end, limit)
    taken = {queue: found[queue] - start[queue] for queue in spans}
    assert all(start[queue] <= found[queue] <= end[queue] for queue in spans)
    assert sum(taken.values()) <= limit + len(spans)
    assert all(count > 0 for queue, count in taken.items() if end[queue] > start[queue])


def test_queues_are_named_for_people() -> None:
    assert shown(A) == "queue 0 of t on a"
