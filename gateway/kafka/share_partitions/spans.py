"""The offsets of batches that were read, of aborted transactions among them, and what is acquired of them.

Pure.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class BatchSpan(NamedTuple):
    """The offsets of a batch. `producer_id` is -1 unless the batch is part of a transaction."""

    first: int
    last: int
    producer_id: int = -1
    is_control: bool = False


class Acquired(NamedTuple):
    """Records that a member has acquired, with the number of their deliveries."""

    first: int
    last: int
    deliveries: int


def batch_end(spans: Sequence[BatchSpan], offset: int) -> int:
    """Return the last offset of the batch that has an offset; the offset itself if none has it."""
    index = bisect_right(spans, offset, key=_first_of) - 1
    return max(offset, spans[index].last) if index >= 0 else offset


def join(acquired: list[Acquired], following: Acquired) -> None:
    """Append records to others, as one entry with their neighbours that were delivered as often."""
    last = acquired[-1] if acquired else None
    if last is not None and (last.last + 1, last.deliveries) == (following.first, following.deliveries):
        following = following._replace(first=acquired.pop().first)
    acquired.append(following)


def aborted_spans(spans: Iterable[BatchSpan], aborted: Iterable[tuple[int, int]]) -> list[BatchSpan]:
    """Return the batches of aborted transactions, each of which is a first offset and a producer id.

    A transaction ends with its marker, a control batch.
    """
    waiting = sorted(aborted, reverse=True)
    open_ids: set[int] = set()
    found: list[BatchSpan] = []
    for span in spans:
        while waiting and waiting[-1][0] <= span.last:
            open_ids.add(waiting.pop()[1])
        if span.producer_id not in open_ids:
            continue
        if span.is_control:
            open_ids.discard(span.producer_id)
        else:
            found.append(span)
    return found


def without(acquired: Iterable[Acquired], spans: Sequence[BatchSpan]) -> list[Acquired]:
    """Return what is left of acquired records without those of some batches, both in their order."""
    left: list[Acquired] = []
    for one in acquired:
        first = one.first
        for span in spans:
            if first <= span.last and span.first <= one.last:
                if first < span.first:
                    left.append(one._replace(first=first, last=span.first - 1))
                first = span.last + 1
        if first <= one.last:
            left.append(one._replace(first=first))
    return left


def _first_of(span: BatchSpan) -> int:
    return span.first
