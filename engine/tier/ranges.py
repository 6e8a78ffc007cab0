"""Which ranges of a tier count: the fence between writers, without clocks and without compare-and-swap.

Each start of a writer takes a new epoch, which begins at a log offset. A range of an epoch counts if it
begins at or after the start of its epoch, and before the starts of all later epochs. So what an old writer
adds, once a later epoch has begun, does not count. The start of an epoch is the end of a range that counts,
so no range counts in part. It is the end of the last one unless the log of the new writer is another one from
there on.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple


class RangeKey(NamedTuple):
    """The epoch of a range, and the log offset at which it begins."""

    epoch: int
    begin: int


def ranges_that_count(starts: Mapping[int, int], ranges: Iterable[RangeKey]) -> list[RangeKey]:
    """Return the ranges that count, by position. `starts` are the starts of all epochs, by their numbers."""
    limits: dict[int, int | None] = {}
    limit: int | None = None
    for epoch in sorted(starts, reverse=True):
        limits[epoch] = limit
        limit = starts[epoch] if limit is None else min(limit, starts[epoch])
    return sorted(
        (
            each
            for each in ranges
            if each.epoch in starts and _is_within(each.begin, starts[each.epoch], limits[each.epoch])
        ),
        key=lambda each: each.begin,
    )


def epochs_without_use(starts: Mapping[int, int], used: Container[int]) -> list[int]:
    """Return the epochs whose objects may be deleted, in this order, given the starts of all epochs and those
    that are `used`: they have ranges, segments or tables.

    The newest one stays, so that older writers are fenced and numbers ascend. Another one is of use as the
    limit of earlier epochs, unless there are none, or a later epoch begins no later.
    """
    least_after: dict[int, int] = {}
    least: int | None = None
    for epoch in sorted(starts, reverse=True):
        if least is not None:
            least_after[epoch] = least
        least = starts[epoch] if least is None else min(least, starts[epoch])
    found, has_earlier = [], False
    for epoch in sorted(least_after):
        if epoch in used or (has_earlier and least_after[epoch] > starts[epoch]):
            has_earlier = True
        else:
            found.append(epoch)
    return found


def _is_within(begin: int, start: int, limit: int | None) -> bool:
    return start <= begin and (limit is None or begin < limit)
