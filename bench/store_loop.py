"""A loop with worker threads, as small as it can be: what a broker's reactor is to its store."""

from __future__ import annotations

import queue
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


class Loop:
    """Calls on its own thread, in `turn`, what workers have finished."""

    def __init__(self) -> None:
        self._finished: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._pools: list[ThreadPoolExecutor] = []

    def worker(self, threads: int = 1) -> LoopWorker:
        """A worker with threads of its own."""
        pool = ThreadPoolExecutor(threads)
        self._pools.append(pool)
        return LoopWorker(pool, self._finished.put)

    def turn(self) -> None:
        """Tell of what is finished."""
        while not self._finished.empty():
            self._finished.get()()

    def stop(self) -> None:
        """Finish all work."""
        for pool in self._pools:
            pool.shutdown()
        self.turn()


class LoopWorker:
    """An `engine.worker.Worker`."""

    def __init__(self, pool: ThreadPoolExecutor, notify: Callable[[Callable[[], None]], None]) -> None:
        self._pool = pool
        self._notify = notify

    def run(self, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        """Run `work` on a thread, then `done` in a turn of the loop."""

        def perform() -> None:
            try:
                outcome = work()
            except Exception as error:
                outcome = error
            self._notify(lambda: done(outcome))

        try:
            self._pool.submit(perform)
        except RuntimeError:
            return  # the loop has stopped
