"""Cold reads of cooperative tasks, which do not wait for the disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, TypeVar

from mqgateway.engine.steps import Steps
from mqgateway.engine.store.cold import ColdRead

T = TypeVar("T")

ROUNDS: Final = 8
"""Number of loads for one read before it waits for the disk."""


class ColdReading(Protocol):
    """A task that returns the outcome of `attempt(may_wait)` once the bytes that it reads are in memory.

    An attempt that may not wait for the disk raises `ColdRead`; then it is repeated.
    """

    def __call__(self, attempt: Callable[[bool], T], /) -> Steps[T]: ...


def read_in_steps(attempt: Callable[[bool], T], load: Callable[[ColdRead], None]) -> Steps[T]:
    """Return the outcome of `attempt(may_wait)` once the bytes that it reads are in memory.

    `load` has a worker load the bytes that are not. The task must not be continued until that is done.
    """
    for _ in range(ROUNDS):
        try:
            return attempt(False)
        except ColdRead as cold:
            load(cold)
            yield
    return attempt(True)
