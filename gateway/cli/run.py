"""Runs a service until a signal stops it; the only module that uses the global reactor.

A service starts and stops with Deferreds. SIGTERM and SIGINT stop it cleanly: it accepts no new connections,
answers requests that it has read, unregisters the broker and syncs files. Before that, after SIGTERM only, it
may drain; another signal cancels the drain. A supervisor of the process (`supervisor`) is notified of each
step. If one exists, SIGHUP reloads settings.
"""

import logging
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, cast, runtime_checkable

from twisted.internet import reactor as global_reactor
from twisted.internet.defer import Deferred, maybeDeferred, succeed
from twisted.internet.error import CannotListenError
from twisted.python.failure import Failure

from mqgateway.engine.clock import SystemClock
from mqgateway.engine.errors import EngineError
from mqgateway.gateway.cli.collecting import Collecting
from mqgateway.gateway.cli.ending import complain
from mqgateway.gateway.cli.log_levels import LOOK_SECONDS, LogLevels
from mqgateway.gateway.cli.supervisor import Supervisor
from mqgateway.gateway.runtime.loop import Reactor, use_monotonic_time
from mqgateway.gateway.runtime.schedule import Schedule

log = logging.getLogger(__name__)

PROGRESS_SECONDS = 1.0
"""Interval of progress reports to the supervisor, and to a parent process, during a start."""


class Runnable(Protocol):
    """A service to run: started once, stopped once."""

    def start(self) -> object:
        """Start; may return a Deferred that fires when clients can connect."""
        ...

    def stop(self) -> Deferred[Any]:
        """Stop cleanly. The Deferred fires when the service has stopped."""
        ...


@runtime_checkable
class Drains(Protocol):
    """A service that can drain: prepare its clients for its stop."""

    def drain(self) -> Deferred[None]:
        """Drain. The Deferred fires when the service may stop, and can be cancelled."""
        ...


@runtime_checkable
class HasStatus(Protocol):
    """A service that reports its progress."""

    @property
    def status(self) -> str:
        """Progress in words, on one line."""
        ...


def the_reactor() -> Reactor:
    """Return the process's reactor, set to the monotonic clock."""
    use_monotonic_time(global_reactor)
    return cast(Reactor, global_reactor)


def run(
    make: Callable[[Reactor], Runnable],
    started: Callable[[Runnable], None],
    levels: LogLevels | None = None,
    reload: Callable[[Runnable], None] | None = None,
    *,
    is_daemon: bool = False,
) -> int:
    """Make, start and run a service until a signal stops it. `started` is called when it is up.

    From then on, loggers follow `levels`. `reload` reads the settings again, on SIGHUP under a supervisor, or
    with `is_daemon` without one too, unless standard input is a terminal, whose end is a SIGHUP. Return the
    process's exit code: 0 after a clean stop, 1 if the start or the stop failed.
    """
    return _Run(make, started, levels, reload, is_daemon).until_stopped()


class _Run:
    def __init__(
        self,
        make: Callable[[Reactor], Runnable],
        started: Callable[[Runnable], None],
        levels: LogLevels | None,
        reload: Callable[[Runnable], None] | None,
        is_daemon: bool,
    ) -> None:
        self._make = make
        self._started = started
        self._levels = levels
        self._reload = reload
        self._is_daemon = is_daemon
        self._loop: Any = the_reactor()
        self._schedule = Schedule(self._loop)
        self._supervisor = Supervisor(os.environ, SystemClock())
        self._code = 0
        self._draining: Deferred[None] | None = None
        self._is_stopping = False
        self._collecting: Collecting | None = None
        self._said = ""

    def until_stopped(self) -> int:
        self._loop.callWhenRunning(self._begin)
        self._loop.run(installSignalHandlers=False)
        if self._collecting is not None:
            self._collecting.end()
        return self._code

    def _begin(self) -> None:
        made = maybeDeferred(self._make, self._loop)
        made.addCallback(self._up)
        made.addErrback(self._failed)

    def _up(self, service: Runnable) -> Deferred[None]:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, partial(self._signalled, service))
        starting = self._schedule.every(PROGRESS_SECONDS, PROGRESS_SECONDS, lambda: self._progress(service))

        def over(result: Any) -> Any:
            starting.cancel()
            return result

        started: Deferred[Any] = maybeDeferred(service.start)
        started.addBoth(over)
        return started.addCallback(lambda _: self._settle(service))

    def _signalled(self, service: Runnable, number: int, _: object) -> None:
        self._loop.callFromThread(self._stop, service, number == signal.SIGTERM)

    def _progress(self, service: Runnable) -> None:
        """Report the progress of the start if it changed. Only progress extends the supervisor's timeout."""
        said = _status(service)
        if said != self._said:
            self._said = said
            self._supervisor.progress(said)

    def _settle(self, service: Runnable) -> None:
        self._collecting = Collecting(service, self._loop.callFromThread)
        if self._levels is not None:
            self._schedule.every(LOOK_SECONDS, LOOK_SECONDS, self._levels.follow)
        try:
            self._started(service)
        except SystemExit:
            log.warning("standard output is not writable; the start-up summary is not shown")
        if self._supervisor.is_there:
            self._supervisor.ready(_status(service))
        if self._supervisor.interval:
            self._schedule.every(self._supervisor.interval, self._supervisor.interval, self._supervisor.alive)
        has_signal = self._supervisor.is_there or (self._is_daemon and not _has_terminal())
        if self._reload is not None and has_signal:
            again = partial(self._loop.callFromThread, self._read_again, service)
            signal.signal(signal.SIGHUP, lambda *_: again())

    def _read_again(self, service: Runnable) -> None:
        if self._reload is not None and not self._is_stopping:
            self._supervisor.reloading()
            self._reload(service)
            self._supervisor.ready(_status(service))

    def _stop(self, service: Runnable, may_drain: bool) -> None:
        if self._is_stopping:
            if self._draining is not None:
                self._draining.cancel()
            return
        self._is_stopping = True
        ready: Deferred[Any] = succeed(None)
        if may_drain and isinstance(service, Drains):
            ready = self._draining = maybeDeferred(service.drain)
        self._supervisor.stopping("stopping" if ready.called else "draining")
        ready.addBoth(lambda _: self._stop_now(service))

    def _stop_now(self, service: Runnable) -> None:
        self._draining = None
        maybeDeferred(service.stop).addErrback(self._failed).addBoth(lambda _: self._end())

    def _failed(self, failure: Failure) -> None:
        self._code = 1
        complain(failure.getErrorMessage())
        if not _is_expected(failure.value):
            print(failure.getTraceback(), file=sys.stderr)
        self._end()

    def _end(self) -> None:
        if self._loop.running:
            self._loop.stop()


def _has_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _status(service: Runnable) -> str:
    return service.status if isinstance(service, HasStatus) else ""


def _is_expected(error: BaseException | None) -> bool:
    """Return True for mqgateway's errors and those of the operating system: their text needs no traceback."""
    return isinstance(error, (EngineError, OSError, CannotListenError))
