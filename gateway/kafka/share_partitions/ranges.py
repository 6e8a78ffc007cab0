"""Offsets of a share partition with the same state, as ranges in the order of their offsets. Pure.

A list of ranges has no gaps. Neighbours with the same state are one range.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import NamedTuple


class RecordState(IntEnum):
    """State of a record in a share group, by Kafka's number in stored state."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVING = 3
    """Archived once its dead letter is written."""
    ARCHIVED = 4

    @property
    def is_final(self) -> bool:
        """True if the group is done with the record."""
        return self in (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)


class OffsetRange(NamedTuple):
    """Offsets `first` to `last`, delivered `deliveries` times.

    `member` has acquired them until `deadline`, ms of the steady clock; empty and 0 in other states.
    """

    first: int
    last: int
    state: RecordState
    deliveries: int
    member: str = ""
    deadline: int = 0

    @property
    def size(self) -> int:
        """The number of offsets."""
        return self.last - self.first + 1

    def become(self, state: RecordState) -> OffsetRange:
        """Return the range in another state, without a member."""
        return OffsetRange(self.first, self.last, state, self.deliveries)


Change = Callable[[OffsetRange], OffsetRange]


def change_between(ranges: list[OffsetRange], first: int, last: int, change: Change) -> None:
    """Replace the offsets from `first` to `last` by what `change` makes of them, a range at a time."""
    low = bisect_left(ranges, first, key=_last_of)
    high = bisect_right(ranges, last, low, key=_first_of)
    changed: list[OffsetRange] = []
    for one in ranges[low:high]:
        middle = one._replace(first=max(one.first, first), last=min(one.last, last))
        if one.first < first:
            changed.append(one._replace(last=first - 1))
        changed.append(change(middle))
        if one.last > last:
            changed.append(one._replace(first=last + 1))
    before, after = max(0, low - 1), high + 1
    ranges[before:after] = merged((*ranges[before:low], *changed, *ranges[high:after]))


def between(ranges: list[OffsetRange], first: int, last: int) -> list[OffsetRange]:
    """Return the ranges that have offsets from `first` to `last`; the outer ones may have others too."""
    low = bisect_left(ranges, first, key=_last_of)
    return ranges[low : bisect_right(ranges, last, low, key=_first_of)]


def merged(ranges: Iterable[OffsetRange]) -> list[OffsetRange]:
    """Return ranges in their order, with equal neighbours as one."""
    found: list[OffsetRange] = []
    for one in ranges:
        if found and found[-1].last + 1 == one.first and found[-1][2:] == one[2:]:
            one = one._replace(first=found.pop().first)
        found.append(one)
    return found


def _first_of(one: OffsetRange) -> int:
    return one.first


def _last_of(one: OffsetRange) -> int:
    return one.last
