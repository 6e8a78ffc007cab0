"""Blocking work (fsync, a cold scan) leaves the event loop through a `Worker`.

The event loop's thread passes a function and is called back, on the same thread, with its result or its
exception. The engine sees nothing else of threads.
"""

from collections import deque
from collections.abc import Callable
from typing import Protocol, TypeVar

T = TypeVar("T")


class Worker(Protocol):
    """Runs functions on another thread, one after another in the order given."""

    def run(self, work: Callable[[], T], done: Callable[[T | Exception], None]) -> None:
        """Run `work` and call `done` with its result, or with the exception it raised."""
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
    """Queues work until `perform` is called; for tests that step a thread by hand."""

    def __init__(self) -> None:
        self._steps: deque[Callable[[], None]] = deque()

    def run(self, work: Callable[[], T], done: Callable[[T | Exception], None]) -> None:
        self._steps.append(lambda: done(_outcome(work)))

    @property
    def waiting(self) -> int:
        """Number of work items not performed yet."""
        return len(self._steps)

    def perform(self) -> bool:
        """Perform the oldest work item; return False if there is none."""
        if not self._steps:
            return False
        self._steps.popleft()()
        return True

    def perform_all(self) -> None:
        """Perform all work items, including those added meanwhile."""
        while self.perform():
            pass
