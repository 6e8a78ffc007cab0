"""Partitions of a topic over the broker groups of a Kafka cluster, as an attribute of the topic has them.

A partition is a queue of one group, numbered there in the order of the partitions: with the groups a, b, a, b
partition 2 is queue 1 of group a. A partition that moves gets the next queue of its new group, and its old
queue is never used again. The text is a history that is only appended to, so that no partition changes its
meaning and the longer of two texts is the newer one:

    4*a/b      four partitions are added, in the groups a, b, a, b
    2>c        partition 2 begins to move to group c
    2=18       its move is complete; 18 is added to the epochs of group c from now on
    2!         its move is cancelled
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple, Self

PARTITIONS_MAX: Final = 100_000
MOVES_MAX: Final = 1000
"""Moves of a topic's partitions, over its whole life: its configuration has all of them."""
EPOCH_MAX: Final = (1 << 31) - 1
ELSEWHERE: Final = 1 << 24
"""Added to the numbers of partitions that were not made in the own group, where offsets are kept by queue:
queues of the own group are below."""
_RUN: Final = re.compile(r"([1-9][0-9]{0,5})\*([^;*]+)")
_BEGIN: Final = re.compile(r"([0-9]{1,6})>([^;*/]+)")
_END: Final = re.compile(r"([0-9]{1,6})(?:=([0-9]{1,10})|!)")


class PartitionPlace(NamedTuple):
    """The group and the queue of a partition."""

    group: str
    queue_id: int


class MoveState(Enum):
    """The state of a move."""

    PENDING = "it is being copied"
    DONE = "the new group leads the partition"
    CANCELLED = "the old group leads the partition"


class PartitionMove(NamedTuple):
    """A move of a partition to a queue of another group. `number` counts the moves of a topic from 0."""

    number: int
    partition: int
    target: PartitionPlace
    state: MoveState = MoveState.PENDING


class _Places(NamedTuple):
    """A layout without its text; see `PartitionLayout`."""

    places: tuple[PartitionPlace, ...]
    first_places: tuple[PartitionPlace, ...]
    moves: tuple[PartitionMove, ...]
    epochs: Mapping[PartitionPlace, int]
    queue_numbers: Mapping[str, int]


class PartitionLayout(NamedTuple):
    """The place of each partition. `text` is what the attribute has: `4*a/b;1*b` for groups a, b, a, b, b.

    `first_places` are those before any move. `epochs` has what is added to a group's epochs in each queue to
    which a partition moved, so that the partition's epochs ascend. `queue_numbers` has the number of queues
    that each group has had.
    """

    text: str
    places: tuple[PartitionPlace, ...]
    first_places: tuple[PartitionPlace, ...]
    moves: tuple[PartitionMove, ...]
    epochs: Mapping[PartitionPlace, int]
    queue_numbers: Mapping[str, int]

    @classmethod
    def of(cls, groups: Sequence[str]) -> Self:
        """Return the layout of a new topic, from the group of each partition; there is one at least."""
        return cls.read(_run(groups))

    @classmethod
    def read(cls, text: str) -> Self:
        """Return the layout of a text. Raises `ValueError` for another text."""
        return cls(text, *_Reader(text).read())

    @property
    def home(self) -> str:
        """The group in which the first partition was made, which never changes: its master makes changes of
        the topic."""
        return self.first_places[0].group

    @property
    def groups(self) -> list[str]:
        """The groups that changes of the topic need: the home, those that have partitions, and those that
        partitions move to."""
        targets = (move.target.group for move in self.pending.values())
        return list(dict.fromkeys((self.home, *(place.group for place in self.places), *targets)))

    @property
    def pending(self) -> dict[int, PartitionMove]:
        """The moves that are neither complete nor cancelled, by partition."""
        return {move.partition: move for move in self.moves if move.state is MoveState.PENDING}

    def queues(self, group: str) -> int:
        """Return the number of queues that a group has, those that partitions left among them."""
        return self.queue_numbers.get(group, 0)

    def partitions(self, group: str) -> dict[int, int]:
        """Return the partitions that a group has, by their queues."""
        return _by_queue(self.places, group)

    def first_partitions(self, group: str) -> dict[int, int]:
        """Return the partitions that were made in a group, by the queues that they had there first."""
        return _by_queue(self.first_places, group)

    def epoch_base(self, partition: int) -> int:
        """Return what is added to the epochs of the group that has a partition; 0 for an unknown one."""
        return self.epochs.get(self.places[partition], 0) if 0 <= partition < len(self.places) else 0

    def extended(self, groups: Sequence[str]) -> Self:
        """Return the layout with more partitions at the end, from the group of each."""
        return self.read(f"{self.text};{_run(groups)}")

    def begun(self, partition: int, group: str) -> Self:
        """Return the layout with a move of a partition to another group. Raises `ValueError` if it moves
        already, is there, or does not exist."""
        return self.read(f"{self.text};{partition}>{group}")

    def completed(self, partition: int, epoch_base: int) -> Self:
        """Return the layout with the move of a partition complete. Raises `ValueError` if it does not
        move."""
        return self.read(f"{self.text};{partition}={epoch_base}")

    def cancelled(self, partition: int) -> Self:
        """Return the layout with the move of a partition cancelled. Raises `ValueError` if it does not
        move."""
        return self.read(f"{self.text};{partition}!")

    def extends(self, other: PartitionLayout) -> bool:
        """Return True if this layout has the whole history of another one."""
        if self.text == other.text or self.text.startswith(f"{other.text};"):
            return True
        has_moves = self.moves or other.moves  # else two texts may say the same
        return not has_moves and self.places[: len(other.places)] == other.places


class _Reader:
    """Reads the text of a layout. Raises `ValueError` for another text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._places: list[PartitionPlace] = []
        self._first_places: list[PartitionPlace] = []
        self._moves: list[PartitionMove] = []
        self._pending: dict[int, int] = {}
        self._epochs: dict[PartitionPlace, int] = {}
        self._numbers: Counter[str] = Counter()

    def read(self) -> _Places:
        """Return what the text has."""
        for part in self._text.split(";"):
            if found := _RUN.fullmatch(part):
                self._add(int(found[1]), found[2].split("/"))
            elif found := _BEGIN.fullmatch(part):
                self._begin(int(found[1]), found[2])
            elif found := _END.fullmatch(part):
                self._end(int(found[1]), None if found[2] is None else int(found[2]))
            else:
                raise ValueError(part)
        return _Places(
            tuple(self._places),
            tuple(self._first_places),
            tuple(self._moves),
            self._epochs,
            dict(self._numbers),
        )

    def _next(self, group: str) -> PartitionPlace:
        """Return the next queue of a group."""
        self._numbers[group] += 1
        return PartitionPlace(group, self._numbers[group] - 1)

    def _add(self, count: int, names: Sequence[str]) -> None:
        if len(self._places) + count > PARTITIONS_MAX or not all(names):
            raise ValueError(names)
        for index in range(count):
            place = self._next(names[index % len(names)])
            self._places.append(place)
            self._first_places.append(place)

    def _begin(self, partition: int, group: str) -> None:
        is_known = partition < len(self._places)
        if not is_known or partition in self._pending or self._places[partition].group == group:
            raise ValueError(partition)
        if len(self._moves) >= MOVES_MAX:
            raise ValueError(MOVES_MAX)
        self._pending[partition] = len(self._moves)
        self._moves.append(PartitionMove(len(self._moves), partition, self._next(group)))

    def _end(self, partition: int, epoch_base: int | None) -> None:
        number = self._pending.pop(partition, None)
        if number is None or (epoch_base or 0) > EPOCH_MAX:
            raise ValueError(partition)
        move = self._moves[number]
        if epoch_base is None:
            self._moves[number] = move._replace(state=MoveState.CANCELLED)
            return
        self._moves[number] = move._replace(state=MoveState.DONE)
        self._places[partition] = move.target
        self._epochs[move.target] = epoch_base


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
    try:
        return PartitionLayout.read(text) if text else None
    except ValueError:
        return None


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


def _by_queue(places: Sequence[PartitionPlace], group: str) -> dict[int, int]:
    return {place.queue_id: number for number, place in enumerate(places) if place.group == group}


def _run(groups: Sequence[str]) -> str:
    """Return groups as their number and the shortest sequence that repeats."""
    count = len(groups)
    period = next(
        period
        for period in range(1, count + 1)
        if all(groups[index] == groups[index - period] for index in range(period, count))
    )
    return f"{count}*{'/'.join(groups[:period])}"
