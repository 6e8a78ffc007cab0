"""Offsets of batches, and aborted transactions among them."""

from __future__ import annotations

from mqgateway.gateway.kafka.share_partitions.spans import (
    Acquired,
    BatchSpan,
    aborted_spans,
    batch_end,
    join,
    without,
)

DATA = BatchSpan(0, 1, 7)
OTHER = BatchSpan(2, 3, 8)
MARKER = BatchSpan(4, 4, 7, True)
AFTER = BatchSpan(5, 6, 7)
PLAIN = BatchSpan(7, 8)


def test_end_of_the_batch_with_an_offset() -> None:
    spans = [BatchSpan(0, 4), BatchSpan(10, 14)]
    assert [batch_end(spans, offset) for offset in (0, 4, 6, 10, 20)] == [4, 4, 6, 14, 20]
    assert batch_end([], 3) == 3


def test_batches_before_the_marker_are_aborted() -> None:
    spans = [DATA, OTHER, MARKER, AFTER, PLAIN]
    assert aborted_spans(spans, [(0, 7)]) == [DATA]
    assert aborted_spans(spans, [(5, 7), (0, 8)]) == [OTHER, AFTER]
    assert aborted_spans(spans, []) == []


def test_aborted_batches_are_taken_out_of_what_was_acquired() -> None:
    acquired = [Acquired(0, 4, 1), Acquired(5, 9, 2)]
    assert without(acquired, []) == acquired
    assert without(acquired, [BatchSpan(1, 2), BatchSpan(4, 6)]) == [
        Acquired(0, 0, 1),
        Acquired(3, 3, 1),
        Acquired(7, 9, 2),
    ]
    assert without(acquired, [BatchSpan(0, 20)]) == []


def test_neighbours_that_were_delivered_as_often_are_one_entry() -> None:
    acquired: list[Acquired] = []
    for one in (Acquired(0, 1, 2), Acquired(2, 3, 2), Acquired(4, 4, 1), Acquired(6, 6, 1)):
        join(acquired, one)
    assert acquired == [Acquired(0, 3, 2), Acquired(4, 4, 1), Acquired(6, 6, 1)]
