"""Cooperative tasks: long work that yields after each step, so that nothing else is blocked.

Such a task is a generator that yields None after each step of a fraction of a millisecond, and returns the
result.
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
"""Entries of a list processed in one step, if each takes tens of microseconds."""


def run(steps: Steps[T]) -> T:
    """Run a task to its end and return its result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


def in_parts(entries: Sequence[E], size: int = PART) -> Iterator[Sequence[E]]:
    """Yield the entries in order, in chunks for one step each."""
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
    """Yield keys and values of a snapshot of a table, in chunks.

    Building all pairs of a very large table would take longer than one step may.
    """
    keys, values = list(table), list(table.values())
    for start in range(0, len(keys), size):
        yield keys[start : start + size], values[start : start + size]


def run_for(steps: Steps[T], clock: Clock, seconds: float) -> bool:
    """Run a task for about `seconds`; return True if it has ended."""
    until = clock.monotonic() + seconds
    return all(clock.monotonic() < until for _ in steps)
