"""Batches of first deliveries, and the numbers of records that are delivered together by them."""

from __future__ import annotations

import pytest

from mqgateway.gateway.kafka.share_partitions.first_deliveries import FirstDeliveries, delivered_together
from mqgateway.gateway.kafka.share_partitions.ranges import OffsetRange, RecordState


def available(*runs: tuple[int, int, int]) -> list[OffsetRange]:
    """Ranges of first offset, last offset and number of deliveries."""
    return [OffsetRange(first, last, RecordState.AVAILABLE, count) for first, last, count in runs]


def grouped(known: FirstDeliveries, end: int, *runs: tuple[int, int, int]) -> list[tuple[int, list[int]]]:
    """The size of each batch with available records, and the first offsets of its ranges."""
    return [(size, [one.first for one in parts]) for size, parts in known.by_batch(available(*runs), end)]


def test_available_records_are_grouped_and_split_by_batch() -> None:
    known = FirstDeliveries([0, 5, 6])
    runs = (1, 1, 1), (3, 7, 2), (9, 9, 1)
    assert grouped(known, 10, *runs) == [(5, [1, 3]), (1, [5]), (4, [6, 9])]
    [first, _, last] = known.by_batch(available(*runs), 10)
    assert first[1] == available((1, 1, 1), (3, 4, 2))
    assert last[1] == available((6, 7, 2), (9, 9, 1))
    assert grouped(known, 10) == []


def test_batches_behind_the_start_and_the_end_are_forgotten() -> None:
    known = FirstDeliveries([0, 5, 6])
    known.begin(10)
    known.keep(5, 10)
    assert grouped(known, 10, (5, 9, 1)) == [(1, [5]), (4, [6])]
    known.keep(7, 8)
    assert grouped(known, 8, (7, 7, 1)) == [(2, [7])]


def test_batches_are_forgotten_when_nothing_is_in_flight() -> None:
    known = FirstDeliveries([0, 5])
    known.keep(9, 9)
    known.begin(9)
    assert grouped(known, 12, (9, 11, 1)) == [(3, [9])]


@pytest.mark.parametrize(
    ("count", "limit", "together"), [(2, 5, 100), (3, 5, 50), (4, 5, 1), (5, 10, 50), (8, 10, 6), (1, 2, 100)]
)
def test_each_delivery_halves_the_batch(count: int, limit: int, together: int) -> None:
    [one] = delivered_together(available((0, 99, count)), 100, limit)
    assert one.size == together


def test_size_of_the_batch_counts_not_what_is_left() -> None:
    assert delivered_together(available((8, 15, 3)), 16, 5) == available((8, 15, 3))


def test_first_record_that_was_delivered_often_decides() -> None:
    runs = (0, 1, 2), (2, 3, 6), (4, 15, 5)
    assert delivered_together(available(*runs), 32, 10) == available((0, 1, 2), (2, 3, 6), (4, 7, 5))


def test_records_delivered_rarely_come_without_those_delivered_often_if_they_suffice() -> None:
    assert delivered_together(available((0, 9, 1), (10, 15, 3)), 16, 5) == available((0, 9, 1))


def test_last_attempt_is_not_delivered_with_others() -> None:
    assert delivered_together(available((0, 0, 3), (1, 3, 4)), 4, 5) == available((0, 0, 3))
