"""Work that is long, in steps: whoever does it gives way after each, so that nobody else waits.

A function of such work is a generator that yields nothing, after each piece that takes a fraction of a
millisecond, and returns what came of it.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

from mqgateway.engine.clock import Clock

T = TypeVar("T")
Steps = Generator[None, None, T]


def run(steps: Steps[T]) -> T:
    """Do all of it in one go."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


def run_for(steps: Steps[T], clock: Clock, seconds: float) -> bool:
    """Go on for about so long; whether all of it is done."""
    until = clock.monotonic() + seconds
    return all(clock.monotonic() < until for _ in steps)
