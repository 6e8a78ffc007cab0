"""Work that is long, in steps: whoever does it gives way after each, so that nobody else waits.

A function of such work is a generator that yields nothing, after each piece that takes a fraction of a
millisecond, and returns what came of it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from mqgateway.engine.clock import Clock

T = TypeVar("T")
E = TypeVar("E")
K = TypeVar("K")
R = TypeVar("R")
Steps = Generator[None, None, T]

PART = 8
"""Entries of a list that are worked on in one step, where each takes tens of microseconds."""


def run(steps: Steps[T]) -> T:
    """Do all of it in one go."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


def in_parts(entries: Sequence[E], size: int = PART) -> Iterator[Sequence[E]]:
    """The entries in order, so many at a time as are looked at in one step."""
    for start in range(0, len(entries), size):
        yield entries[start : start + size]


def mapped(function: Callable[[E], R], entries: Iterable[E], size: int = PART) -> Steps[list[R]]:
    """Return the results of a function for all entries, so many of them in one step."""
    results: list[R] = []
    for number, entry in enumerate(entries, 1):
        results.append(function(entry))
        if not number % size:
            yield
    return results


def columns_in_parts(table: Mapping[K, E], size: int = PART) -> Iterator[tuple[list[K], list[E]]]:
    """Keys and values of a table as it is when it is asked, so many at a time: pairs of all of very many
    would take longer than one step may."""
    keys, values = list(table), list(table.values())
    for start in range(0, len(keys), size):
        yield keys[start : start + size], values[start : start + size]


def run_for(steps: Steps[T], clock: Clock, seconds: float) -> bool:
    """Go on for about so long; whether all of it is done."""
    until = clock.monotonic() + seconds
    return all(clock.monotonic() < until for _ in steps)
