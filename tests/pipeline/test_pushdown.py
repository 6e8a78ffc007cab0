"""Filters that say what is to be read."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.pipeline.offsets import Offsets
from mqgateway.pipeline.planning import Range
from mqgateway.pipeline.pushdown import Narrowing

QUEUES = [MessageQueue(topic, broker, number) for topic in "tu" for broker in "ab" for number in (0, 1)]


class Times:
    """A store in which an offset is stored every second of 1970."""

    def offsets_by_time(self, times: dict[MessageQueue, int]) -> Offsets:
        return {queue: millis // 1000 for queue, millis in times.items()}


def narrowed(*conditions: tuple[str, str, Any], end: int = 20_000) -> list[tuple[int, int]]:
    narrowing = Narrowing()
    for condition in conditions:
        narrowing.take(condition)
    found = narrowing.narrowed([Range(QUEUES[0], 0, end)], Times())
    return [(one.start, one.end) for one in found]


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        (("=", "topic", "t"), 4),
        (("in", "brokerName", ("a", "c")), 4),
        (("=", "queueId", 1), 4),
        ((">", "queueId", 0), 4),
        (("<=", "queueId", 5), 8),
        (("=", "topic", "x"), 0),
    ],
)
def test_queues_are_left_out_exactly(condition: tuple[str, str, Any], count: int) -> None:
    narrowing = Narrowing()
    assert narrowing.take(condition)
    assert sum(map(narrowing.has, QUEUES)) == count


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ([("=", "queueOffset", 5)], [(5, 6)]),
        ([(">", "queueOffset", 5), ("<", "queueOffset", 9)], [(6, 9)]),
        ([(">=", "queueOffset", 5), ("<=", "queueOffset", 9)], [(5, 10)]),
        ([("<", "queueOffset", 3), (">", "queueOffset", 7)], []),
    ],
)
def test_offsets_are_cut_exactly(
    conditions: list[tuple[str, str, Any]], expected: list[tuple[int, int]]
) -> None:
    assert narrowed(*conditions) == expected


def test_times_narrow_with_an_hour_to_spare_and_are_looked_at_again() -> None:
    when = datetime.fromtimestamp(10_000, UTC)
    narrowing = Narrowing()
    assert not narrowing.take((">=", "storeTimestamp", when))
    assert narrowed((">=", "storeTimestamp", when)) == [(6_400, 20_000)]
    assert narrowed(("<", "storeTimestamp", when.replace(tzinfo=None))) == [(0, 13_600)]
    assert narrowed(("=", "storeTimestamp", when)) == [(6_400, 13_600)]


def test_unknown_conditions_are_left_to_spark() -> None:
    narrowing = Narrowing()
    for condition in (("=", "body", b""), ("=", "queueId", None), ("in", "queueOffset", (1, 2))):
        assert not narrowing.take(condition)
    assert all(map(narrowing.has, QUEUES))
    assert narrowed() == [(0, 20_000)]
