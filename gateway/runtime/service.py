"""Services: what they use of their process, and how they start and stop.

    class Echo(Service):
        def __init__(self, runtime: Runtime) -> None:
            super().__init__(runtime)
            with self._closed_on_failure():
                self._lock = runtime.disk.lock("/echo/lock")
                self._on_close(self._lock.close)

        def _begin(self) -> None:
            self._on_stop(self._close_port)
            self._port = self._runtime.reactor.listenTCP(7, EchoFactory())

A service registers for each thing how it ends, before it begins it; ends of what has not begun do nothing.
A stop, and a start that fails, run them in one order: the ends registered by `_on_stop`, the timers, the
threads, then the ends registered by `_on_close`. Of each list, the end that was registered last is first.
Threads finish their work, and what is done with its results, so that a file has no other writer when it is
closed.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from twisted.internet.defer import Deferred, maybeDeferred, succeed
from twisted.python.failure import Failure

from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk
from mqgateway.engine.worker import Worker
from mqgateway.gateway.runtime.loop import Reactor
from mqgateway.gateway.runtime.schedule import Schedule
from mqgateway.gateway.runtime.threads import ThreadWorker

log = logging.getLogger(__name__)

End = Callable[[], object]
"""The end of something that has begun; a Deferred that it returns is waited for."""


@dataclass(frozen=True)
class Runtime:
    """The parts of a process that a service uses. Without `worker` each service has a thread of its own."""

    reactor: Reactor
    clock: Clock
    disk: Disk
    worker: Worker | None = None


class Service(ABC):
    """A service that is started once and stopped once. Nothing happens before `start`."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._schedule = Schedule(runtime.reactor)
        self._threads: list[ThreadWorker] = []
        self._worker = self._new_threads() if runtime.worker is None else runtime.worker
        self._stop_ends: list[End] = []
        self._close_ends: list[End] = []
        self._ended: Deferred[None] | None = None

    def start(self) -> Deferred[None]:
        """Begin to serve; fires when clients can be served.

        A start that fails ends all that it began, so that ports, locks and threads are free, and fails then,
        with the cause.
        """
        started: Deferred[object] = maybeDeferred(self._begin)
        return started.addErrback(self._undo).addCallback(lambda _: None)

    def stop(self) -> Deferred[None]:
        """Stop; fires when all is closed. May be called again, and after a start that failed."""
        return self._may_stop().addCallback(lambda _: self._end())

    @property
    def is_ending(self) -> bool:
        """True once a stop, or a start that failed, ends what has begun."""
        return self._ended is not None

    # What a service states of its own.

    @abstractmethod
    def _begin(self) -> object:
        """Begin to serve. May return a Deferred that fires when clients can be served."""

    def _may_stop(self) -> Deferred[None]:
        """Return a Deferred that fires when what has begun can be ended: by default at once."""
        return succeed(None)

    def _on_stop(self, end: End) -> None:
        """Register the end of something that needs timers and worker to end."""
        self._stop_ends.append(end)

    def _on_close(self, end: End) -> None:
        """Register the end of something that the worker may use: a file, a lock."""
        self._close_ends.append(end)

    def _new_threads(
        self, count: int = 1, name: str = "worker", *, is_abandoned: bool = False
    ) -> ThreadWorker:
        """Return a worker that ends with this service; it has no thread before it has work.

        See `ThreadWorker` for `is_abandoned`.
        """
        reactor = self._runtime.reactor
        threads = ThreadWorker(reactor, count, name, is_abandoned=is_abandoned)  # type: ignore[arg-type]
        self._threads.append(threads)
        return threads

    @contextmanager
    def _closed_on_failure(self) -> Iterator[None]:
        """Close what a constructor has opened if the rest of the construction fails: at once, as the caller
        waits for nothing."""
        try:
            yield
        except Exception:
            _run_last_first([*self._close_ends, *self._thread_stops()]).addErrback(_log_failed_undo)
            raise

    def _undo(self, cause: Failure) -> Deferred[Failure]:
        return self._end().addErrback(_log_failed_undo).addCallback(lambda _: cause)

    def _end(self) -> Deferred[None]:
        """Run all ends once; fires when they have been run, for every caller."""
        if self._ended is None:
            self._ended = Deferred()
            settles = [worker.settle for worker in self._threads]
            ends = [*self._close_ends, *self._thread_stops(), *settles, self._schedule.stop]
            _run_last_first([*ends, *self._stop_ends]).chainDeferred(self._ended)
        ended: Deferred[None] = Deferred()
        # The first caller gets the failure, if there is one.
        self._ended.addBoth(ended.callback)
        return ended

    def _thread_stops(self) -> list[End]:
        return [worker.stop for worker in self._threads]


def _run_last_first(ends: list[End]) -> Deferred[None]:
    """Run ends, each after the one before; one that fails keeps no other from running.

    Fails with the first error.
    """
    return Deferred.fromCoroutine(_run_each(ends))


async def _run_each(ends: list[End]) -> None:
    first: Exception | None = None
    while ends:
        try:
            await maybeDeferred(ends.pop())
        except Exception as error:
            if first is None:
                first = error
            else:
                log.error("the stop of a service failed further: %s", error)
    if first is not None:
        raise first


def _log_failed_undo(failure: Failure) -> None:
    log.error("not all that a failed start began could be ended: %s", failure.getErrorMessage())
