"""Work that may block (fsync, a cold scan) leaves the loop through a `Worker`.

The loop's thread hands over a function and is called back, on the loop's thread, with its value
or its exception. Nothing else about threads is visible to the engine.
"""

from collections import deque
from collections.abc import Callable
from typing import Protocol, TypeVar

T = TypeVar("T")


class Worker(Protocol):
    """Runs functions elsewhere, one after another in the order given."""

    def run(self, work: Callable[[], T], done: Callable[[T | Exception], None]) -> None:
        """Run `work` and call `done` with what it returned, or with the exception it raised."""
        ...


def _outcome(work: Callable[[], T]) -> T | Exception:
    try:
        return work()
    except Exception as error:
        return error


class InlineWorker:
    """Runs everything at once, on the caller's thread."""

    def run(self, work: Callable[[], T], done: Callable[[T | Exception], None]) -> None:
        done(_outcome(work))


class MemoryWorker:
    """Keeps work until it is told to perform a step; for tests that step a thread by hand."""

    def __init__(self) -> None:
        self._steps: deque[Callable[[], None]] = deque()

    def run(self, work: Callable[[], T], done: Callable[[T | Exception], None]) -> None:
        self._steps.append(lambda: done(_outcome(work)))

    @property
    def waiting(self) -> int:
        """How many pieces of work have not been performed yet."""
        return len(self._steps)

    def perform(self) -> bool:
        """Perform the oldest piece of work; false when there is none."""
        if not self._steps:
            return False
        self._steps.popleft()()
        return True

    def perform_all(self) -> None:
        """Perform everything, including what is handed over meanwhile."""
        while self.perform():
            pass
