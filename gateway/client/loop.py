"""The thread that clients run in: a Twisted reactor of its own, shared by all clients of the process.

It starts with the first client and is a daemon: it does not keep the process alive. Threads wait for it with
`call`; `submit` gives a `concurrent.futures.Future`. The loop is woken once for all that is handed over to it
until it looks. What comes of a read hands over, as callbacks of futures do, wakes nobody: it is done when the
read has been served. What is sent meanwhile on a connection is written together. Listeners that may block run
in threads of a `Pool`.
The process's own reactor, if it has one, is left alone. After a fork the child has a loop of its own.
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
PIECES, TOGETHER = 4, 16
"""What was handed over is done in so many pieces, or more of so many each, and what each sends is written: a
broker that waited for all of it would have nothing to do meanwhile, and both took turns."""


class Loop:
    """A reactor in a thread, one of its own unless it is given; also the `Environment` of the clients in
    it."""

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
        """The process's one, started when it is first asked for."""
        with cls._lock:
            if cls._shared is None or cls._shared._pid != os.getpid():
                cls._shared = cls()
                cls._shared.start()
            return cls._shared

    def start(self) -> None:
        """Run the thread; returns when calls are taken."""
        self._thread.start()
        if not self._ready.wait(START_SECONDS):
            raise ClientError("the client's thread does not start")

    def stop(self) -> None:
        """End the thread; what is under way in it ends unheard."""
        reactor: Any = self.reactor
        reactor.callFromThread(reactor.stop)
        self._thread.join(START_SECONDS)

    def submit(self, function: Callable[P, Deferred[T]], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call a function in the loop, with the context variables of here; the future is what its Deferred
        comes to."""
        outcome: Future[T] = Future()
        self.post(partial(copy_context().run, _begin, outcome, function, args, kwargs))
        return outcome

    def post(self, work: Callable[[], object]) -> None:
        """Let the loop do something soon, after what was posted before."""
        self._posted.append(work)
        if self._is_woken or (self.turn.is_open and threading.get_ident() == self._ident):
            return
        self._is_woken = True
        reactor: Any = self.reactor
        reactor.callFromThread(self._do_posted)

    def call(self, function: Callable[P, Deferred[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """The same, waiting for the outcome. Raises what the function raises.

        Called from the loop itself it could never end, which is a `RuntimeError`.
        """
        if threading.current_thread() is self._thread:
            raise RuntimeError("a blocking call from the client's own thread would never end")
        return self.submit(function, *args, **kwargs).result()

    def do(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """As `call`, for a function that gives its result at once."""
        return self.call(lambda: execute(function, *args, **kwargs))

    def pool(self, threads: int, name: str) -> Pool:
        """Threads for listeners, called from this loop."""
        return Pool(self, threads, name)

    def _do_posted(self) -> None:
        self._is_woken = False  # before looking: what is posted from here on wakes the loop again
        if self.turn.begin():
            self.turn.end()

    def _work_off(self) -> None:
        """Do what was posted until now; what it posts itself has its turn later, as sockets have."""
        count = len(self._posted)
        together = min(TOGETHER, max(1, count // PIECES))
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
    """Call a function, and let a future be what its Deferred comes to."""
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
    """Threads for listeners that may block; they are daemons, begun when there is work for them. Listeners
    have the context variables of who calls."""

    def __init__(self, loop: Loop, threads: int, name: str) -> None:
        self._loop = loop
        self._most = threads
        self._name = name
        self._threads: list[threading.Thread] = []
        self._busy = 0  # threads that have work, and work that waits for one; counted in the loop
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._is_over = False

    def wrap(self, function: Callable[..., T]) -> Callable[..., Deferred[T]]:
        """The function as one that is called in the loop, works in a thread, and gives a Deferred."""

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
        """Wait for the work in hand, then end the threads; harmless when that has been done. What is handed
        over later is not run."""
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
    """A reactor that nobody else has. The global one is not touched."""
    try:
        from twisted.internet.epollreactor import EPollReactor
    except ImportError:
        from twisted.internet.selectreactor import SelectReactor

        return SelectReactor()
    return EPollReactor()  # type: ignore[no-untyped-call]
