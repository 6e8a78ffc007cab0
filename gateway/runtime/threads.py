"""The thread behind `engine.worker.Worker`: Twisted's thread pool, with the loop called back from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from twisted.python.threadpool import ThreadPool

T = TypeVar("T")


class ThreadedLoop(Protocol):
    """What is needed of the reactor: `IReactorFromThreads`."""

    def callFromThread(self, callable: Callable[..., Any], /, *args: Any, **kw: Any) -> object: ...


class ThreadWorker:
    """Runs work on `threads` threads; with one, in the order given. `done` is called on the loop's thread.

    The threads start with the first work. `stop` finishes what has been handed over and ends them.
    """

    def __init__(self, reactor: ThreadedLoop, threads: int = 1, name: str = "worker") -> None:
        self._reactor = reactor
        self._pool = ThreadPool(minthreads=0, maxthreads=threads, name=name)
        self._pool.start()

    def run(self, work: Callable[[], T], done: Callable[[T | Exception], None]) -> None:
        """Run `work` elsewhere and `done` here, with what it returned or the exception it raised."""

        def perform() -> None:
            outcome: T | Exception
            try:
                outcome = work()
            except Exception as error:
                outcome = error
            self._reactor.callFromThread(done, outcome)

        self._pool.callInThread(perform)

    def stop(self) -> None:
        """Wait for the work in hand, then end the threads. What is handed over later is not run."""
        self._pool.stop()
