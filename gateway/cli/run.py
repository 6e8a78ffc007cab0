"""Running a service until it is told to stop; the only place that knows the global reactor.

A service starts and stops with Deferreds. SIGTERM and SIGINT stop it in good order: no new
connections, what was read is answered, the broker leaves the name servers, files are synced.
"""

import signal
import sys
from collections.abc import Callable
from typing import Any, Protocol, cast

from twisted.internet import reactor as global_reactor
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.error import CannotListenError
from twisted.python.failure import Failure

from mqgateway.engine.errors import EngineError
from mqgateway.gateway.cli.collecting import Collecting
from mqgateway.gateway.cli.log_levels import LOOK_SECONDS, LogLevels
from mqgateway.gateway.runtime.loop import Reactor, use_monotonic_time
from mqgateway.gateway.runtime.schedule import Schedule


class Service(Protocol):
    """What can be run: started once, stopped once."""

    def start(self) -> object:
        """Start; may return a Deferred that fires when clients can connect."""
        ...

    def stop(self) -> Deferred[Any]:
        """Stop in good order."""
        ...


def the_reactor() -> Reactor:
    """The process's reactor, which goes by the monotonic clock."""
    use_monotonic_time(global_reactor)
    return cast(Reactor, global_reactor)


def run(
    make: Callable[[Reactor], Service], started: Callable[[Service], None], levels: LogLevels | None = None
) -> int:
    """Make, start and run a service until a signal ends it; `started` is called when it is up.

    Levels of loggers are followed from then on.

    Gives the process's exit code: 0 after a stop in good order, 1 when the start or the stop failed.
    """
    loop: Any = the_reactor()
    outcome: dict[str, Any] = {"code": 0, "stopping": False, "collecting": None}

    def failed(failure: Failure) -> None:
        outcome["code"] = 1
        print(f"mqgateway: {failure.getErrorMessage()}", file=sys.stderr)
        if not _is_expected(failure.value):
            print(failure.getTraceback(), file=sys.stderr)
        if loop.running:
            loop.stop()

    def stop(service: Service) -> None:
        if not outcome["stopping"]:
            outcome["stopping"] = True
            maybeDeferred(service.stop).addErrback(failed).addBoth(lambda _: loop.running and loop.stop())

    def begin() -> None:
        made = maybeDeferred(make, the_reactor())
        made.addCallback(up)
        made.addErrback(failed)

    def up(service: Service) -> Deferred[None]:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: loop.callFromThread(stop, service))
        return maybeDeferred(service.start).addCallback(lambda _: settle(service))

    def settle(service: Service) -> None:
        outcome["collecting"] = Collecting(service, loop.callFromThread)
        if levels is not None:
            Schedule(loop).every(LOOK_SECONDS, LOOK_SECONDS, levels.follow)
        started(service)

    loop.callWhenRunning(begin)
    loop.run(installSignalHandlers=False)
    if outcome["collecting"] is not None:
        outcome["collecting"].end()
    return int(outcome["code"])


def _is_expected(error: BaseException | None) -> bool:
    """Whether the text says enough: our own errors, and what the operating system refuses."""
    return isinstance(error, (EngineError, OSError, CannotListenError))
