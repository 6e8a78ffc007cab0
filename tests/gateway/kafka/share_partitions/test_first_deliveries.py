"""Batches of first deliveries, and the numbers of records that are delivered together by them."""

from __future__ import annotations

import pytest

from mqgateway.gateway.kafka.share_partitions.first_deliveries import FirstDeliveries, delivered_together
from mqgateway.gateway.kafka.share_partitions.ranges import OffsetRange, RecordState


def available(*runs: tuple[int, int, int]) -> list[OffsetRange]:
    """Ranges of first offset, last offset and number of deliveries."""
    return [OffsetRange(first, last, RecordState.AVAILABLE, count) for first, last, count in runs]


@pytest.mark.parametrize(
    ("first", "last", "batches"),
    [
        (0, 99, [(0, 4), (5, 5), (6, 9)]),
        (4, 5, [(0, 4), (5, 5)]),
        (7, 7, [(6, 9)]),
        (6, 99, [(6, 9)]),
    ],
)
def test_batches_with_offsets_in_a_range_are_returned_whole(
    first: int, last: int, batches: list[tuple[int, int]]
) -> None:
    assert [*FirstDeliveries([0, 5, 6]).between(first, last, 10)] == batches


def test_batches_behind_the_start_and_the_end_are_forgotten() -> None:
    known = FirstDeliveries([0, 5, 6])
    known.begin(10)
    known.keep(5, 10)
    assert [*known.between(0, 99, 10)] == [(5, 5), (6, 9)]
    known.keep(7, 8)
    assert [*known.between(0, 99, 8)] == [(6, 7)]


def test_batches_are_forgotten_when_nothing_is_in_flight() -> None:
    known = FirstDeliveries([0, 5])
    known.keep(9, 9)
    known.begin(9)
    assert [*known.between(9, 9, 12)] == [(9, 11)]


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
