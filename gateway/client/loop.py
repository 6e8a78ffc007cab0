"""The thread that clients run in: a Twisted reactor of its own, shared by all clients of the process.

It starts with the first client and is a daemon: it does not keep the process alive. Threads wait for it with
`call`; `submit` gives a `concurrent.futures.Future`. Listeners that may block run in threads of a `Pool`.
The process's own reactor, if it has one, is left alone. After a fork the child has a loop of its own.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, ClassVar, ParamSpec, TypeVar

from twisted.internet.defer import Deferred, execute, maybeDeferred
from twisted.python.failure import Failure
from twisted.python.threadpool import ThreadPool

from engine.clock import Clock, SystemClock
from engine.disk import Disk, RealDisk
from engine.worker import Worker
from gateway.client.errors import ClientError
from gateway.remoting.loop import Reactor

P = ParamSpec("P")
T = TypeVar("T")

START_SECONDS = 10.0


class Loop:
    """A reactor in a thread; also the `Surroundings` of the clients in it."""

    _shared: ClassVar[Loop | None] = None
    _lock: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self) -> None:
        self.reactor: Reactor = _new_reactor()
        self.clock: Clock = SystemClock()
        self.disk: Disk = RealDisk()
        self.worker: Worker | None = None
        self._pid = os.getpid()
        self._thread = threading.Thread(target=self._run, name="mqgateway client", daemon=True)
        self._ready = threading.Event()

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
        """Call a function in the loop; the future is what its Deferred comes to."""
        outcome: Future[T] = Future()

        def succeeded(result: Any) -> None:
            if not outcome.cancelled():
                outcome.set_result(result)

        def failed(failure: Failure) -> None:
            if not outcome.cancelled():
                error = failure.value
                outcome.set_exception(error if error is not None else ClientError("it failed"))

        def begin() -> None:
            maybeDeferred(function, *args, **kwargs).addCallbacks(succeeded, failed)

        reactor: Any = self.reactor
        reactor.callFromThread(begin)
        return outcome

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

    def _run(self) -> None:
        reactor: Any = self.reactor
        reactor.callWhenRunning(self._ready.set)
        reactor.run(installSignalHandlers=False)


class Pool:
    """Threads for listeners that may block; they are daemons."""

    def __init__(self, loop: Loop, threads: int, name: str) -> None:
        self._loop = loop
        self._pool = ThreadPool(minthreads=0, maxthreads=threads, name=name)
        self._pool.threadFactory = _daemon  # type: ignore[assignment]
        self._pool.start()

    def wrap(self, function: Callable[..., T]) -> Callable[..., Deferred[T]]:
        """The function as one that is called in the loop, works in a thread, and gives a Deferred."""

        def call(*args: Any) -> Deferred[T]:
            outcome: Deferred[T] = Deferred()

            def done(succeeded: bool, result: Any) -> None:
                reactor: Any = self._loop.reactor
                reactor.callFromThread(outcome.callback if succeeded else outcome.errback, result)

            self._pool.callInThreadWithCallback(done, function, *args)
            return outcome

        return call

    def stop(self) -> None:
        """Wait for the work in hand, then end the threads; harmless when that has been done."""
        if self._pool.started:
            self._pool.stop()


def _daemon(*args: Any, **kwargs: Any) -> threading.Thread:
    return threading.Thread(*args, daemon=True, **kwargs)


def _new_reactor() -> Any:
    """A reactor that nobody else has. The global one is not touched."""
    try:
        from twisted.internet.epollreactor import EPollReactor
    except ImportError:
        from twisted.internet.selectreactor import SelectReactor

        return SelectReactor()
    return EPollReactor()  # type: ignore[no-untyped-call]
