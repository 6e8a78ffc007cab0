"""Client thread: a Twisted reactor of its own, shared by all clients of the process.

The thread starts with the first client. It is a daemon, so it does not keep the process alive. Other threads
wait for it with `call`; `submit` returns a `concurrent.futures.Future`. Work posted before the loop next runs
wakes it only once. Work posted while the loop serves a read, as by callbacks of futures, does not wake it: it
runs when the read has been served. Data sent meanwhile on a connection is written together. Listeners that
may block run in threads of a `Pool`.

The process's own reactor, if it has one, is not used. After a fork the child gets a new loop.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextvars import copy_context
from functools import partial
from queue import SimpleQueue
from typing import Any, ClassVar, ParamSpec, TypeVar

from twisted.internet.defer import Deferred, execute
from twisted.python.failure import Failure

from mqgateway.engine.clock import Clock, SystemClock
from mqgateway.engine.disk import Disk
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.worker import Worker
from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.remoting.turn import Turn
from mqgateway.gateway.runtime.loop import Reactor, use_monotonic_time

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

START_SECONDS = 10.0
CHUNKS, TOGETHER = 4, 16
"""Posted work is run in `CHUNKS` chunks, or in more chunks of `TOGETHER`, and written after each chunk.

Otherwise the broker would be idle until all of it was done, and client and broker would take turns.
"""


class Loop:
    """Reactor in a thread; a new reactor unless one is given. It is also the `Environment` of its clients."""

    _shared: ClassVar[Loop | None] = None
    _lock: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, reactor: Reactor | None = None) -> None:
        self.reactor: Reactor = _new_reactor() if reactor is None else reactor
        use_monotonic_time(self.reactor)
        self.clock: Clock = SystemClock()
        self.disk: Disk = RealDisk()
        self.worker: Worker | None = None
        self.turn = Turn(self._work_off)
        self._pid = os.getpid()
        self._thread = threading.Thread(target=self._run, name="mqgateway client", daemon=True)
        self._ready = threading.Event()
        self._ident: int | None = None  # of the thread, once it runs
        self._posted: deque[Callable[[], object]] = deque()
        self._is_woken = False

    @classmethod
    def shared(cls) -> Loop:
        """Return the loop of the process; start it on first use."""
        with cls._lock:
            if cls._shared is None or cls._shared._pid != os.getpid():
                cls._shared = cls()
                cls._shared.start()
            return cls._shared

    def start(self) -> None:
        """Start the thread and wait until it accepts calls."""
        self._thread.start()
        if not self._ready.wait(START_SECONDS):
            raise ClientError("the client's thread does not start")

    def stop(self) -> None:
        """Stop the thread; work in flight is abandoned."""
        reactor: Any = self.reactor
        reactor.callFromThread(reactor.stop)
        self._thread.join(START_SECONDS)

    def submit(self, function: Callable[P, Deferred[T]], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call a function in the loop and return a future of its Deferred's result.

        The function runs with the caller's context variables.
        """
        outcome: Future[T] = Future()
        self.post(partial(copy_context().run, _begin, outcome, function, args, kwargs))
        return outcome

    def post(self, work: Callable[[], object]) -> None:
        """Schedule work in the loop, after all work posted before."""
        self._posted.append(work)
        if self._is_woken or (self.turn.is_open and threading.get_ident() == self._ident):
            return
        self._is_woken = True
        reactor: Any = self.reactor
        reactor.callFromThread(self._do_posted)

    def call(self, function: Callable[P, Deferred[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function in the loop and wait for its result. Raises what the function raises.

        Raises `RuntimeError` in the loop's own thread, where the wait could never end.
        """
        if threading.current_thread() is self._thread:
            raise RuntimeError("a blocking call from the client's own thread would never end")
        return self.submit(function, *args, **kwargs).result()

    def do(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a synchronous function in the loop and wait for its result."""
        return self.call(lambda: execute(function, *args, **kwargs))

    def pool(self, threads: int, name: str) -> Pool:
        """Return a thread pool for listeners called from this loop."""
        return Pool(self, threads, name)

    def _do_posted(self) -> None:
        self._is_woken = False  # reset first, so that work posted from here on wakes the loop again
        if self.turn.begin():
            self.turn.end()

    def _work_off(self) -> None:
        """Run the work posted so far.

        Work that it posts itself runs later, after the sockets had their turn.
        """
        count = len(self._posted)
        together = min(TOGETHER, max(1, count // CHUNKS))
        for number in range(count):
            if number and number % together == 0:
                self.turn.write()
            try:
                self._posted.popleft()()
            except Exception:
                log.exception("a call in the client's thread failed")
        if self._posted and not self._is_woken:
            self._is_woken = True
            reactor: Any = self.reactor
            reactor.callFromThread(self._do_posted)

    def _run(self) -> None:
        reactor: Any = self.reactor
        self._ident = threading.get_ident()
        reactor.callWhenRunning(self._ready.set)
        reactor.run(installSignalHandlers=False)


def _begin(
    outcome: Future[T], function: Callable[..., Deferred[T]], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Call a function and pass the result of its Deferred to a future."""
    try:
        begun = function(*args, **kwargs)
    except BaseException as error:
        _fail(outcome, error)
    else:
        begun.addCallbacks(_succeeded, _failed, (outcome,), errbackArgs=(outcome,))


def _succeeded(result: Any, outcome: Future[Any]) -> None:
    try:
        outcome.set_result(result)
    except InvalidStateError:
        return  # it was cancelled


def _failed(failure: Failure, outcome: Future[Any]) -> None:
    error = failure.value
    _fail(outcome, error if error is not None else ClientError("it failed"))


def _fail(outcome: Future[Any], error: BaseException) -> None:
    try:
        outcome.set_exception(error)
    except InvalidStateError:
        return  # it was cancelled


class Pool:
    """Thread pool for listeners that may block.

    Threads are daemons and start on demand. Listeners run with the caller's context variables.
    """

    def __init__(self, loop: Loop, threads: int, name: str) -> None:
        self._loop = loop
        self._most = threads
        self._name = name
        self._threads: list[threading.Thread] = []
        self._busy = 0  # busy threads and waiting work; counted in the loop
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._is_over = False

    def wrap(self, function: Callable[..., T]) -> Callable[..., Deferred[T]]:
        """Wrap a function for calls from the loop: it runs in a thread and returns a Deferred."""

        def call(*args: Any) -> Deferred[T]:
            outcome: Deferred[T] = Deferred()
            context = copy_context()

            def work() -> None:
                try:
                    done = partial(outcome.callback, context.run(function, *args))
                except BaseException:
                    done = partial(outcome.errback, Failure())  # type: ignore[no-untyped-call]
                self._loop.post(partial(self._finish, done))

            self._begin(work)
            return outcome

        return call

    def stop(self) -> None:
        """Wait for running work, then end the threads. Idempotent. Work submitted later is not run."""
        self._is_over = True
        threads, self._threads = self._threads, []
        for _ in threads:
            self._work.put(None)
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join()

    def _begin(self, work: Callable[[], None]) -> None:
        if self._is_over:
            return
        self._busy += 1
        self._work.put(work)
        if self._busy > len(self._threads) < self._most:
            name = f"{self._name} {len(self._threads) + 1}"
            thread = threading.Thread(target=self._run, name=name, daemon=True)
            self._threads.append(thread)
            thread.start()

    def _finish(self, done: Callable[[], None]) -> None:
        self._busy -= 1
        done()

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            work()


def _new_reactor() -> Any:
    """Return a new reactor; the global one is not touched."""
    try:
        from twisted.internet.epollreactor import EPollReactor
    except ImportError:
        from twisted.internet.selectreactor import SelectReactor

        return SelectReactor()
    return EPollReactor()  # type: ignore[no-untyped-call]
