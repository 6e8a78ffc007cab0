"""The part of a queue that can be compacted, over batches of 100 bytes with ten records each."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.cleaner.cleanable import DirtyPart
from mqgateway.engine.cleaner.limits import CompactionLimits

SIZE = 100
LIMITS = CompactionLimits(0, 1 << 62, 0.5, 0, 3 * SIZE, 1000)


def look(
    stored: Sequence[int],
    *,
    begin: int = 0,
    stable_end: int = 1 << 62,
    limits: CompactionLimits = LIMITS,
    now: int = 10_000,
    log_millis: int = 1 << 40,
) -> DirtyPart:
    """Take batches that were stored at these times."""
    part = DirtyPart(begin, stable_end, limits, now, log_millis)
    for number, time in enumerate(stored, 1):
        if not part.add(begin + number * 10, SIZE, time):
            break
    return part


def test_active_segment_is_not_compacted() -> None:
    part = look([0, 0, 0])
    assert (part.end, part.size) == (0, 0)
    assert not part.is_due(0)


def test_segment_ends_at_its_size() -> None:
    assert (look([0] * 4).end, look([0] * 4).size) == (30, 300)
    assert look([0] * 6).end == 30
    assert look([0] * 7, begin=500).end == 560


def test_segment_ends_at_its_age() -> None:
    assert look([0, 1000]).end == 0
    assert look([0, 1001]).end == 10
    assert look([0, 500, 1001, 2001, 2002]).end == 40


def test_part_ends_before_open_transactions() -> None:
    assert look([0] * 7, stable_end=60).end == 60
    assert look([0] * 7, stable_end=59).end == 50
    assert look([0] * 7, stable_end=5).end == 0
    assert look([0] * 3, stable_end=25).end == 0


def test_part_ends_before_batches_younger_than_the_lag() -> None:
    limits = LIMITS._replace(min_lag=100)
    assert look([0, 0, 901, 901], limits=limits, now=1000).end == 20
    assert look([0, 0, 900, 901], limits=limits, now=1000).end == 30


def test_look_stops_when_its_result_is_known() -> None:
    part = DirtyPart(0, 10, LIMITS, 0, 1 << 40)
    assert [part.add(end, SIZE, 0) for end in (10, 20, 30, 40)] == [True, True, True, False]
    assert (part.end, part.size, part.oldest) == (10, SIZE, 0)


def test_part_is_due_by_its_ratio() -> None:
    part = look([0] * 4)
    assert part.is_due(299)
    assert not part.is_due(300)


def test_part_is_due_by_its_age() -> None:
    limits = LIMITS._replace(max_lag=5000)
    assert not look([10] * 4, limits=limits, now=5010).is_due(1000)
    assert look([10] * 4, limits=limits, now=5011).is_due(1000)


def test_batches_whose_log_files_go_soon_are_due() -> None:
    """At 10,000 ms, with files that are kept 4,000 ms: from 8,000 on none is urgent, before 9,000 all go."""
    stored = [7999, 8500, 8999, 9000]
    limits = CompactionLimits(5000, 1 << 62, 1, 0, 1 << 30, 1 << 40)
    part = look(stored, limits=limits, log_millis=4000)
    assert (part.end, part.size) == (30, 300)
    assert part.is_due(1 << 40)
    assert look([8000, *stored[1:]], limits=limits, log_millis=4000).end == 0
    assert look(stored, stable_end=20, limits=limits, log_millis=4000).end == 20


@given(
    st.lists(st.integers(0, 900), max_size=30),
    st.integers(0, 300),
    st.integers(0, 5000),
    st.integers(0, 3000),
    st.integers(0, 1000),
)
def test_part_holds_only_what_may_be_compacted(
    gaps: list[int], stable_end: int, now: int, min_lag: int, segment_millis: int
) -> None:
    stored = [sum(gaps[:number]) for number in range(len(gaps))]
    limits = LIMITS._replace(min_lag=min_lag, segment_millis=segment_millis)
    part = look(stored, stable_end=stable_end, limits=limits, now=now)
    count = part.end // 10
    assert part.end <= max(stable_end, 0)
    assert part.size == count * SIZE
    assert not min_lag or all(time <= now - min_lag for time in stored[:count])
    assert not stored or count < len(stored)
