"""Ranges of offsets: changes, their neighbours, and look-ups."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mqgateway.gateway.kafka.share_partitions.ranges import (
    OffsetRange,
    RecordState,
    between,
    change_between,
    merged,
)

AVAILABLE, ACQUIRED = RecordState.AVAILABLE, RecordState.ACQUIRED
ACKNOWLEDGED, ARCHIVED = RecordState.ACKNOWLEDGED, RecordState.ARCHIVED


@given(st.lists(st.tuples(st.integers(0, 19), st.integers(0, 9), st.integers(0, 2))))
def test_changes_are_those_of_single_offsets(changes: list[tuple[int, int, int]]) -> None:
    ranges = [OffsetRange(0, 19, AVAILABLE, 0)]
    counts = [0] * 20
    for first, more, count in changes:
        last = min(19, first + more)
        change_between(ranges, first, last, lambda one, count=count: one._replace(deliveries=count))
        counts[first : last + 1] = [count] * (last + 1 - first)
    assert [one.deliveries for one in ranges for _ in range(one.size)] == counts
    assert [one.first for one in ranges[1:]] == [one.last + 1 for one in ranges[:-1]]
    assert merged(ranges) == ranges


def test_ranges_with_offsets_of_a_part_are_found() -> None:
    ranges = [OffsetRange(first, first + 4, AVAILABLE, first) for first in (0, 5, 10)]
    assert between(ranges, 4, 5) == ranges[:2]
    assert between(ranges, 6, 7) == ranges[1:2]
    assert between(ranges, 15, 20) == []


def test_final_states_are_known() -> None:
    assert [state for state in RecordState if state.is_final] == [ACKNOWLEDGED, ARCHIVED]


def test_ranges_with_offsets_between_them_are_not_merged() -> None:
    ranges = [
        OffsetRange(0, 1, AVAILABLE, 1),
        OffsetRange(2, 3, AVAILABLE, 1),
        OffsetRange(5, 6, AVAILABLE, 1),
    ]
    assert merged(ranges) == [OffsetRange(0, 3, AVAILABLE, 1), OffsetRange(5, 6, AVAILABLE, 1)]
