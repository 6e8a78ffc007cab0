"""Partitions of a topic over the broker groups of a Kafka cluster, as an attribute of the topic has them.

A partition is a queue of one group, numbered there in the order of the partitions: with the groups a, b, a, b
partition 2 is queue 1 of group a. Partitions are only appended, so that none changes its meaning.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple, Self

PARTITIONS_MAX: Final = 100_000
ELSEWHERE: Final = 1 << 24
"""Added to the numbers of partitions that other groups have, where offsets are kept by queue: queues of the
own group are below."""
_RUN: Final = re.compile(r"([1-9][0-9]{0,5})\*([^;*]+)")


class PartitionPlace(NamedTuple):
    """The group and the queue of a partition."""

    group: str
    queue_id: int


class PartitionLayout(NamedTuple):
    """The place of each partition. `text` is what the attribute has: `4*a/b;1*b` for groups a, b, a, b, b."""

    text: str
    places: tuple[PartitionPlace, ...]

    @classmethod
    def of(cls, groups: Sequence[str]) -> Self:
        """Return the layout of a new topic, from the group of each partition; there is one at least."""
        return cls(_run(groups), tuple(_places(groups)))

    @property
    def home(self) -> str:
        """The group of the first partition, which never changes: its master makes changes of the topic."""
        return self.places[0].group

    @property
    def groups(self) -> list[str]:
        """All groups that have partitions, the home first."""
        return list(dict.fromkeys(place.group for place in self.places))

    def queues(self, group: str) -> int:
        """Return the number of partitions that a group has."""
        return len(self.partitions(group))

    def partitions(self, group: str) -> list[int]:
        """Return the partitions of a group, by queue."""
        return [number for number, place in enumerate(self.places) if place.group == group]

    def extended(self, groups: Sequence[str]) -> Self:
        """Return the layout with more partitions at the end, from the group of each."""
        before = [place.group for place in self.places]
        return type(self)(f"{self.text};{_run(groups)}", tuple(_places([*before, *groups])))

    def extends(self, other: PartitionLayout) -> bool:
        """Return True if this layout has all partitions of another one where they are."""
        return self.places[: len(other.places)] == other.places


class LayoutRule:
    """The check of an attribute that has a layout."""

    def problem(self, value: str) -> str | None:
        """Return why a value is not allowed, None if it is."""
        if parse_layout(value) is not None:
            return None
        return f"{value} has no partitions of broker groups, such as 4*broker-a/broker-b"


@lru_cache(maxsize=4096)
def parse_layout(text: str) -> PartitionLayout | None:
    """Return the layout in an attribute, None for another text."""
    groups: list[str] = []
    for part in text.split(";"):
        found = _RUN.fullmatch(part)
        if found is None:
            return None
        count, names = int(found[1]), found[2].split("/")
        if len(groups) + count > PARTITIONS_MAX or not all(names):
            return None
        groups += (names * (count // len(names) + 1))[:count]
    return PartitionLayout(text, tuple(_places(groups)))


def spread(names: Sequence[str], count: int, first: int, taken: Sequence[str] = ()) -> list[str]:
    """Return a group for each of `count` partitions that are added, so that groups have equally many.

    `taken` has the groups of the partitions that exist. Among groups with equally few partitions the order is
    that of the names, from `first` on.
    """
    order = [names[(first + index) % len(names)] for index in range(len(names))]
    numbers = Counter(taken)
    chosen = []
    for _ in range(count):
        group = min(order, key=numbers.__getitem__)
        numbers[group] += 1
        chosen.append(group)
    return chosen


def _places(groups: Sequence[str]) -> list[PartitionPlace]:
    numbers: Counter[str] = Counter()
    places = []
    for group in groups:
        places.append(PartitionPlace(group, numbers[group]))
        numbers[group] += 1
    return places


def _run(groups: Sequence[str]) -> str:
    """Return groups as their number and the shortest sequence that repeats."""
    count = len(groups)
    period = next(
        period
        for period in range(1, count + 1)
        if all(groups[index] == groups[index - period] for index in range(period, count))
    )
    return f"{count}*{'/'.join(groups[:period])}"
